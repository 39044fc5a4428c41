//! The simulator of processors held against this machine: the same small experiments, measured and simulated.
//!
//! - [`rows`](mod@rows): V1 to V8. [`measured`](mod@measured): cells of this machine. [`simulated`](mod@simulated): the same
//!   teams in the simulator. [`round_trip`](mod@round_trip): both sides of V1.
//! - [`verdict`](mod@verdict): by which factor the two differ. [`output`](mod@output): as measurements and as a table.
//!
//! Only prices that `measure waits` measures go into the simulator, taken in the same run. What is compared are ratios to
//! always-block: how much the right spin budget is worth, and the wrong one costs, is what a simulator is asked for.

mod measured;
mod output;
mod round_trip;
mod rows;
mod simulated;
mod verdict;

use crate::cli::Barriers;
use crate::progress::Progress;
use crate::random::SplitMix;
use crate::results::{Distribution, Measurement};
use anyhow::{Result, bail};
use foregather_bench::{Work, prices};
use foregather_host::{affinity, facts, interrupt};
use foregather_machine::{Costs, Nanos};
use foregather_sim::smp::{Eevdf, Prices};
use rows::{Compares, Row};
use simulated::Likeness;
use verdict::{Comparison, RowVerdict};

/// Round trips of V1 in each circumstance.
const ROUND_TRIPS: u32 = 400;

/// What a run gave.
#[derive(Default)]
pub struct Validation {
    /// Both sides of every cell, and the factors of every row.
    pub measurements: Vec<Measurement>,
    /// The verdict, and what could not be compared and why.
    pub notes: Vec<String>,
    /// Somebody asked to stop before the end: the rows that were finished are there.
    pub interrupted: bool,
    /// The same for people.
    pub table: String,
    /// How many rows are within the tolerance, of how many.
    pub within: (usize, usize),
}

impl Validation {
    /// Are enough rows within?
    pub fn holds(&self) -> bool {
        verdict::enough(self.within.0, self.within.1)
    }
}

/// One run of a cell, or one seed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Side {
    /// Time per barrier, or per round trip.
    us: f64,
    /// The successful-spin rate, 0 to 1.
    ssr: Option<f64>,
    /// Processors' worth of time that the team used.
    cpus: Option<f64>,
    /// Context switches per barrier: of the team, or of the simulated machine.
    switches: Option<f64>,
    /// Periods in which its quota was used up.
    throttled_per_s: Option<f64>,
}

/// All runs of a cell, or all seeds.
#[derive(Clone, Debug, Default, PartialEq)]
struct Seen {
    sides: Vec<Side>,
}

impl Seen {
    fn median(&self, of: impl Fn(&Side) -> Option<f64>) -> Option<f64> {
        Distribution::of_values(&self.sides.iter().filter_map(of).collect::<Vec<_>>()).map(|all| all.quantile(0.5))
    }

    fn us(&self) -> Option<f64> {
        self.median(|side| Some(side.us))
    }
}

/// One budget of one case, on both sides.
struct Pair {
    case: &'static str,
    budget: rows::Budget,
    measured: Seen,
    simulated: Seen,
}

/// A row that was run, or that could not be.
struct Outcome {
    row: Row,
    pairs: Vec<Pair>,
    comparisons: Vec<Comparison>,
    /// Why it could not be compared.
    trouble: Option<String>,
}

impl Outcome {
    fn verdict(&self) -> Option<RowVerdict> {
        if self.trouble.is_some() { None } else { RowVerdict::of(&self.comparisons) }
    }
}

/// Runs the rows that the options select.
///
/// # Errors
/// If they select none, or the prices cannot be measured.
pub fn run(options: &Barriers, quiet: bool) -> Result<Validation> {
    let mut rows = Row::all();
    if let Some(wanted) = &options.rows {
        rows.retain(|row| wanted.split(';').any(|part| row.name.eq_ignore_ascii_case(part.trim())));
        if rows.is_empty() {
            bail!("no row to validate is named `{wanted}`; there are V1 to V8, separated by semicolons");
        }
    }
    let (_, costs) = prices::measure()?;
    let mut bench = Bench {
        costs,
        likeness: likeness(&costs),
        cells: measured::Cells {
            repetitions: options.repetitions.unwrap_or(5),
            span: Nanos::from_ms(options.ms.unwrap_or(100)),
            iterations_per_us: Work::iterations_per_us(),
            random: SplitMix(options.seed),
        },
        notes: vec![],
    };
    let cells: usize = rows.iter().flat_map(|row| row.cases.iter().map(|case| row.budgets(case, &costs).len())).sum();
    let mut progress = Progress::new("validate", cells * bench.cells.repetitions as usize, quiet);
    let mut outcomes = Vec::new();
    for row in rows {
        let outcome = bench.row(row, &mut progress);
        // What was interrupted in the middle is no result.
        if interrupt::requested() {
            break;
        }
        outcomes.push(outcome);
    }
    drop(progress);
    Ok(output::of(&outcomes, bench.notes, interrupt::requested()))
}

/// This machine for the simulator, with these prices.
fn likeness(costs: &Costs) -> Likeness {
    let facts = facts::machine();
    let tick = facts.tick_hz.map_or(costs.tick, |hz| Nanos(1_000_000_000 / u64::from(hz.max(1))));
    let turn = std::fs::read_to_string("/proc/sys/kernel/sched_rr_timeslice_ms").ok();
    let turn = turn.and_then(|text| text.trim().parse().ok()).filter(|&ms| ms > 0).unwrap_or(100);
    Likeness { prices: Prices::measured(costs), tick, slice: Eevdf::base_slice(facts.cpus_online), turn: Nanos::from_ms(turn) }
}

/// What rows are run with.
struct Bench {
    costs: Costs,
    likeness: Likeness,
    cells: measured::Cells,
    notes: Vec<String>,
}

impl Bench {
    /// One row on both sides. What keeps it from being run is its outcome, and no reason to lose the others.
    fn row(&mut self, row: Row, progress: &mut Progress) -> Outcome {
        let (pairs, trouble) = match row.lacks(affinity::allowed().len()) {
            Some(lack) => (vec![], Some(lack)),
            None => self.pairs(&row, progress).map_or_else(|error| (vec![], Some(format!("{error:#}"))), |pairs| (pairs, None)),
        };
        let comparisons = comparisons(row.compares, &pairs);
        Outcome { row, pairs, comparisons, trouble }
    }

    fn pairs(&mut self, row: &Row, progress: &mut Progress) -> Result<Vec<Pair>> {
        let mut pairs = Vec::new();
        for case in &row.cases {
            let budgets = row.budgets(case, &self.costs);
            let trips = row.compares == Compares::RoundTrips;
            let measured = match trips {
                true => vec![round_trip::measured(case, ROUND_TRIPS, progress, &mut self.notes)],
                false => self.cells.run(case, &budgets, progress)?,
            };
            for (budget, measured) in budgets.into_iter().zip(measured) {
                let simulated =
                    if trips { round_trip::simulated(case, &self.likeness)? } else { self.likeness.run(case, &budget)? };
                pairs.push(Pair { case: case.name, budget, measured, simulated });
            }
        }
        Ok(pairs)
    }
}

/// A number of each side of a pair.
type Number<'a> = &'a dyn Fn(&Seen) -> Option<f64>;

/// What is held against each other of a row's pairs.
fn comparisons(compares: Compares, pairs: &[Pair]) -> Vec<Comparison> {
    let mut all = Vec::new();
    let mut yardstick = None;
    for pair in pairs {
        if pair.budget.is_yardstick() {
            yardstick = pair.measured.us().zip(pair.simulated.us());
        }
        let mut compare = |what, of: Number<'_>, over: (f64, f64)| {
            let number = |seen: &Seen, over: f64| of(seen).map_or(f64::NAN, |number| number / over);
            all.push(Comparison {
                case: pair.case.to_owned(),
                budget: pair.budget.name.clone(),
                what,
                measured: number(&pair.measured, over.0),
                simulated: number(&pair.simulated, over.1),
            });
        };
        if compares == Compares::RoundTrips {
            compare("round trip, us", &Seen::us, (1.0, 1.0));
        } else if !pair.budget.is_yardstick() {
            compare("time over AB's", &Seen::us, yardstick.unwrap_or((f64::NAN, f64::NAN)));
        }
        if compares == Compares::TimesAndShares {
            compare("processors used", &|seen| seen.median(|side| side.cpus), (1.0, 1.0));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use rows::Budget;

    /// A machine with round prices.
    pub(super) const LIKENESS: Likeness = Likeness {
        prices: Prices {
            switch: Nanos(2_000),
            switch_to_idle: Nanos(1_000),
            wake_idle: Nanos(12_000),
            waker: Nanos(6_000),
            yield_call: Nanos(500),
            line: Nanos(50),
            migration: Nanos::ZERO,
        },
        tick: Nanos::from_ms(4),
        slice: Nanos::from_us(1_400),
        turn: Nanos::from_ms(100),
    };

    fn pair(budget: &str, policy: foregather_wait::Policy, measured: &[f64], simulated: &[f64]) -> Pair {
        let seen =
            |all: &[f64]| Seen { sides: all.iter().map(|&us| Side { us, cpus: Some(us / 50.0), ..Side::default() }).collect() };
        let budget = Budget { name: budget.into(), policy };
        Pair { case: "alone", budget, measured: seen(measured), simulated: seen(simulated) }
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
    fn without_its_yardstick_nothing_is_compared() {
        let pairs =
            [pair("AB", foregather_wait::Policy::Block, &[], &[25.0]), pair("CS", foregather_wait::Policy::Spin, &[1.0], &[1.0])];
        assert!(RowVerdict::of(&comparisons(Compares::Times, &pairs)).is_none());
    }

    #[test]
    fn the_simulated_side_is_the_same_every_time() {
        for row in Row::all().iter().filter(|row| row.compares != Compares::RoundTrips) {
            let case = &row.cases[0];
            let budget = &row.budgets(case, &Costs::TYPICAL)[1];
            let once = LIKENESS.run(case, budget).unwrap();
            assert_eq!(once, LIKENESS.run(case, budget).unwrap(), "{}", row.name);
            assert!(once.us().is_some_and(|us| us > 15.0) && once.sides.len() == simulated::SEEDS as usize, "{}", row.name);
        }
    }
}
