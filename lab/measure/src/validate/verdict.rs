//! By which factor the simulator is off: arithmetic only.
use crate::calibration::factor;

/// A row is within if it is off by no more than this.
pub(super) const TOLERANCE: f64 = 1.5;
/// So many of eight rows must be.
const NEEDED: (usize, usize) = (6, 8);

/// One number, measured and simulated.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Comparison {
    /// In which circumstance.
    pub(super) case: String,
    /// With which spin budget.
    pub(super) budget: String,
    /// What it is a number of.
    pub(super) what: &'static str,
    /// On this machine.
    pub(super) measured: f64,
    /// In the simulator.
    pub(super) simulated: f64,
    /// Is it part of the verdict? Otherwise it is only shown.
    pub(super) counts: bool,
}

impl Comparison {
    /// By which factor the two differ, whichever is larger: 1 if they do not; not a number if one of them is not positive.
    pub(super) fn factor(&self) -> f64 {
        factor(self.measured, self.simulated)
    }
}

/// What a row comes to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RowVerdict {
    /// The geometric mean of its factors. A median would not see up to half of them.
    pub(super) factor: f64,
    /// The largest of them.
    pub(super) worst: f64,
}

impl RowVerdict {
    /// Of all comparisons of a row that count; `None` if there are none, or one of them has no factor.
    pub(super) fn of(comparisons: &[Comparison]) -> Option<Self> {
        let factors: Vec<f64> = comparisons.iter().filter(|c| c.counts).map(Comparison::factor).collect();
        let sum = factors.iter().map(|factor| factor.ln()).sum::<f64>();
        let factor = (sum / factors.len() as f64).exp();
        factor.is_finite().then(|| Self { factor, worst: factors.iter().copied().fold(1.0, f64::max) })
    }

    /// Is the simulator good enough here?
    pub(super) fn within(self) -> bool {
        self.factor <= TOLERANCE
    }
}

/// Are enough of the rows within?
pub(super) fn enough(within: usize, rows: usize) -> bool {
    rows > 0 && within * NEEDED.1 >= rows * NEEDED.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison(measured: f64, simulated: f64) -> Comparison {
        Comparison { case: "alone".into(), budget: "CS".into(), what: "time over AB's", measured, simulated, counts: true }
    }

    #[test]
    fn a_factor_does_not_ask_who_is_larger() {
        assert_eq!([(2.0, 2.0), (2.0, 3.0), (3.0, 2.0)].map(|(m, s)| comparison(m, s).factor()), [1.0, 1.5, 1.5]);
        for (measured, simulated) in [(0.0, 1.0), (1.0, 0.0), (1.0, f64::NAN), (0.0, 0.0), (-1.0, 1.0)] {
            assert!(comparison(measured, simulated).factor().is_nan(), "{measured} {simulated}");
        }
    }

    #[test]
    fn a_row_is_judged_by_the_geometric_mean_and_shows_its_worst() {
        let row = RowVerdict::of(&[comparison(1.0, 1.0), comparison(1.0, 4.0), comparison(4.0, 1.0)]).unwrap();
        assert!((row.factor - 16f64.powf(1.0 / 3.0)).abs() < 1e-12 && row.worst == 4.0, "{row:?}");
        assert!(!row.within());
        assert!(RowVerdict::of(&[comparison(1.0, 1.5)]).unwrap().within(), "the tolerance is within");
    }

    #[test]
    fn what_could_not_be_compared_is_not_within() {
        assert_eq!(RowVerdict::of(&[]), None);
        assert_eq!(RowVerdict::of(&[comparison(1.0, 1.0), comparison(1.0, f64::NAN)]), None);
        let shown = Comparison { counts: false, ..comparison(3.0, 0.0) };
        assert_eq!(RowVerdict::of(&[comparison(1.0, 1.0), shown]).map(|row| row.worst), Some(1.0));
    }

    #[test]
    fn six_of_eight_are_enough_and_of_fewer_rows_three_quarters() {
        let enough = |within, rows| super::enough(within, rows);
        assert!(enough(6, 8) && !enough(5, 8) && enough(1, 1) && !enough(0, 1) && !enough(1, 2) && !enough(0, 0));
    }
}
