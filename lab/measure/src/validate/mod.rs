//! The simulator of processors held against this machine: the same small experiments, measured and simulated.
//!
//! `rows`: V1 to V8. `sides`: cells of this machine, and the same teams in the simulator. `compared`: the
//! numbers that are held against each other, and by which factor they differ.
//!
//! Only prices that `measure waits` measures go into the simulator, taken in the same run. What is compared
//! are ratios to always-block: how much the right spin budget is worth, and the wrong one costs, is what a
//! simulator is asked for.
//!
//! The simulated machine has nothing but the team and the hogs. On this one kernel threads wake up now and
//! then and end a thread's slice before its tick, so that a team that runs in step beside hogs gets out of
//! step. One that blocks gets back into it, one that always spins does not: that is where the two differ
//! most.

mod compared;
mod rows;
mod sides;

use crate::Measured;
use crate::calibration::Calibration;
use crate::matrix::{CellLoop, TurnOrder};
use crate::options::BarriersOptions;
use anyhow::{Result, bail};
use compared::{BothSides, CellRuns, Comparison, RowVerdict, RunFigures, TIME, TOLERANCE, comparisons, enough};
use foregather_bench::{Work, prices};
use foregather_host::{affinity, interrupt};
use foregather_machine::{Costs, Nanos};
use foregather_results::Measurement;
use foregather_results::number::digits;
use foregather_results::table::ResultTable;
use foregather_wait::Policy;
use rows::{Compares, Row};

/// A row that was run, or that could not be.
struct ValidatedRow {
    row: Row,
    pairs: Vec<BothSides>,
    comparisons: Vec<Comparison>,
    /// Why it could not be compared.
    trouble: Option<String>,
}

impl ValidatedRow {
    fn verdict(&self) -> Option<RowVerdict> {
        if self.trouble.is_some() { None } else { RowVerdict::of(&self.comparisons) }
    }
}

/// Runs the rows that the options select: both sides of every cell, and the factors of every row.
///
/// # Errors
/// If they select none, or the prices cannot be measured.
pub(super) fn run(options: &BarriersOptions, quiet: bool) -> Result<Measured> {
    let mut rows = Row::all();
    if let Some(wanted) = &options.rows {
        rows.retain(|row| wanted.split(';').any(|part| row.name.eq_ignore_ascii_case(part.trim())));
        if rows.is_empty() {
            bail!("no row to validate is named `{wanted}`; there are V1 to V8, separated by semicolons");
        }
    }
    let (_, costs) = prices::measure()?;
    let cells = rows.iter().flat_map(|row| row.cases.iter().map(|case| row.budgets(case, &costs).len())).sum();
    let repetitions = options.repetitions.unwrap_or(5);
    let mut bench = RowRunner {
        costs,
        calibration: Calibration::with_preemption(&costs)?,
        cells: sides::CellSettings {
            span: Nanos::from_ms(options.ms.unwrap_or(100)),
            iterations_per_us: Work::iterations_per_us(),
        },
        matrix: CellLoop::new("validate", cells, repetitions, TurnOrder::Random(options.seed), quiet).all_or_none(),
        notes: vec![],
    };
    let mut outcomes = Vec::new();
    for row in rows {
        let outcome = bench.row(row);
        // What was interrupted in the middle is no result.
        if interrupt::requested() {
            break;
        }
        outcomes.push(outcome);
    }
    let mut found = found(&outcomes);
    found.notes.splice(0..0, bench.notes);
    found.failed = found.failed.filter(|_| options.check);
    Ok(found)
}

/// What rows are run with.
struct RowRunner {
    costs: Costs,
    calibration: Calibration,
    cells: sides::CellSettings,
    matrix: CellLoop,
    /// Of round trips that could not be played to their end.
    notes: Vec<String>,
}

impl RowRunner {
    /// One row on both sides. What keeps it from being run is its outcome, and no reason to lose the others.
    fn row(&mut self, row: Row) -> ValidatedRow {
        let (pairs, trouble) = match row.lacks(affinity::allowed().len()) {
            Some(lack) => (vec![], Some(lack)),
            None => self.pairs(&row).map_or_else(|error| (vec![], Some(format!("{error:#}"))), |pairs| (pairs, None)),
        };
        let comparisons = comparisons(row.compares, &pairs);
        ValidatedRow { row, pairs, comparisons, trouble }
    }

    fn pairs(&mut self, row: &Row) -> Result<Vec<BothSides>> {
        let mut pairs = Vec::new();
        for case in &row.cases {
            let budgets = row.budgets(case, &self.costs);
            let round_trips = row.compares == Compares::RoundTrips;
            let measured = match round_trips {
                true => vec![sides::measured_trips(case, &mut self.notes)?],
                false => self.cells.run(case, &budgets, &mut self.matrix)?,
            };
            for (budget, measured) in budgets.into_iter().zip(measured) {
                let likeness = &self.calibration;
                let simulated =
                    if round_trips { sides::simulated_round_trips(case, likeness)? } else { likeness.run(case, &budget)? };
                pairs.push(BothSides { case: case.name, budget, measured, simulated });
            }
        }
        Ok(pairs)
    }
}

/// All of it, as measurements and as tables.
fn found(outcomes: &[ValidatedRow]) -> Measured {
    let within = outcomes.iter().filter_map(ValidatedRow::verdict).filter(|verdict| verdict.within()).count();
    let (mut measurements, mut notes) = (Vec::new(), Vec::new());
    for outcome in outcomes {
        measurements.extend(outcome.pairs.iter().flat_map(|pair| sides_of(outcome, pair)));
        measurements.extend(factors(outcome));
        notes.extend(outcome.trouble.iter().map(|trouble| format!("{} is not compared: {trouble}", outcome.row.name)));
    }
    let (of, verdict) = (outcomes.len(), format!("{within} of {} rows within {TOLERANCE}", outcomes.len()));
    let table = format!("{}\n{}\n{verdict}\n", cells_table(outcomes).to_text(), rows_table(outcomes).to_text());
    notes.push(verdict);
    let failed = format!("the simulator is off by too much: {within} of {of} rows are within");
    Measured { measurements, notes, table: Some(table), failed: (!enough(within, of)).then_some(failed) }
}

/// Both sides of a cell.
fn sides_of(outcome: &ValidatedRow, pair: &BothSides) -> [Measurement; 2] {
    let row = outcome.row.name;
    let side = |kind: &str, seen: &CellRuns, ratio: &dyn Fn(&Comparison) -> f64| {
        let id = format!("validate/{row}/{}/{}/{kind}", pair.case, pair.budget.name);
        let what = if outcome.row.compares == Compares::RoundTrips { "one round trip" } else { "one barrier" };
        let all = Measurement::from_values(id, what, "us", seen.sides.iter().map(|side| side.us).collect());
        let all = all.label("row", row).label("case", pair.case).label("budget", &pair.budget.name).label("kind", kind);
        let median = |of: &dyn Fn(&RunFigures) -> Option<f64>| seen.median(of).unwrap_or(f64::NAN);
        let all = all
            .figure("spin_us", if let Policy::TwoPhase { spin } = pair.budget.policy { spin.as_us() } else { f64::NAN })
            .figure("ssr", median(&|side| side.ssr))
            .figure("cpus", median(&|side| side.cpus))
            .figure("switches_per_episode", median(&|side| side.switches))
            .figure("throttled_per_s", median(&|side| side.throttled_per_s));
        let times = outcome.comparisons.iter().find(|c| c.case == pair.case && c.budget == pair.budget.name && c.what == TIME);
        times.into_iter().fold(all, |all, comparison| all.figure("time_over_ab", ratio(comparison)))
    };
    [side("measured", &pair.measured, &|c| c.measured), side("simulated", &pair.simulated, &|c| c.simulated)]
}

/// The factors of a row, if it was compared.
fn factors(outcome: &ValidatedRow) -> Option<Measurement> {
    let verdict = outcome.verdict()?;
    let factors = outcome.comparisons.iter().filter(|c| c.counts).map(Comparison::factor).collect();
    let what = "measured and simulated differ by this factor";
    let all = Measurement::from_values(format!("validate-row/{}", outcome.row.name), what, "factor", factors);
    let all = all.label("row", outcome.row.name).label("kind", "row");
    Some(
        all.figure("geomean", verdict.factor)
            .figure("worst", verdict.worst)
            .figure("within", f64::from(u8::from(verdict.within()))),
    )
}

/// Every cell, with what is compared of it.
fn cells_table(outcomes: &[ValidatedRow]) -> ResultTable {
    let headings = [
        "row",
        "case",
        "budget",
        "measured us",
        "simulated us",
        "SSR %",
        "SSR % sim.",
        "compared",
        "measured",
        "simulated",
        "factor",
    ];
    let mut table = ResultTable::new(headings);
    let shown = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| digits(value, 3));
    for outcome in outcomes {
        for pair in &outcome.pairs {
            let ssr = |seen: &CellRuns| shown(seen.median(|side| side.ssr.map(|ssr| ssr * 100.0)));
            let cell = [
                outcome.row.name.to_owned(),
                pair.case.to_owned(),
                budget(pair),
                shown(pair.measured.us()),
                shown(pair.simulated.us()),
                ssr(&pair.measured),
                ssr(&pair.simulated),
            ];
            let mine = outcome.comparisons.iter().filter(|c| c.case == pair.case && c.budget == pair.budget.name);
            let mut compared: Vec<[String; 4]> = mine
                .map(|c| {
                    let factor = c.counts.then(|| c.factor());
                    [c.what.to_owned(), shown(Some(c.measured)), shown(Some(c.simulated)), shown(factor)]
                })
                .collect();
            compared.resize(compared.len().max(1), ["-", "-", "-", "-"].map(str::to_owned));
            table.rows.extend(compared.into_iter().map(|compared| [&cell[..], &compared].concat()));
        }
    }
    table
}

/// `2CS+ (31 us)`.
fn budget(pair: &BothSides) -> String {
    match pair.budget.policy {
        Policy::TwoPhase { spin } => format!("{} ({} us)", pair.budget.name, digits(spin.as_us(), 3)),
        _ => pair.budget.name.clone(),
    }
}

/// Every row, with its verdict.
fn rows_table(outcomes: &[ValidatedRow]) -> ResultTable {
    let mut table = ResultTable::new(["row", "what", "factor", "worst", "verdict"]);
    for outcome in outcomes {
        let verdict = outcome.verdict();
        let number = |of: fn(RowVerdict) -> f64| verdict.map_or_else(|| "-".to_owned(), |verdict| digits(of(verdict), 3));
        let said = match (verdict, &outcome.trouble) {
            (Some(verdict), _) if verdict.within() => "within".to_owned(),
            (Some(_), _) => "beyond".to_owned(),
            (None, Some(trouble)) => format!("not compared: {trouble}"),
            (None, None) => "not compared".to_owned(),
        };
        let what = outcome.row.what.to_owned();
        table.rows.push(vec![outcome.row.name.to_owned(), what, number(|v| v.factor), number(|v| v.worst), said]);
    }
    table
}
