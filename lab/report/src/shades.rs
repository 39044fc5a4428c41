//! Scales of colours for matrices: bad values stand out in orange, good ones in blue, and those between stay
//! pale.
use super::svg::{At, Canvas, escape, ink, width_of};
use foregather_results::number::{digits, short};

/// The colours of a cell and of its number, from the worst to the best; the middle one means neither.
const HUES: [(&str, &str); 11] = [
    ("var(--h0,#8f3b00)", "var(--t0,#fff)"),
    ("var(--h1,#b95000)", "var(--t1,#fff)"),
    ("var(--h2,#e38a45)", "var(--t2,#1b1108)"),
    ("var(--h3,#f2b27c)", "var(--t3,#1b1108)"),
    ("var(--h4,#f8d0ac)", "var(--t4,#1b1108)"),
    ("var(--h5,#fce8d5)", "var(--t5,#1b1108)"),
    ("var(--h6,#f2f4f6)", "var(--t6,#1b2330)"),
    ("var(--h7,#c9e2f3)", "var(--t7,#06283f)"),
    ("var(--h8,#7dbbe3)", "var(--t8,#06283f)"),
    ("var(--h9,#2577ad)", "var(--t9,#fff)"),
    ("var(--h10,#0b5288)", "var(--t10,#fff)"),
];
/// The number of the colour that means neither.
const NEITHER: usize = 6;

/// Values that differ by more than this factor are told apart by their magnitudes.
const DECADES_FROM: f64 = 30.0;

/// A scale of colours, and how its numbers are written.
pub(super) struct Shades {
    bands: Vec<Shade>,
    pub(super) number: fn(f64) -> String,
}

/// The values below `below` and not below an earlier band's, and how the key names them.
struct Shade {
    below: f64,
    name: String,
    hue: usize,
}

impl Shades {
    /// Upper bounds with their names, the lowest first, for hues from `first` on.
    fn new<const N: usize>(first: usize, bands: [(f64, &str); N], number: fn(f64) -> String) -> Self {
        let band = |(i, (below, name)): (usize, (f64, &str))| Shade { below, name: name.to_owned(), hue: first + i };
        Self { bands: bands.into_iter().enumerate().map(band).collect(), number }
    }

    /// The scale of shares of the best: 1 is as good.
    pub(super) fn shares() -> Self {
        let bands = [
            (0.03, "< 0.03"),
            (0.1, "0.03+"),
            (0.3, "0.1+"),
            (0.5, "0.3+"),
            (0.7, "0.5+"),
            (0.9, "0.7+"),
            // A value that is printed as 1.00 belongs to the next band.
            (0.995, "0.9+"),
            (1.1, "1+"),
            (f64::INFINITY, "1.1+"),
        ];
        Self::new(0, bands, share)
    }

    /// The scale of ratios: how many times as good, from much worse to much better.
    pub(super) fn times() -> Self {
        let bands = [
            (0.6, "< 0.6"),
            (0.75, "0.6+"),
            (0.9, "0.75+"),
            (0.965, "0.9+"),
            (1.035, "1"),
            (1.1, "1.04+"),
            (1.33, "1.1+"),
            (1.75, "1.33+"),
            (f64::INFINITY, "1.75+"),
        ];
        Self::new(2, bands, share)
    }

    /// The scale of regrets: 0 is the best choice, 1 stands still.
    pub(super) fn regrets() -> Self {
        let bands = [
            (0.02, "0", 9),
            (0.05, "0.02+", 8),
            (0.1, "0.05+", 7),
            (0.2, "0.1+", NEITHER),
            (0.35, "0.2+", 4),
            (0.5, "0.35+", 3),
            (0.75, "0.5+", 2),
            (f64::INFINITY, "0.75+", 0),
        ];
        let band = |(below, name, hue): (f64, &str, usize)| Shade { below, name: name.to_owned(), hue };
        Self { bands: bands.map(band).into(), number: share }
    }

    /// The scale of percentages that should be 100, with half of it in the middle.
    pub(super) fn percentages() -> Self {
        let bands = [
            (10.0, "< 10"),
            (20.0, "10+"),
            (30.0, "20+"),
            (40.0, "30+"),
            (50.0, "40+"),
            (60.0, "50+"),
            (75.0, "60+"),
            (90.0, "75+"),
            (f64::INFINITY, "90+"),
        ];
        Self::new(2, bands, |v| format!("{v:.0}"))
    }

    /// The scale of counts of verdicts: those of wrong ones are below zero, and printed without the sign.
    pub(super) fn verdicts() -> Self {
        let band = |(below, name, hue): (f64, &str, usize)| Shade { below, name: name.to_owned(), hue };
        Self { bands: [(0.0, "wrong", 2), (f64::INFINITY, "right", 8)].map(band).into(), number: |v| digits(v.abs(), 3) }
    }

    /// A scale for any values, from the least to the greatest: of values that differ by more than
    /// [`DECADES_FROM`] times by their magnitudes, else most of them would look alike.
    pub(super) fn between(low: f64, high: f64) -> Self {
        let n = HUES.len() - NEITHER;
        let by_magnitude = low > 0.0 && high > DECADES_FROM * low;
        let bound = |i: usize| {
            let share = i as f64 / n as f64;
            if by_magnitude { low * (high / low).powf(share) } else { low + (high - low) * share }
        };
        let band = |i: usize| Shade {
            below: if i + 1 < n { bound(i + 1) } else { f64::INFINITY },
            name: if i == 0 { format!("< {}", short(bound(1))) } else { format!("{}+", short(bound(i))) },
            hue: NEITHER + i,
        };
        // If there is only one value, one shade is enough.
        let n = if low < high { n } else { 0 };
        let one = Shade { below: f64::INFINITY, name: short(low), hue: NEITHER };
        let bands = if n == 0 { vec![one] } else { (0..n).map(band).collect() };
        Self { bands, number: short }
    }

    /// The number of a value's band.
    pub(super) fn band(&self, value: f64) -> usize {
        self.bands.iter().position(|band| value < band.below).unwrap_or(self.bands.len() - 1)
    }

    /// The colours of a band: of its cells and of their numbers.
    pub(super) fn inks(&self, band: usize) -> (&'static str, &'static str) {
        HUES[self.bands[band].hue]
    }

    /// The scale, with the bounds between its colours.
    pub(super) fn key(&self, canvas: &mut Canvas, meaning: &str, (left, top): (f64, f64)) {
        canvas.text(left, top, At::Start, ink::SOFT, meaning);
        let (mut x, y, wide) = (left + width_of(meaning, 12.0) + 8.0, top - 11.0, 46.0);
        for Shade { name, hue, .. } in &self.bands {
            let (fill, text) = HUES[*hue];
            canvas.put(format_args!(r#"<rect x="{x:.1}" y="{y:.1}" width="{wide}" height="15" fill="{fill}"/>"#));
            canvas.put(format_args!(
                r#"<text x="{:.1}" y="{:.1}" text-anchor="middle" font-size="10.5" fill="{text}">{}</text>"#,
                x + wide / 2.0,
                y + 11.3,
                escape(name)
            ));
            x += wide;
        }
    }

    /// How many bands there are.
    pub(super) fn len(&self) -> usize {
        self.bands.len()
    }
}

/// A share as in a printed table: `0.94`, `1.15`, `0.051`. Anything below a thousandth is a collapse,
/// however far.
pub(super) fn share(value: f64) -> String {
    match value {
        v if v > 0.0 && v < 0.001 => "<0.001".to_owned(),
        v if v < 0.00995 => digits(v, 1),
        v if v < 0.095 => digits(v, 2),
        v => format!("{v:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_short_whatever_their_size() {
        assert_eq!(
            [0.938, 1.152, 1.0, 0.0512, 0.00621, 0.0004, 0.0].map(share),
            ["0.94", "1.15", "1.00", "0.051", "0.006", "<0.001", "0"]
        );
    }

    #[test]
    fn every_scale_has_a_shade_for_every_value_and_a_pale_one_in_between() {
        for (shades, neither) in [(Shades::shares(), 0.99), (Shades::times(), 1.0), (Shades::percentages(), 45.0)] {
            assert_eq!(shades.inks(shades.band(neither)), HUES[NEITHER]);
            for value in [f64::MIN, 0.0, 1e300, f64::NAN] {
                assert!(shades.band(value) < shades.len());
            }
        }
        let between = Shades::between(10.0, 60.0);
        assert_eq!([10.0, 19.0, 21.0, 60.0].map(|v| between.band(v)), [0, 0, 1, 4]);
        assert_eq!(Shades::between(3.0, 3.0).len(), 1);
        let decades = Shades::between(10.0, 1e6);
        assert_eq!([10.0, 99.0, 101.0, 2e3, 2e4, 1e6].map(|v| decades.band(v)), [0, 0, 1, 2, 3, 4]);
    }
}
