//! What is kept of a study's trials, and the numbers of it that a figure can show.
use super::{Interconnect, Study, StudyResults};
use crate::metric::{Metric, Of};
use foregather_machine::Nanos;

/// A shift succeeds if it takes no longer than this above the least (Seidel & Davis 1992 §4.2).
pub const TOLERANCE: Nanos = Nanos::from_ms(1);

/// The spans of one trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Brief {
    /// The span over which the nodes came.
    pub entry_skew: Nanos,
    /// From the first entry to the last exit of the barrier.
    pub cost: Nanos,
    /// The span over which the nodes left the barrier.
    pub precision: Nanos,
    /// How long the slowest node's shift took.
    pub slowest: Nanos,
}

/// What is kept of one study.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StudySummary {
    /// Every trial that counts.
    pub trials: Vec<Brief>,
    /// What a shift takes at least; `None` if the study has none.
    pub least_shift: Option<Nanos>,
    /// A hash of all events.
    pub trace: u64,
    /// How many events there were.
    pub events: u64,
}

const fn metric(
    name: &'static str,
    figure: &'static str,
    unit: &'static str,
    what: &'static str,
    of: fn(&StudySummary) -> f64,
) -> Metric {
    Metric { name, figure, unit, what, of: Of::Network(of) }
}

/// All numbers that a network's run gives.
pub static METRICS: [Metric; 9] = [
    metric("cost", "cost_us", "us", "cost of the barrier", |s| s.mean_us(|t| t.cost)),
    metric("precision", "precision_us", "us", "how far apart nodes leave", |s| s.mean_us(|t| t.precision)),
    metric("worst-precision", "worst_precision_us", "us", "how far apart nodes leave at worst", |s| {
        s.trials.iter().map(|trial| trial.precision.as_us()).fold(f64::NAN, f64::max)
    }),
    metric("shift", "shift_us", "us", "the slowest node's shift", |s| s.shift_us()),
    metric("least-shift", "least_shift_us", "us", "shift with nothing in its way", |s| {
        s.least_shift.map_or(f64::NAN, Nanos::as_us)
    }),
    metric("success", "success_percent", "%", "trials whose shift succeeds", |s| s.success_percent()),
    metric("entry-skew", "entry_skew_us", "us", "how far apart nodes come", |s| s.mean_us(|t| t.entry_skew)),
    metric("trials", "trials", "trials", "trials that count", |s| s.trials.len() as f64),
    metric("events", "events", "events", "events of the simulation", |s| s.events as f64),
];

impl StudySummary {
    /// Sums up the results of a study.
    pub fn of(study: &Study<Interconnect>, outcome: &StudyResults) -> Self {
        let trials = outcome.trials.iter().map(|trial| Brief {
            entry_skew: trial.entry_skew(),
            cost: trial.cost(),
            precision: trial.precision(),
            slowest: trial.slowest().1,
        });
        let (trials, least_shift) = (trials.collect(), study.least_shift());
        Self { trials, least_shift, trace: outcome.trace, events: outcome.events }
    }

    /// A mean over the trials, in microseconds; `NaN` without trials.
    fn mean_us(&self, of: impl Fn(&Brief) -> Nanos) -> f64 {
        self.trials.iter().map(|trial| of(trial).as_us()).sum::<f64>() / self.trials.len() as f64
    }

    fn shift_us(&self) -> f64 {
        self.least_shift.map_or(f64::NAN, |_| self.mean_us(|trial| trial.slowest))
    }

    /// The share of trials whose slowest shift kept within [`TOLERANCE`], in percent; `NaN` without a shift.
    pub fn success_percent(&self) -> f64 {
        let Some(least) = self.least_shift else { return f64::NAN };
        let succeeded = self.trials.iter().filter(|trial| trial.slowest <= least + TOLERANCE).count();
        succeeded as f64 / self.trials.len() as f64 * 100.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shift_of_just_the_tolerance_above_the_least_succeeds() {
        let least = Nanos::from_us(11_871);
        let trial = |slowest| Brief { entry_skew: Nanos::ZERO, cost: Nanos::ZERO, precision: Nanos(3_000), slowest };
        let trials = vec![trial(least), trial(least + TOLERANCE), trial(least + TOLERANCE + Nanos(1)), trial(least * 2)];
        let summary = StudySummary { trials, least_shift: Some(least), ..StudySummary::default() };
        assert_eq!((summary.success_percent(), summary.mean_us(|trial| trial.precision)), (50.0, 3.0));
        assert!(StudySummary { least_shift: None, ..summary }.success_percent().is_nan());
    }
}
