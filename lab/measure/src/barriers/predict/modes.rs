//! The states that a team may settle in, and how often it does: one, or a fast one and a slow one.
//!
//! A free team beside busy processes meets fast if its members are on different processors at the same time,
//! and a thousand times as slowly if they take turns. Which of the two a process gets is chance, so its time
//! per barrier is no one number: what can be predicted is both times, and the share of starts in each.
use crate::calibration::factor;

/// Times that differ by more than this factor are two states.
const APART: f64 = 2.0;
/// A state has at least this share of the starts.
const LEAST_SHARE: f64 = 0.15;
/// Predicted and measured shares of a state differ by no more than this.
const SHARE_LIMIT: f64 = 0.3;

/// One state, or two.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Modes {
    /// The median of the faster half of the starts, or of all.
    pub(crate) fast_us: f64,
    /// The median of the slower starts, and their share, if there are two states.
    pub(crate) slow: Option<Slow>,
}

/// The slower state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Slow {
    /// Its median.
    pub(crate) us: f64,
    /// The share of starts in it.
    pub(crate) share: f64,
    /// Between the slowest of the fast starts and the fastest of the slow ones.
    boundary_us: f64,
}

impl Modes {
    /// The states of the times of several starts; `None` without any.
    pub(crate) fn of(times_us: &[f64]) -> Option<Self> {
        let mut sorted = times_us.to_vec();
        sorted.sort_by(f64::total_cmp);
        let all = sorted.len() as f64;
        let widest = (1..sorted.len()).max_by(|&a, &b| gap(&sorted, a).total_cmp(&gap(&sorted, b)));
        let two = widest.filter(|&at| {
            let least = (at.min(sorted.len() - at)) as f64 / all;
            gap(&sorted, at) > APART && least >= LEAST_SHARE
        });
        let slow = two.map(|at| Slow {
            us: middle(&sorted[at..]),
            share: (sorted.len() - at) as f64 / all,
            boundary_us: (sorted[at - 1] * sorted[at]).sqrt(),
        });
        (!sorted.is_empty()).then(|| Self { fast_us: middle(&sorted[..two.unwrap_or(sorted.len())]), slow })
    }

    /// By which factor measured times differ from these, in the state in which they differ most; and the
    /// share of starts that are in another state than predicted.
    pub(crate) fn against(&self, measured_us: &[f64]) -> (f64, f64) {
        let mut sorted = measured_us.to_vec();
        sorted.sort_by(f64::total_cmp);
        let Some(slow) = self.slow else { return (factor(middle(&sorted), self.fast_us), 0.0) };
        let at = sorted.partition_point(|&us| us < slow.boundary_us);
        let worst = [(&sorted[..at], self.fast_us), (&sorted[at..], slow.us)]
            .into_iter()
            .filter(|(times, _)| !times.is_empty())
            .map(|(times, us)| factor(middle(times), us))
            .fold(1.0, f64::max);
        let share = (sorted.len() - at) as f64 / sorted.len().max(1) as f64;
        (worst, (share - slow.share).abs())
    }
}

/// Returns whether shares with that difference are close enough.
pub(crate) fn shares_agree(difference: f64) -> bool {
    difference <= SHARE_LIMIT + 1e-9
}

/// By which factor the sorted times grow at a place.
fn gap(sorted: &[f64], at: usize) -> f64 {
    sorted[at] / sorted[at - 1]
}

/// The median of sorted times; not a number of none.
fn middle(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => sorted[half],
        _ => (sorted[half - 1] + sorted[half]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_far_apart_are_two_states_and_a_single_one_is_none() {
        let even = Modes::of(&[3.0, 4.0, 2.5, 3.5]).unwrap();
        assert_eq!((even.fast_us, even.slow), (3.25, None));
        let two = Modes::of(&[2.0, 4000.0, 3.0, 4200.0, 2.5]).unwrap();
        let slow = two.slow.unwrap();
        assert_eq!((two.fast_us, slow.us, slow.share), (2.5, 4100.0, 0.4));
        let single = Modes::of(&[2.0, 2.1, 2.2, 2.3, 2.4, 2.5, 2.6, 900.0]).unwrap();
        assert_eq!(single.slow, None, "one start in eight is chance");
        assert_eq!(Modes::of(&[]), None);
    }

    #[test]
    fn each_state_is_compared_with_its_own_and_the_shares_with_each_other() {
        let predicted = Modes::of(&[2.0, 2.0, 40.0, 40.0]).unwrap();
        assert_eq!(predicted.against(&[2.0, 2.0, 50.0, 50.0]), (1.25, 0.0));
        assert_eq!(predicted.against(&[3.0, 3.0, 3.0, 40.0]), (1.5, 0.25));
        let (factor, difference) = predicted.against(&[2.0; 5]);
        assert_eq!((factor, difference, shares_agree(difference)), (1.0, 0.5, false));
        let one = Modes::of(&[10.0, 10.0]).unwrap();
        assert_eq!(one.against(&[20.0, 22.0, 4000.0]), (2.2, 0.0), "the median of all");
    }
}
