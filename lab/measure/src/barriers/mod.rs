//! The barrier matrix: every waiter in every row of load and grain, interleaved, in processes of their own.
//!
//! - [`rows`](mod@rows): teams, hogs, placement, quota, grain, from which space rows are drawn, and which of
//!   them ask the same of a waiter. [`waiters`](mod@waiters): our policies and the peers.
//! - [`figures`](mod@figures): what the cells of a row come to, and those of a waiter.
//! - [`ablation`]: the same with each rule of the adaptive waiter off in turn. [`predict`](mod@predict): the
//!   same in the simulator.

pub mod ablation;
pub mod figures;
pub mod predict;
pub mod rows;
pub mod waiters;

use crate::cells::Within;
use crate::matrix::{BackgroundOfRow, CellLoop, TurnOrder};
use crate::options::BarriersOptions;
use crate::{Experiment, Measured, validate};
use anyhow::{Context, Result, bail};
use foregather_barrier::Algorithm;
use foregather_bench::{BarrierCell, Cell, Work};
use foregather_host::{affinity, clock};
use foregather_machine::Nanos;
use foregather_results::row::Row;
use foregather_results::table::Shows::{Count, Figure, Label};
use foregather_results::table::{Heading, ResultTable, texts};
use foregather_results::{Measurement, Results};
use predict::{BarrierPredictions, PredictionPlan};
use waiters::Waiter;

/// A quota is kept over 100 ms, and what happens within the first of these periods says nothing of it: cells
/// of the usual 40 ms last for more than five periods.
const QUOTA_LENGTHS: u64 = 13;
const CELLS: [Heading; 14] = [
    ("row", Label("row")),
    ("waiter", Label("waiter")),
    ("oracle", Label("oracle")),
    ("n", Count),
    ("us", Figure("us_per_episode")),
    ("regret", Figure("regret")),
    ("of best peer", Figure("share")),
    ("of oracle", Figure("oracle_share")),
    ("of best run", Figure("strict_share")),
    ("cpu us", Figure("cpu_us_per_episode")),
    ("cpu of oracle", Figure("cpu_over_oracle")),
    ("ssr", Figure("ssr")),
    ("stacked", Figure("stacked")),
    ("collapsed", Figure("collapsed_runs")),
];
const SUMMARIES: [Heading; 12] = [
    ("subset", Label("subset")),
    ("name", Label("name")),
    ("rows", Count),
    ("of best peer", Figure("share_geomean")),
    ("worst", Figure("share_worst")),
    ("of oracle", Figure("oracle_share_geomean")),
    ("worst", Figure("oracle_share_worst")),
    ("below .5", Figure("rows_below_half")),
    ("of best run", Figure("strict_share_geomean")),
    ("worst", Figure("strict_share_worst")),
    ("cpu of oracle", Figure("cpu_over_oracle_geomean")),
    ("worst", Figure("cpu_over_oracle_worst")),
];

impl Experiment for BarriersOptions {
    /// Without `--validate`: a measurement for each cell, for each waiter over the rows of each subset, and
    /// for each prediction.
    fn measure(&self, quiet: bool) -> Result<Measured> {
        if self.validate {
            return validate::run(self, quiet);
        }
        let costs = crate::machine_file::load_or_measure()?;
        let draws = self.full || self.draw.is_some();
        let (rows, mut notes) = chosen_rows(self, draws)?;
        let waiters = if self.ablation {
            ablation::waiters(&costs)?
        } else {
            let (all, missing) = waiters::waiters(self, &costs);
            notes.extend(missing);
            match &self.waiters {
                Some(wanted) => waiters::select(all, wanted, &costs)?,
                None => all,
            }
        };
        let (repetitions, ms) = match self {
            Self { quick: true, .. } => (2, 20),
            Self { wide: true, .. } | Self { ablation: true, .. } => (7, 40),
            // How often a team settles in which state takes many starts.
            Self { predict: true, .. } => (predict::STARTS, 40),
            _ => (3, 40),
        };
        let repetitions = self.repetitions.unwrap_or(repetitions);
        let ms = self.ms.unwrap_or(if draws { 200 } else { ms });
        notes.extend(left_out(&rows, &waiters));
        let plan = PredictionPlan { waiters: &waiters, named: self.waiters.is_some(), costs: &costs, span: Nanos::from_ms(ms) };
        let mut predictions = self.predict.then(|| BarrierPredictions::new(plan)).transpose()?;
        let predict = |row| predictions.as_mut().map_or(Ok(()), |predictions| predictions.predict(row));
        let mut found = matrix(&rows, &waiters, (repetitions, ms), (self.seed, quiet), predict)?;
        found.measurements.extend(figures::summaries(&found.measurements));
        if self.ablation {
            ablation::describe(&mut found.measurements);
        }
        notes.append(&mut found.notes);
        if let Some(predictions) = &predictions {
            found.measurements.extend(predictions.against(&found.measurements));
            notes.extend(predictions.notes());
        }
        Ok(Measured { notes, ..found })
    }

    fn text(&self, results: &Results) -> String {
        let all = &results.measurements;
        if self.ablation { ablation::table(all).to_text() } else { text(all) }
    }
}

/// The rows that the options ask for, and what is to be said of them.
fn chosen_rows(options: &BarriersOptions, draws: bool) -> Result<(Vec<Row>, Vec<String>)> {
    let (mut rows, mut notes) = rows::rows(options);
    if let Some(wanted) = options.rows.as_deref().filter(|_| !draws) {
        rows = named(&rows, wanted)?;
    }
    if draws {
        let seed = options.draw.flatten().unwrap_or_else(clock::unix_seconds);
        let count = options.rows.as_deref().map_or(Ok(rows::USUAL), str::parse);
        let count = count.context("--rows: with drawn rows it is how many")?;
        let wanted = |row: &Row| !options.predict || row.can_be_simulated();
        rows.extend(rows::draw(seed, count, affinity::allowed().len() as u32, wanted));
        let predict = if options.predict { " --predict" } else { "" };
        notes.push(format!("{count} rows were drawn by seed {seed}: `--draw {seed} --rows {count}{predict}` draws them again"));
    }
    Ok((rows, notes))
}

/// The rows whose name contains one of the parts of a list, and those that a part names in full.
fn named(rows: &[Row], wanted: &str) -> Result<Vec<Row>> {
    let mut chosen: Vec<Row> = Vec::new();
    for part in wanted.split(';').map(str::trim) {
        let like: Vec<Row> = rows.iter().filter(|row| row.name().contains(part)).cloned().collect();
        let found = if like.is_empty() { Row::parse(part).into_iter().collect() } else { like };
        chosen.extend(found.into_iter().filter(|row| !chosen.contains(row)).collect::<Vec<_>>());
    }
    if chosen.is_empty() {
        bail!("no row is named like `{wanted}`; rows are named like `2t pinned, 1 us` or `5t + 1 hog log-normal, 20 us`");
    }
    Ok(chosen)
}

/// Waiters that have no barrier for some of the teams.
fn left_out(rows: &[Row], waiters: &[Waiter]) -> Vec<String> {
    let of = |waiter: &Waiter| {
        let rows: Vec<_> = rows.iter().filter(|row| !can_take(waiter, row)).map(Row::name).collect();
        (!rows.is_empty()).then(|| format!("{} has no barrier for the teams of: {}", waiter.name, rows.join("; ")))
    };
    waiters.iter().filter_map(of).collect()
}

/// Returns whether the waiter has a barrier for that many members.
fn can_take(waiter: &Waiter, row: &Row) -> bool {
    let kind = waiter.spec.split_once('/').and_then(|(kind, _)| Algorithm::parse(kind));
    kind.is_none_or(|kind| kind.takes(row.threads).is_ok())
}

/// All cells, of `ms` milliseconds each. `before` is called with each row before it is measured.
fn matrix<'a>(
    rows: &'a [Row],
    waiters: &[Waiter],
    (repetitions, ms): (u32, u64),
    (seed, quiet): (u64, bool),
    mut before: impl FnMut(&'a Row) -> Result<()>,
) -> Result<Measured> {
    let iterations_per_us = Work::iterations_per_us();
    let takes = |row: &Row, waiter: &Waiter| row.threads >= waiter.least_threads && can_take(waiter, row);
    let taken = |row: &Row| waiters.iter().filter(|waiter| takes(row, waiter)).cloned().collect::<Vec<_>>();
    let cells = rows.iter().map(|row| taken(row).len()).sum();
    let mut matrix = CellLoop::new("barriers", cells, repetitions, TurnOrder::Random(seed), quiet);
    for row in rows {
        before(row)?;
        let cell = |waiter: &Waiter| BarrierCell {
            waiter: waiter.spec.clone(),
            threads: row.threads,
            teams: 1,
            grain_ns: u64::from(row.grain_us) * 1_000,
            shape: row.shape,
            pins: if row.pinned { affinity::allowed() } else { vec![] },
            fork_join: row.fork_join,
            span_ns: Nanos::from_ms(ms * if row.quota.is_some() { QUOTA_LENGTHS } else { 1 }).0,
            settle_ns: 0,
            iterations_per_us,
        };
        let waiters = taken(row);
        let beside =
            BackgroundOfRow { hogs: row.hogs, background: row.background, quota: row.quota, ..BackgroundOfRow::default() };
        let name = |waiter: &Waiter| format!("{}: {}", row.name(), waiter.name);
        let runs = matrix.row(beside, &waiters, name, |waiter, turn| {
            waiter.program.run(&cell(waiter), Within { quota: turn.quota, ..Within::default() })
        })?;
        let bound = waiters.first().map_or(Nanos::ZERO, |waiter| cell(waiter).at_most());
        matrix.found.measurements.extend(figures::row(row, &waiters, &runs, bound));
    }
    matrix.end()
}

/// Every cell in a line, then every waiter over the rows of each subset; then what was predicted.
fn text(all: &[Measurement]) -> String {
    let measured = all.iter().filter(|m| !predict::is_prediction(m));
    let (summaries, cells): (Vec<_>, Vec<_>) = measured.partition(|m| m.labels.contains_key("subset"));
    let tables = texts([ResultTable::of(&CELLS, cells), ResultTable::of(&SUMMARIES, summaries)]);
    [tables, predict::text(all)].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_and_summaries_have_a_table_each() {
        let cell = Measurement::from_values("a", "", "", vec![1.0, 2.0]).label("row", "2t, 1 us").label("waiter", "gomp");
        let summary = Measurement::from_values("b", "", "", vec![1.0]).label("subset", "core").label("name", "gomp");
        let text = text(&[cell.figure("oracle_share", 0.5), summary.figure("oracle_share_geomean", 0.25)]);
        let (cells, summaries) = text.split_once("\n\n").unwrap();
        assert!(cells.lines().count() == 2 && cells.contains("2t, 1 us") && cells.contains("0.5"), "{text}");
        assert!(summaries.lines().count() == 2 && summaries.contains("core") && summaries.contains("0.25"), "{text}");
    }
}
