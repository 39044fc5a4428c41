//! Axes: where a value lies, and which values get a label.
use super::svg::{Tick, fitted};
use foregather_results::number::short;

/// How values are spread over an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scale {
    /// Evenly from 0 on.
    Linear,
    /// Evenly, only as far as there are values.
    Span,
    Log10,
    Log2,
}

impl Scale {
    fn apply(self, v: f64) -> f64 {
        match self {
            Self::Linear | Self::Span => v,
            Self::Log10 => v.log10(),
            Self::Log2 => v.log2(),
        }
    }

    fn undo(self, v: f64) -> f64 {
        match self {
            Self::Linear | Self::Span => v,
            Self::Log10 => 10_f64.powf(v),
            Self::Log2 => v.exp2(),
        }
    }

    /// Returns whether the scale can show zero and negative values.
    fn has_zero(self) -> bool {
        matches!(self, Self::Linear | Self::Span)
    }

    /// The name by which the script knows it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Linear | Self::Span => "linear",
            Self::Log10 => "log10",
            Self::Log2 => "log2",
        }
    }
}

/// One axis: values from `low` to `high` (scaled) lie between the pixels `from` and `to`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    pub(super) scale: Scale,
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) from: f64,
    pub(super) to: f64,
}

/// Which values of an axis get a line and a label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Marks {
    /// Round values.
    Round,
    /// Round values, but none between whole numbers.
    Whole,
    /// Multiples, as of a number of processors; the labelled ones are twice, four times ... as far apart.
    Multiples(u32),
    /// The whole numbers from 0 on, under these names.
    Names(Vec<String>),
}

impl Axis {
    /// An axis that holds all of `values`: a linear one from 0, a logarithmic one with a little air on both
    /// sides.
    pub(super) fn fit(values: impl Iterator<Item = f64>, scale: Scale, (from, to): (f64, f64)) -> Self {
        let usable = values.filter(|&v| v.abs() < 1e300 && (scale.has_zero() || v > 0.0)).map(|v| scale.apply(v));
        let (mut low, mut high) = usable.fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(v), high.max(v)));
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        match scale {
            Scale::Linear => (low, high) = (low.min(0.0), high + 0.04 * (high - low.min(0.0))),
            Scale::Span => (low, high) = (low - 0.02 * (high - low), high + 0.02 * (high - low)),
            Scale::Log10 => (low, high) = (low - 0.1, high + 0.05),
            Scale::Log2 => {}
        }
        if high - low < 1e-9 {
            high = low + 1.0;
        }
        Self { scale, low, high, from, to }
    }

    /// The axis with the same values elsewhere on the page.
    pub(super) fn moved(self, (from, to): (f64, f64)) -> Self {
        Self { from, to, ..self }
    }

    /// The pixel of a value; one outside the axis lies on its end.
    pub(super) fn at(&self, v: f64) -> f64 {
        let share = (self.scale.apply(v) - self.low) / (self.high - self.low);
        let share = if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) };
        self.from + share * (self.to - self.from)
    }

    /// The lines of the grid; labels keep `room` pixels from each other.
    pub(super) fn ticks(&self, room: f64) -> Vec<Tick> {
        match self.scale {
            Scale::Linear | Scale::Span => self.linear(room),
            Scale::Log10 => self.decades(room),
            Scale::Log2 => self.doublings(room),
        }
    }

    /// The lines of the grid that `marks` asks for; names are cut to the room they have.
    pub(super) fn marked(&self, marks: &Marks, room: f64) -> Vec<Tick> {
        match marks {
            Marks::Round => self.ticks(room),
            Marks::Whole => self.ticks(room).into_iter().filter(|tick| tick.value.fract() == 0.0).collect(),
            Marks::Multiples(of) => self.multiples(f64::from(*of), room),
            Marks::Names(names) => {
                let wide = self.pixels_per_unit();
                let every = (room / wide).ceil().max(1.0) as usize;
                let label = |i: usize, name: &str| i.is_multiple_of(every).then(|| fitted(name, 12.0, wide * every as f64 - 6.0));
                names.iter().enumerate().map(|(i, name)| Tick { value: i as f64, label: label(i, name) }).collect()
            }
        }
    }

    fn multiples(&self, of: f64, room: f64) -> Vec<Tick> {
        let wide_enough = |least: f64| {
            let doublings = (least / (of * self.pixels_per_unit())).log2().ceil().max(0.0);
            of * doublings.exp2()
        };
        let (line, label) = (wide_enough(9.0), wide_enough(room));
        let (first, last) = ((self.low / line - 1e-9).ceil() as i64, (self.high / line + 1e-9).floor() as i64);
        let tick = |value: f64| Tick { value, label: (value % label == 0.0).then(|| short(value)) };
        (first..=last).map(|i| tick(i as f64 * line)).collect()
    }

    fn pixels_per_unit(&self) -> f64 {
        (self.to - self.from).abs() / (self.high - self.low)
    }

    fn linear(&self, room: f64) -> Vec<Tick> {
        let least = room / self.pixels_per_unit();
        let power = 10_f64.powf(least.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|&s| s >= least).unwrap_or(10.0 * power);
        let (first, last) = ((self.low / step - 1e-9).ceil() as i64, (self.high / step + 1e-9).floor() as i64);
        (first..=last).map(|i| i as f64 * step).map(|value| Tick { value, label: Some(short(value)) }).collect()
    }

    fn decades(&self, room: f64) -> Vec<Tick> {
        let every = (room / self.pixels_per_unit()).ceil().max(1.0) as i32;
        // With room for it, 2 and 5 are labelled too: the closest pair, 2 and 5, is 0.3 decades from its
        // neighbours.
        let finer = self.pixels_per_unit() * 0.3 >= room;
        let mut ticks = Vec::new();
        for decade in self.low.floor() as i32..=self.high.ceil() as i32 {
            for m in 1..10 {
                let value = f64::from(m) * 10_f64.powi(decade);
                let labelled = (m == 1 && decade % every == 0) || (finer && (m == 2 || m == 5));
                let line = m == 1 || every == 1;
                if line && (self.low - 1e-9..=self.high + 1e-9).contains(&value.log10()) {
                    ticks.push(Tick { value, label: labelled.then(|| short(value)) });
                }
            }
        }
        ticks
    }

    fn doublings(&self, room: f64) -> Vec<Tick> {
        let every = (room / self.pixels_per_unit()).ceil().max(1.0) as i32;
        let powers = (self.low - 1e-9).ceil() as i32..=(self.high + 1e-9).floor() as i32;
        let label = |p: i32| if p < 14 { Scale::Log2.undo(f64::from(p)).to_string() } else { format!("2{}", superscript(p)) };
        powers.map(|p| Tick { value: f64::from(p).exp2(), label: (p % every == 0).then(|| label(p)) }).collect()
    }
}

fn superscript(n: i32) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    n.to_string().chars().filter_map(|c| c.to_digit(10)).map(|d| DIGITS[d as usize]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<String> {
        axis.ticks(40.0).into_iter().filter_map(|t| t.label).collect()
    }

    #[test]
    fn each_scale_labels_its_round_values() {
        let log = Axis::fit([220.0, 9.6e6].into_iter(), Scale::Log10, (0.0, 400.0));
        assert_eq!(labels(&log), ["1k", "10k", "100k", "1M", "10M"]);
        let linear = Axis::fit([525.0].into_iter(), Scale::Linear, (300.0, 0.0));
        assert_eq!(labels(&linear), ["0", "100", "200", "300", "400", "500"]);
        let doublings = Axis::fit([2.0, 1_048_576.0].into_iter(), Scale::Log2, (0.0, 400.0));
        assert_eq!(labels(&doublings), ["4", "16", "64", "256", "1024", "4096", "2¹⁴", "2¹⁶", "2¹⁸", "2²⁰"]);
    }

    #[test]
    fn an_axis_may_begin_where_its_values_do_and_mark_multiples() {
        let load = Axis::fit([40.0, 208.0].into_iter(), Scale::Span, (0.0, 400.0));
        let ticks = load.marked(&Marks::Multiples(16), 60.0);
        let labels: Vec<_> = ticks.iter().filter_map(|t| t.label.clone()).collect();
        assert_eq!(labels, ["64", "96", "128", "160", "192"], "every second line has room for its label");
        assert_eq!(ticks.iter().map(|t| t.value).collect::<Vec<_>>(), (3..=13).map(|i| f64::from(i) * 16.0).collect::<Vec<_>>());
        let dimension = Axis::fit([2.0, 7.0].into_iter(), Scale::Span, (0.0, 900.0));
        assert!(dimension.marked(&Marks::Round, 40.0).len() > 6);
        assert_eq!(dimension.marked(&Marks::Whole, 40.0).iter().map(|t| t.value).collect::<Vec<_>>(), [2., 3., 4., 5., 6., 7.]);
        let named = Axis::fit([-0.5, 1.5].into_iter(), Scale::Span, (0.0, 100.0));
        let ticks = named.marked(&Marks::Names(vec!["AB".to_owned(), "a policy with a long name".to_owned()]), 20.0);
        assert_eq!(ticks[0].label.as_deref(), Some("AB"));
        assert!(ticks[1].label.as_deref().is_some_and(|name| name.ends_with('\u{2026}')));
    }

    #[test]
    fn values_without_a_place_lie_on_the_end() {
        let axis = Axis::fit([1.0, 100.0].into_iter(), Scale::Log10, (10.0, 110.0));
        assert_eq!(axis.at(0.0), 10.0);
        assert_eq!(axis.at(-5.0), 10.0);
        assert_eq!(axis.at(1e9), 110.0);
        let none = Axis::fit([].into_iter(), Scale::Log10, (0.0, 1.0));
        assert!(none.at(1.0).is_finite() && none.ticks(40.0).iter().all(|t| t.value.is_finite()));
    }
}
