//! What is held against each other: the runs of both sides, the numbers that are made of their medians, and
//! by which factor these differ.
use super::rows::{Budget, Compares};
use crate::calibration::factor;
use foregather_results::Distribution;

/// One run of a cell, or one seed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct RunFigures {
    /// Time per barrier, or per round trip.
    pub(super) us: f64,
    /// The successful-spin rate, 0 to 1.
    pub(super) ssr: Option<f64>,
    /// Processors' worth of time that the team used.
    pub(super) cpus: Option<f64>,
    /// Context switches per barrier: of the team, or of the simulated machine.
    pub(super) switches: Option<f64>,
    /// Periods in which its quota was used up.
    pub(super) throttled_per_s: Option<f64>,
}

/// All runs of a cell, or all seeds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct CellRuns {
    pub(super) sides: Vec<RunFigures>,
}

impl CellRuns {
    pub(super) fn median(&self, of: impl Fn(&RunFigures) -> Option<f64>) -> Option<f64> {
        Distribution::of_values(&self.sides.iter().filter_map(of).collect::<Vec<_>>()).map(|all| all.quantile(0.5))
    }

    pub(super) fn us(&self) -> Option<f64> {
        self.median(|side| Some(side.us))
    }
}

/// One budget of one case, on both sides.
pub(super) struct BothSides {
    pub(super) case: &'static str,
    pub(super) budget: Budget,
    pub(super) measured: CellRuns,
    pub(super) simulated: CellRuns,
}

/// The time per barrier over that of the yardstick on the same side.
pub(super) const TIME: &str = "time over AB's";
/// Periods in which the quota was used up.
const THROTTLED: &str = "throttled/s";

/// A number of each side of a pair.
type NumberOf<'a> = &'a dyn Fn(&CellRuns) -> Option<f64>;

/// What is held against each other of a row's pairs.
pub(super) fn comparisons(compares: Compares, pairs: &[BothSides]) -> Vec<Comparison> {
    let mut all = Vec::new();
    let mut yardstick = None;
    for pair in pairs {
        if pair.budget.is_yardstick() {
            yardstick = pair.measured.us().zip(pair.simulated.us());
        }
        let mut compare = |what, of: NumberOf<'_>, over: (f64, f64)| {
            let number = |seen: &CellRuns, over: f64| of(seen).map_or(f64::NAN, |number| number / over);
            let (measured, simulated) = (number(&pair.measured, over.0), number(&pair.simulated, over.1));
            // A count of nothing has no ratio to anything.
            let counts = what != THROTTLED || measured > 0.0 && simulated > 0.0;
            let (case, budget) = (pair.case.to_owned(), pair.budget.name.clone());
            all.push(Comparison { case, budget, what, measured, simulated, counts });
        };
        if compares == Compares::RoundTrips {
            compare("round trip, us", &CellRuns::us, (1.0, 1.0));
        } else if !pair.budget.is_yardstick() {
            compare(TIME, &CellRuns::us, yardstick.unwrap_or((f64::NAN, f64::NAN)));
        }
        if compares == Compares::TimesAndShares {
            compare("processors used", &|seen| seen.median(|side| side.cpus), (1.0, 1.0));
        }
        let throttled = |seen: &CellRuns| seen.median(|side| side.throttled_per_s);
        if throttled(&pair.measured).is_some() {
            compare(THROTTLED, &throttled, (1.0, 1.0));
        }
    }
    all
}

/// A row is within if it is off by no more than this.
pub(super) const TOLERANCE: f64 = 1.5;
/// How many of how many rows must be within.
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
    /// Whether it is part of the verdict. Otherwise it is only shown.
    pub(super) counts: bool,
}

impl Comparison {
    /// By which factor the two differ, whichever is larger: 1 if they do not; not a number if one of them is
    /// not positive.
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

    /// Returns whether the simulator is accurate enough here.
    pub(super) fn within(self) -> bool {
        self.factor <= TOLERANCE
    }
}

/// Returns whether enough of the rows are within the tolerance.
pub(super) fn enough(within: usize, rows: usize) -> bool {
    rows > 0 && within * NEEDED.1 >= rows * NEEDED.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(budget: &str, policy: foregather_wait::Policy, measured: &[f64], simulated: &[f64]) -> BothSides {
        let seen = |all: &[f64]| CellRuns {
            sides: all.iter().map(|&us| RunFigures { us, cpus: Some(us / 50.0), ..RunFigures::default() }).collect(),
        };
        let budget = Budget { name: budget.into(), policy };
        BothSides { case: "alone", budget, measured: seen(measured), simulated: seen(simulated) }
    }

    #[test]
    fn medians_are_compared_over_the_yardstick_of_their_side() {
        use foregather_wait::Policy::{Block, Spin};
        let pairs = [pair("AB", Block, &[40.0, 50.0, 1_000.0], &[25.0]), pair("always", Spin, &[100.0], &[75.0])];
        let times = comparisons(Compares::Times, &pairs);
        assert_eq!(times.len(), 1, "the yardstick is not compared with itself");
        assert_eq!((times[0].measured, times[0].simulated, times[0].factor()), (2.0, 3.0, 1.5));
        let shares: Vec<_> =
            comparisons(Compares::TimesAndShares, &pairs).iter().map(|c| (c.what, c.measured, c.simulated)).collect();
        assert_eq!(shares, [("processors used", 1.0, 0.5), ("time over AB's", 2.0, 3.0), ("processors used", 2.0, 1.5)]);
        let round_trips = comparisons(Compares::RoundTrips, &pairs[..1]);
        assert_eq!((round_trips[0].measured, round_trips[0].simulated), (50.0, 25.0));
    }

    #[test]
    fn throttled_periods_count_where_there_are_any_on_both_sides() {
        let mut pairs = [pair("AB", foregather_wait::Policy::Block, &[40.0], &[40.0])];
        let counted =
            |pairs: &[BothSides]| comparisons(Compares::Times, pairs).iter().map(|c| (c.what, c.counts)).collect::<Vec<_>>();
        assert_eq!(counted(&pairs), []);
        pairs[0].measured.sides[0].throttled_per_s = Some(0.0);
        pairs[0].simulated.sides[0].throttled_per_s = Some(10.0);
        assert_eq!(counted(&pairs), [(THROTTLED, false)]);
        pairs[0].measured.sides[0].throttled_per_s = Some(9.0);
        assert_eq!(counted(&pairs), [(THROTTLED, true)]);
    }

    #[test]
    fn without_its_yardstick_nothing_is_compared() {
        let pairs =
            [pair("AB", foregather_wait::Policy::Block, &[], &[25.0]), pair("CS", foregather_wait::Policy::Spin, &[1.0], &[1.0])];
        assert!(RowVerdict::of(&comparisons(Compares::Times, &pairs)).is_none());
    }

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
