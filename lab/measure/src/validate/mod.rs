//! The simulator of processors held against this machine: the same small experiments, measured and simulated.
//!
//! - `rows`: V1 to V8. `measured`: cells of this machine. `simulated`: the same
//!   teams in the simulator. `round_trip`: both sides of V1.
//! - `compared`: the numbers that are held against each other. `verdict`: by which factor they
//!   differ. `output`: as measurements and as a table.
//!
//! Only prices that `measure waits` measures go into the simulator, taken in the same run. What is compared are ratios to
//! always-block: how much the right spin budget is worth, and the wrong one costs, is what a simulator is asked for.
//!
//! The simulated machine has nobody but the team and the hogs. On this one kernel threads wake up now and then and end
//! somebody's slice before its tick, so that a team that runs in step beside hogs gets out of step. One that blocks gets back
//! into it, one that always spins does not: that is where the two differ most.

mod compared;
mod measured;
mod output;
mod round_trip;
mod rows;
mod simulated;
mod verdict;

use crate::calibration::Calibration;
use anyhow::{Result, bail};
use compared::{BothSides, comparisons};
use foregather_bench::{Work, prices};
use foregather_cli::Barriers;
use foregather_host::{affinity, interrupt};
use foregather_machine::{Costs, Nanos, SplitMix};
use foregather_results::Measurement;
use foregather_results::progress::Progress;
use rows::{Compares, Row};
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

/// A row that was run, or that could not be.
struct Outcome {
    row: Row,
    pairs: Vec<BothSides>,
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
        calibration: Calibration::of(&costs),
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

/// What rows are run with.
struct Bench {
    costs: Costs,
    calibration: Calibration,
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

    fn pairs(&mut self, row: &Row, progress: &mut Progress) -> Result<Vec<BothSides>> {
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
                    if trips { round_trip::simulated(case, &self.calibration)? } else { self.calibration.run(case, &budget)? };
                pairs.push(BothSides { case: case.name, budget, measured, simulated });
            }
        }
        Ok(pairs)
    }
}
