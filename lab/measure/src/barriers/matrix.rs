//! The order of the cells, and what each came to.
use super::figures::{self, Runs};
use super::{Matrix, rows::Row, summary, waiters::Waiter};
use crate::children::{CellCommand, Hogs, run_cell};
use anyhow::Result;
use foregather_barrier::Algorithm;
use foregather_bench::{Cell, CellResult, Work};
use foregather_host::cgroup::QuotaGroup;
use foregather_host::{affinity, interrupt};
use foregather_machine::{Nanos, SplitMix};
use foregather_results::progress::Progress;

/// A cell that has not ended by this much over its time has collapsed: its waiter passed next to no barrier.
const COLLAPSED: Nanos = Nanos::from_ms(700);
/// A quota is kept over 100 ms, and what happens within the first of these periods says nothing of it: cells of the usual 40 ms
/// last for more than five periods.
const QUOTA_LENGTHS: u64 = 13;

/// What to run.
pub struct Plan<'a> {
    /// The rows.
    pub rows: &'a [Row],
    /// The columns.
    pub waiters: &'a [Waiter],
    /// How often.
    pub repetitions: u32,
    /// For how long each.
    pub ms: u64,
    /// Decides the orders.
    pub seed: u64,
}

impl Plan<'_> {
    /// Row by row; within a row all waiters in turn, in another order in each repetition, beside the same hogs.
    ///
    /// # Errors
    /// If a cell cannot be run at all.
    pub fn run(&self, progress: &mut Progress) -> Result<Matrix> {
        let iterations_per_us = Work::iterations_per_us();
        let mut matrix = Matrix { notes: self.left_out(), ..Matrix::default() };
        let mut random = SplitMix(self.seed);
        for row in self.rows {
            let _hogs = Hogs::strange(row.stranger, row.hogs, 0)?;
            let group = row.quota.map(QuotaGroup::new).transpose()?;
            let mut runs: Vec<Runs> = self.waiters.iter().map(|_| Runs::default()).collect();
            for _ in 0..self.repetitions {
                for i in random.shuffled(self.waiters.len()) {
                    let waiter = &self.waiters[i];
                    progress.step(&format!("{}: {}", row.name(), waiter.name));
                    if interrupt::requested() || !takes(waiter, row) {
                        continue;
                    }
                    match self.cell(row, waiter, iterations_per_us, group.as_ref()) {
                        Ok(Some(result)) => runs[i].results.push(result),
                        Ok(None) => runs[i].collapsed += 1,
                        Err(_) if interrupt::requested() => {}
                        // One cell less is no reason to lose the others.
                        Err(error) => matrix.notes.push(format!("{} in `{}`: {error:#}", waiter.name, row.name())),
                    }
                }
            }
            matrix.measurements.extend(figures::row(row, self.waiters, &runs, self.bound(row)));
        }
        matrix.interrupted = interrupt::requested();
        matrix.measurements.extend(summary::all(&matrix.measurements));
        Ok(matrix)
    }

    /// Waiters that have no barrier for some of the teams.
    fn left_out(&self) -> Vec<String> {
        let rows = |waiter: &Waiter| {
            let rows: Vec<_> = self.rows.iter().filter(|row| !can_take(waiter, row)).map(Row::name).collect();
            (!rows.is_empty()).then(|| format!("{} has no barrier for the teams of: {}", waiter.name, rows.join("; ")))
        };
        self.waiters.iter().filter_map(rows).collect()
    }

    fn cell(&self, row: &Row, waiter: &Waiter, iterations_per_us: f64, group: Option<&QuotaGroup>) -> Result<Option<CellResult>> {
        let cell = Cell {
            waiter: waiter.spec.clone(),
            threads: row.threads,
            grain_ns: u64::from(row.grain_us) * 1_000,
            shape: row.shape,
            pins: if row.pinned { affinity::allowed() } else { vec![] },
            fork_join: row.fork_join,
            span_ns: self.span(row).0,
            iterations_per_us,
        };
        let args = vec![waiter.verb.to_owned(), cell.to_arg()];
        let command = CellCommand { program: &waiter.program, args, env: &waiter.env };
        run_cell(&command, group, self.bound(row))
    }

    fn span(&self, row: &Row) -> Nanos {
        Nanos::from_ms(self.ms * if row.quota.is_some() { QUOTA_LENGTHS } else { 1 })
    }

    /// How long a cell may take, its process's birth and end included.
    fn bound(&self, row: &Row) -> Nanos {
        self.span(row) * 2 + COLLAPSED
    }
}

/// Is the waiter measured with that many members?
fn takes(waiter: &Waiter, row: &Row) -> bool {
    row.threads >= waiter.least_threads && can_take(waiter, row)
}

/// Has the waiter a barrier for that many members?
fn can_take(waiter: &Waiter, row: &Row) -> bool {
    let kind = waiter.spec.split_once('/').and_then(|(kind, _)| Algorithm::parse(kind));
    kind.is_none_or(|kind| kind.takes(row.threads).is_ok())
}
