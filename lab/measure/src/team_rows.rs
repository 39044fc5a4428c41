//! Rows of teams under load, by several runners in turn: what `teams` and `openmp` have in common.
use crate::matrix::{BackgroundOfRow, CellLoop, Runs, TurnOrder};
use crate::options::TeamMatrix;
use crate::peers::{CellRunner, RunnerSet};
use crate::{Measured, machine_file};
use anyhow::{Result, ensure};
use foregather_bench::{Cell, CellResult, Work};
use foregather_results::{Distribution, Measurement};

/// Repetitions and milliseconds of a cell, as they usually are and for a quick run.
pub(super) struct CellSpans {
    pub(super) usual: (u32, u64),
    pub(super) quick: (u32, u64),
}

/// All rows of a run.
pub(super) struct TeamRows {
    pub(super) runners: Vec<CellRunner>,
    pub(super) span_ns: u64,
    pub(super) iterations_per_us: f64,
    cells: CellLoop,
    notes: Vec<String>,
}

impl TeamRows {
    /// Begins a run of that many rows.
    ///
    /// # Errors
    /// If a runner is unknown, none is here, or this machine's costs cannot be measured.
    pub(super) fn begin(
        name: &'static str,
        (options, rows): (&TeamMatrix, usize),
        (kind, spans): (&RunnerSet, &CellSpans),
        quiet: bool,
    ) -> Result<Self> {
        let mut notes = vec![];
        let runners = kind.runners(options.runners.as_deref(), &mut notes)?;
        ensure!(!runners.is_empty(), "{}", notes.join("; "));
        let (repetitions, ms) = if options.quick { spans.quick } else { spans.usual };
        let (repetitions, ms) = (options.repetitions.unwrap_or(repetitions), options.ms.unwrap_or(ms));
        machine_file::load_or_measure()?;
        let iterations_per_us = Work::iterations_per_us();
        let cells = CellLoop::new(name, rows * runners.len(), repetitions, TurnOrder::Random(options.seed), quiet);
        Ok(Self { runners, span_ns: ms * 1_000_000, iterations_per_us, cells, notes })
    }

    /// Runs the cell of each runner, by its name, beside that many busy processes.
    ///
    /// # Errors
    /// If a busy process cannot be started.
    pub(super) fn row<C: Cell<Answer = CellResult>>(
        &mut self,
        row: &str,
        hogs: u32,
        cell: impl Fn(String) -> C,
    ) -> Result<Vec<Runs<CellResult>>> {
        let beside = BackgroundOfRow { hogs, ..BackgroundOfRow::default() };
        let name = |runner: &CellRunner| format!("{row}: {}", runner.name);
        self.cells.row(beside, &self.runners, name, |runner, _| runner.run(&cell(runner.name.clone())))
    }

    /// Keeps the measurements of a row, each with its [regret](with_regrets).
    pub(super) fn keep(&mut self, row: Vec<Measurement>) {
        self.cells.found.measurements.extend(with_regrets(row));
    }

    /// Returns all that was measured.
    ///
    /// # Errors
    /// If nothing was.
    pub(super) fn end(mut self) -> Result<Measured> {
        self.cells.found.notes.splice(0..0, self.notes);
        self.cells.end()
    }
}

/// What was asked for, or else the usual.
pub(super) fn or<'n>(asked: &'n [u32], usual: &'n [u32]) -> &'n [u32] {
    if asked.is_empty() { usual } else { asked }
}

/// The columns of a row, each with its time over that of the best column.
pub(super) fn with_regrets(row: Vec<Measurement>) -> Vec<Measurement> {
    let best = row.iter().map(Measurement::median).fold(f64::NAN, f64::min);
    let regret = |m: Measurement| {
        let regret = m.median() / best;
        m.figure("regret", regret)
    };
    row.into_iter().map(regret).collect()
}

/// Microseconds an episode.
pub(super) fn mean_us(cell: &CellResult) -> f64 {
    cell.wall_ns as f64 / 1e3 / cell.episodes.max(1) as f64
}

/// The median of the repetitions.
pub(super) fn typical(runs: &[CellResult], of: impl Fn(&CellResult) -> f64) -> Option<f64> {
    let values: Vec<f64> = runs.iter().map(of).collect();
    Distribution::of_values(&values).map(|all| all.quantile(0.5))
}
