//! What is held against each other: the runs of both sides, and the numbers that are made of their medians.
use super::rows::{Budget, Compares};
use super::verdict::Comparison;
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
pub(super) struct Seen {
    pub(super) sides: Vec<RunFigures>,
}

impl Seen {
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
    pub(super) measured: Seen,
    pub(super) simulated: Seen,
}

/// The time per barrier over that of the yardstick on the same side.
pub(super) const TIME: &str = "time over AB's";
/// Periods in which the quota was used up.
const THROTTLED: &str = "throttled/s";

/// A number of each side of a pair.
type Number<'a> = &'a dyn Fn(&Seen) -> Option<f64>;

/// What is held against each other of a row's pairs.
pub(super) fn comparisons(compares: Compares, pairs: &[BothSides]) -> Vec<Comparison> {
    let mut all = Vec::new();
    let mut yardstick = None;
    for pair in pairs {
        if pair.budget.is_yardstick() {
            yardstick = pair.measured.us().zip(pair.simulated.us());
        }
        let mut compare = |what, of: Number<'_>, over: (f64, f64)| {
            let number = |seen: &Seen, over: f64| of(seen).map_or(f64::NAN, |number| number / over);
            let (measured, simulated) = (number(&pair.measured, over.0), number(&pair.simulated, over.1));
            // A count of nothing has no ratio to anything.
            let counts = what != THROTTLED || measured > 0.0 && simulated > 0.0;
            let (case, budget) = (pair.case.to_owned(), pair.budget.name.clone());
            all.push(Comparison { case, budget, what, measured, simulated, counts });
        };
        if compares == Compares::RoundTrips {
            compare("round trip, us", &Seen::us, (1.0, 1.0));
        } else if !pair.budget.is_yardstick() {
            compare(TIME, &Seen::us, yardstick.unwrap_or((f64::NAN, f64::NAN)));
        }
        if compares == Compares::TimesAndShares {
            compare("processors used", &|seen| seen.median(|side| side.cpus), (1.0, 1.0));
        }
        let throttled = |seen: &Seen| seen.median(|side| side.throttled_per_s);
        if throttled(&pair.measured).is_some() {
            compare(THROTTLED, &throttled, (1.0, 1.0));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::super::verdict::RowVerdict;
    use super::*;

    fn pair(budget: &str, policy: foregather_wait::Policy, measured: &[f64], simulated: &[f64]) -> BothSides {
        let seen = |all: &[f64]| Seen {
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
        let trips = comparisons(Compares::RoundTrips, &pairs[..1]);
        assert_eq!((trips[0].measured, trips[0].simulated), (50.0, 25.0));
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
}
