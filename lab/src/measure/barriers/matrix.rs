//! The order of the cells, and what they come to.
use super::{Matrix, rows::Row, waiters::Waiter};
use crate::measure::children::{CellCommand, Hogs, run_cell};
use crate::progress::Progress;
use crate::results::{Distribution, Measurement};
use anyhow::Result;
use foregather_barrier::Kind;
use foregather_bench::{Cell, CellResult, Work};
use foregather_host::cgroup::QuotaGroup;
use foregather_host::{affinity, interrupt};
use foregather_machine::{Nanos, SplitMix};

/// A cell that has not ended by this much over its time has collapsed: its waiter passed next to no barrier.
const COLLAPSED: Nanos = Nanos::from_ms(700);

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

/// All repetitions of one cell.
#[derive(Default)]
struct Runs {
    results: Vec<CellResult>,
    collapsed: u32,
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
            let _hogs = Hogs::start(row.hogs, 0)?;
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
            matrix.measurements.extend(self.row(row, &runs));
        }
        matrix.interrupted = interrupt::requested();
        matrix.measurements.extend(self.summaries(&matrix.measurements));
        Ok(matrix)
    }

    /// Waiters that have no barrier for some of the teams.
    fn left_out(&self) -> Vec<String> {
        let rows = |waiter: &Waiter| {
            let rows: Vec<_> = self.rows.iter().filter(|row| !takes(waiter, row)).map(Row::name).collect();
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
            span_ns: self.ms * 1_000_000,
            iterations_per_us,
        };
        let args = vec![waiter.verb.to_owned(), cell.to_arg()];
        let command = CellCommand { program: &waiter.program, args, env: &waiter.env };
        run_cell(&command, group, self.bound())
    }

    /// How long a cell may take, its process's birth and end included.
    fn bound(&self) -> Nanos {
        Nanos::from_ms(self.ms * 2) + COLLAPSED
    }

    /// The measurements of one row; shares are of the best peer's median.
    fn row(&self, row: &Row, runs: &[Runs]) -> Vec<Measurement> {
        // A collapsed cell is counted as if it had passed one barrier in all its time.
        let floor = 1.0 / self.bound().as_secs();
        let rates = |runs: &Runs| {
            let measured = runs.results.iter().map(CellResult::episodes_per_s);
            measured.chain((0..runs.collapsed).map(|_| floor)).collect::<Vec<_>>()
        };
        let all: Vec<_> = self.waiters.iter().zip(runs).map(|(waiter, runs)| (waiter, runs, rates(runs))).collect();
        let peers = all.iter().filter(|(waiter, ..)| !waiter.ours).map(|(.., rates)| median(rates));
        let best_peer = peers.flatten().fold(f64::NAN, f64::max);
        let measured = all.into_iter().filter(|(.., rates)| !rates.is_empty());
        measured.map(|(waiter, runs, rates)| measurement(row, waiter, runs, rates, best_peer)).collect()
    }

    /// One measurement per waiter: its shares over all rows.
    fn summaries(&self, cells: &[Measurement]) -> Vec<Measurement> {
        let summary = |waiter: &Waiter| {
            let mine = cells.iter().filter(|cell| cell.labels.get("waiter") == Some(&waiter.name));
            let shares: Vec<f64> = mine.filter_map(|cell| cell.figures.get("share").copied()).collect();
            if shares.is_empty() {
                return None;
            }
            let geomean = (shares.iter().map(|share| share.ln()).sum::<f64>() / shares.len() as f64).exp();
            let worst = shares.iter().copied().fold(f64::INFINITY, f64::min);
            let below_half = shares.iter().filter(|&&share| share < 0.5).count();
            let id = format!("barriers-summary/{}", waiter.name);
            let what = "episodes/s over those of the best peer, row by row";
            let all = Measurement::from_values(id, what, "share", shares).label("kind", kind(waiter)).label("name", &waiter.name);
            Some(all.figure("geomean", geomean).figure("worst", worst).figure("rows_below_half", below_half as f64))
        };
        self.waiters.iter().filter_map(summary).collect()
    }
}

/// Has the waiter a barrier for that many members?
fn takes(waiter: &Waiter, row: &Row) -> bool {
    let kind = waiter.spec.split_once('/').and_then(|(kind, _)| Kind::parse(kind));
    kind.is_none_or(|kind| kind.takes(row.threads).is_ok())
}

fn kind(waiter: &Waiter) -> &'static str {
    if waiter.ours { "ours" } else { "peer" }
}

fn measurement(row: &Row, waiter: &Waiter, runs: &Runs, rates: Vec<f64>, best_peer: f64) -> Measurement {
    let share = median(&rates).map_or(f64::NAN, |rate| rate / best_peer);
    let figure = |of: &dyn Fn(&CellResult) -> Option<f64>| {
        median(&runs.results.iter().filter_map(of).collect::<Vec<_>>()).unwrap_or(f64::NAN)
    };
    Measurement::from_values(format!("barriers/{}/{}", row.name(), waiter.name), "barriers passed", "episodes/s", rates)
        .label("row", row.name())
        .label("waiter", &waiter.name)
        .label("kind", kind(waiter))
        .figure("share", share)
        .figure("cpu_us_per_episode", figure(&|r| Some(r.cpu_us_per_episode())))
        .figure("p50_us", figure(&|r| Some(r.p50_ns as f64 / 1e3)))
        .figure("p99_us", figure(&|r| Some(r.p99_ns as f64 / 1e3)))
        .figure("max_us", figure(&|r| Some(r.max_ns as f64 / 1e3)))
        .figure("ssr", figure(&|r| r.ssr))
        .figure("exit_skew_p50_ns", figure(&|r| r.exit_skew_p50_ns.map(|ns| ns as f64)))
        .figure("exit_skew_p99_ns", figure(&|r| r.exit_skew_p99_ns.map(|ns| ns as f64)))
        .figure("stacked", figure(&|r| Some(r.stacked)))
        .figure("spun_share", figure(&|r| r.outcome_share(2)))
        .figure("yielded_share", figure(&|r| r.outcome_share(3)))
        .figure("parked_share", figure(&|r| r.outcome_share(4)))
        .figure("switches_per_episode", figure(&|r| Some(r.switches_per_episode())))
        .figure("collapsed_runs", f64::from(runs.collapsed))
}

/// The median; `None` of nothing.
fn median(values: &[f64]) -> Option<f64> {
    Distribution::of_values(values).map(|all| all.quantile(0.5))
}
