//! Axes: where a value lies, and which values get a label.
use crate::results::number::short;

/// How values are spread over an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scale {
    Linear,
    Log10,
    Log2,
}

impl Scale {
    fn apply(self, v: f64) -> f64 {
        match self {
            Self::Linear => v,
            Self::Log10 => v.log10(),
            Self::Log2 => v.log2(),
        }
    }

    fn undo(self, v: f64) -> f64 {
        match self {
            Self::Linear => v,
            Self::Log10 => 10_f64.powf(v),
            Self::Log2 => v.exp2(),
        }
    }

    /// The name by which the script knows it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
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

/// A value worth a line of the grid, and its label if it has one.
pub(super) struct Tick {
    pub(super) value: f64,
    pub(super) label: Option<String>,
}

impl Axis {
    /// An axis that holds all of `values`: a linear one from 0, a logarithmic one with a little air on both sides.
    pub(super) fn fit(values: impl Iterator<Item = f64>, scale: Scale, (from, to): (f64, f64)) -> Self {
        let usable = values.filter(|&v| v.is_finite() && (scale == Scale::Linear || v > 0.0)).map(|v| scale.apply(v));
        let (mut low, mut high) = usable.fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(v), high.max(v)));
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        match scale {
            Scale::Linear => (low, high) = (low.min(0.0), high + 0.04 * (high - low.min(0.0))),
            Scale::Log10 => (low, high) = (low - 0.1, high + 0.05),
            Scale::Log2 => {}
        }
        if high - low < 1e-9 {
            high = low + 1.0;
        }
        Self { scale, low, high, from, to }
    }

    /// The same values elsewhere on the page.
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
            Scale::Linear => self.linear(room),
            Scale::Log10 => self.decades(room),
            Scale::Log2 => self.doublings(room),
        }
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
        // With room for it, 2 and 5 are labelled too: the closest pair, 2 and 5, is 0.3 decades from its neighbours.
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
    fn values_without_a_place_lie_on_the_end() {
        let axis = Axis::fit([1.0, 100.0].into_iter(), Scale::Log10, (10.0, 110.0));
        assert_eq!(axis.at(0.0), 10.0);
        assert_eq!(axis.at(-5.0), 10.0);
        assert_eq!(axis.at(1e9), 110.0);
        let none = Axis::fit([].into_iter(), Scale::Log10, (0.0, 1.0));
        assert!(none.at(1.0).is_finite() && none.ticks(40.0).iter().all(|t| t.value.is_finite()));
    }
}
