//! Predicted against measured: the teams of the matrix in the simulator of processors, with this machine's prices, beside what
//! they came to here.
//!
//! - [`team`]: a row of the matrix as a simulation. [`start`]: where its members begin, and which beginning fits what was measured.
//! - [`verdict`]: by which factor the two differ, and whether that is near enough. [`output`]: a table, and a line for each group.
//!
//! Where the members of a free team settle is chance, and decides more than anything else: a team that shares a processor and
//! one that is spread are simulated each by itself, and the measured share of stacked episodes says which of them counts.

pub mod output;
pub mod start;
pub mod team;
pub mod verdict;

use super::{rows::Row, waiters::CANDIDATE, waiters::Waiter};
use crate::calibration::{Calibration, factor};
use anyhow::Result;
use foregather_bench::{Stranger, ours};
use foregather_host::{affinity, interrupt};
use foregather_machine::{Costs, Nanos};
use foregather_results::progress::Progress;
use foregather_results::{Distribution, Measurement};
use start::Start;
use team::Team;

/// Every prediction's id begins with it.
pub const ID: &str = "prediction/";
/// The waiters that are simulated unless others are asked for.
const USUAL: [&str; 5] = [CANDIDATE, "central/spin", "central/block", "central/spin-yield:2us", "central/two-phase:20us"];

/// What to predict, and on which machine.
pub struct Plan<'a> {
    /// The rows that were measured.
    pub rows: &'a [Row],
    /// Who was measured in them.
    pub waiters: &'a [Waiter],
    /// Did somebody name the waiters? Otherwise a few are simulated.
    pub named: bool,
    /// The machine's prices.
    pub costs: &'a Costs,
    /// For how long cells were measured, and are simulated.
    pub span: Nanos,
}

/// What was measured of a waiter in a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Time per barrier.
    pub us: f64,
    /// The share of episodes in which all members were on one processor.
    pub stacked: f64,
}

impl Measured {
    /// That of the row's cell; `None` if there is none, or if it collapsed in most of its runs: that has no time per barrier.
    fn of(cells: &[Measurement], row: &str, waiter: &str) -> Option<Self> {
        let is = |m: &&Measurement, label: &str, value: &str| m.labels.get(label).is_some_and(|found| found == value);
        let cell = cells.iter().find(|m| is(m, "row", row) && is(m, "waiter", waiter))?;
        let figure = |name: &str| cell.figures.get(name).copied();
        let collapsed = figure("collapsed_runs").unwrap_or(0.0) * 2.0 >= cell.summary.n as f64;
        Some(Self { us: figure("us_per_episode").filter(|_| !collapsed)?, stacked: figure("stacked")? })
    }
}

/// One cell of the matrix on both sides.
struct Prediction {
    measured: Measured,
    /// Time per barrier from a spread start and from a stacked one; a pinned team has only its own.
    simulated: Vec<(Start, Simulated)>,
}

/// Microseconds per barrier, of each seed.
type Simulated = Vec<f64>;

impl Plan<'_> {
    /// A measurement for each cell that can be simulated, one for each group of them, and what was left out.
    pub fn run(&self, cells: &[Measurement], quiet: bool) -> (Vec<Measurement>, Vec<String>) {
        let likeness = Calibration::of(self.costs);
        let (left_out, rows): (Vec<&Row>, Vec<&Row>) =
            self.rows.iter().partition(|row| row.fork_join || row.stranger != Stranger::Hog);
        let mut notes = Vec::new();
        if !left_out.is_empty() {
            let names: Vec<String> = left_out.iter().map(|row| row.name()).collect();
            notes.push(format!(
                "not predicted, since the simulator has no fork-join episodes and no strangers but hogs: {}",
                names.join("; ")
            ));
        }
        let waiters: Vec<&Waiter> = self.waiters.iter().filter(|waiter| self.simulates(waiter)).collect();
        let mut progress = Progress::new("predict", rows.len() * waiters.len(), quiet);
        let mut found = Vec::new();
        for (row, waiter) in rows.iter().flat_map(|row| waiters.iter().map(move |waiter| (row, waiter))) {
            progress.step(&format!("{}: {}", row.name(), waiter.name));
            let Some(measured) = Measured::of(cells, &row.name(), &waiter.name) else { continue };
            match self.predict(row, waiter, measured, &likeness) {
                _ if interrupt::requested() => break,
                Ok(prediction) => found.extend(measurement(row, waiter, &prediction)),
                Err(error) => notes.push(format!("{} in `{}` is not predicted: {error:#}", waiter.name, row.name())),
            }
        }
        found.extend(verdict::groups(&found));
        (found, notes)
    }

    /// Is it ours, and one of those that were asked for?
    fn simulates(&self, waiter: &Waiter) -> bool {
        waiter.ours && (self.named || USUAL.contains(&waiter.name.as_str()))
    }

    fn predict(&self, row: &Row, waiter: &Waiter, measured: Measured, likeness: &Calibration) -> Result<Prediction> {
        let (kind, policy) = ours::parse(&waiter.spec, self.costs).map_err(anyhow::Error::msg)?;
        let team = Team { row, kind, policy, cpus: affinity::allowed().len() as u32, span: self.span };
        let starts: &[Start] = if row.pinned { &[Start::Pinned] } else { &[Start::Spread, Start::Stacked] };
        let simulated = starts.iter().map(|&start| Ok((start, team.simulate(start, likeness)?))).collect::<Result<_>>()?;
        Ok(Prediction { measured, simulated })
    }
}

/// A prediction as a measurement; `None` if nothing was simulated.
fn measurement(row: &Row, waiter: &Waiter, prediction: &Prediction) -> Option<Measurement> {
    let of = |start: Start| prediction.simulated.iter().find(|(simulated, _)| *simulated == start);
    let median = |start| of(start).and_then(|(_, us)| Distribution::of_values(us)).map_or(f64::NAN, |all| all.quantile(0.5));
    let start = Start::fitting(row.pinned, prediction.measured.stacked);
    let (measured, predicted) = (prediction.measured.us, median(start));
    let (factor, limit) = (factor(measured, predicted), verdict::limit(row));
    let what = "simulated time per barrier, from the start that fits what was measured";
    let all = Measurement::from_values(format!("{ID}{}/{}", row.name(), waiter.name), what, "us", of(start)?.1.clone())
        .label("row", row.name())
        .label("class", row.class().name())
        .label("waiter", &waiter.name)
        .label("kind", "prediction")
        .label("load", verdict::load(row))
        .label("start", start.name())
        .figure("measured_us", measured)
        .figure("stacked", prediction.measured.stacked)
        .figure("spread_us", median(Start::Spread))
        .figure("stacked_us", median(Start::Stacked))
        .figure("predicted_us", predicted)
        .figure("factor", factor)
        .figure("limit", limit);
    // A factor that is no number is not within.
    Some(all.figure("within", f64::from(u8::from(factor <= limit))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::barriers::{rows::rows, waiters::own};
    use foregather_cli::Barriers;

    fn row(name: &str) -> Row {
        rows(&Barriers::default()).0.into_iter().find(|row| row.name() == name).unwrap()
    }

    fn describe(row_name: &str, measured: Measured, simulated: Vec<(Start, Simulated)>) -> Measurement {
        let waiter = own(CANDIDATE, &Costs::TYPICAL).unwrap();
        measurement(&row(row_name), &waiter, &Prediction { measured, simulated }).unwrap()
    }

    #[test]
    fn the_start_that_fits_is_the_prediction_and_both_are_told() {
        let both = || vec![(Start::Spread, vec![1.0, 9.0, 2.0]), (Start::Stacked, vec![40.0])];
        let spread = describe("2t, 1 us", Measured { us: 2.5, stacked: 0.1 }, both());
        let figures = ["measured_us", "spread_us", "stacked_us", "predicted_us", "factor", "within"];
        assert_eq!(figures.map(|name| spread.figures[name]), [2.5, 2.0, 40.0, 2.0, 1.25, 1.0]);
        assert_eq!((spread.id.as_str(), spread.labels["start"].as_str()), ("prediction/2t, 1 us/central/adaptive", "spread"));
        let stacked = describe("2t, 1 us", Measured { us: 20.0, stacked: 0.5 }, both());
        assert_eq!(figures.map(|name| stacked.figures[name]), [20.0, 2.0, 40.0, 40.0, 2.0, 0.0]);
    }

    #[test]
    fn beside_hogs_the_same_factor_is_near_enough() {
        let spread = |us| vec![(Start::Spread, vec![us]), (Start::Stacked, vec![0.5])];
        let within = |row: &str, us| describe(row, Measured { us: 10.0, stacked: 0.0 }, spread(us)).figures["within"];
        assert_eq!([within("2t, 1 us", 13.0), within("2t, 1 us", 19.0), within("2t + 1 hog, 1 us", 19.0)], [1.0, 0.0, 1.0]);
        assert_eq!([within("2t + 1 hog, 1 us", 4.9), within("2t + 1 hog, 1 us", f64::NAN)], [0.0, 0.0]);
    }

    #[test]
    fn what_collapsed_was_not_measured() {
        let cell = |runs: usize, collapsed: f64| {
            let m = Measurement::from_values("a", "", "", vec![1.0; runs]).label("row", "r").label("waiter", "w");
            [m.figure("us_per_episode", 4.0).figure("stacked", 0.25).figure("collapsed_runs", collapsed)]
        };
        assert_eq!(Measured::of(&cell(3, 1.0), "r", "w"), Some(Measured { us: 4.0, stacked: 0.25 }));
        assert_eq!(Measured::of(&cell(3, 2.0), "r", "w"), None);
        assert_eq!(Measured::of(&cell(3, 0.0), "r", "another"), None);
    }

    #[test]
    fn peers_are_not_simulated_and_of_ours_only_a_few_that_nobody_named() {
        let mine = |name: &str| own(name, &Costs::TYPICAL).unwrap();
        let simulates = |named, waiter: &Waiter| {
            Plan { rows: &[], waiters: &[], named, costs: &Costs::TYPICAL, span: Nanos::ZERO }.simulates(waiter)
        };
        assert!(USUAL.iter().all(|name| simulates(false, &mine(name))));
        let yields = mine("central/yield");
        assert!(simulates(true, &yields) && !simulates(false, &yields));
        assert!(!simulates(true, &Waiter { ours: false, ..yields }));
    }
}
