//! The machine's side of a case: its cells, interleaved, in processes of their own.
use super::compared::{RunFigures, Seen};
use super::rows::{Budget, Case, GRAIN, Pinning};
use crate::children::{CellCommand, Hogs, myself, run_cell, under};
use anyhow::Result;
use foregather_bench::{Cell, CellResult, WorkDistribution};
use foregather_host::cgroup::QuotaGroup;
use foregather_host::{affinity, interrupt};
use foregather_machine::{CpuId, Nanos, SplitMix};
use foregather_results::progress::Progress;

/// A cell that has not ended by this much over twice its time has collapsed.
const COLLAPSED: Nanos = Nanos::from_ms(700);

/// How cells are run.
pub(super) struct Cells {
    /// How often each.
    pub(super) repetitions: u32,
    /// For how long, where nothing acts more slowly than a tick.
    pub(super) span: Nanos,
    /// What a microsecond's computation is.
    pub(super) iterations_per_us: f64,
    /// Decides the orders.
    pub(super) random: SplitMix,
}

/// Keeps this process and the children it starts on some processors, until it is dropped.
struct Confined(Vec<CpuId>);

impl Confined {
    fn to(cpus: &[CpuId]) -> Result<Self> {
        let before = affinity::allowed();
        affinity::set(cpus)?;
        Ok(Self(before))
    }
}

impl Drop for Confined {
    fn drop(&mut self) {
        // They were allowed a moment ago.
        let _ = affinity::set(&self.0);
    }
}

impl Cells {
    /// All budgets of a case, in another order in each repetition, beside the same hogs. Fewer than were asked for if somebody
    /// interrupts.
    ///
    /// # Errors
    /// If the circumstance cannot be made, or a cell fails.
    pub(super) fn run(&mut self, case: &Case, budgets: &[Budget], progress: &mut Progress) -> Result<Vec<Seen>> {
        let two: Vec<CpuId> = affinity::allowed().into_iter().take(2).collect();
        let last = two[two.len() - 1];
        let pins = match case.place {
            Pinning::One => vec![last],
            Pinning::Two => two.clone(),
        };
        // What watches a real-time team must not be starved by it.
        let ours: Vec<CpuId> = two.iter().copied().filter(|&cpu| !(case.realtime && cpu == last)).collect();
        let _confined = Confined::to(&ours)?;
        let _hogs = Hogs::start(case.hogs, case.nice)?;
        let group = case.quota_ms.map(|ms| QuotaGroup::new(f64::from(ms) / 100.0)).transpose()?;
        let mut seen: Vec<Seen> = budgets.iter().map(|_| Seen::default()).collect();
        for _ in 0..self.repetitions {
            for i in self.random.shuffled(budgets.len()) {
                progress.step(&format!("{}: {}", case.name, budgets[i].name));
                if interrupt::requested() {
                    return Ok(seen);
                }
                seen[i].sides.push(self.cell(case, &budgets[i], &pins, group.as_ref())?);
            }
        }
        Ok(seen)
    }

    fn cell(&self, case: &Case, budget: &Budget, pins: &[CpuId], group: Option<&QuotaGroup>) -> Result<RunFigures> {
        let span = self.span * case.lengths();
        let cell = Cell {
            waiter: format!("central/{}", budget.policy),
            threads: case.threads,
            grain_ns: GRAIN.0,
            shape: WorkDistribution::Uniform,
            pins: pins.to_vec(),
            fork_join: false,
            span_ns: span.0,
            iterations_per_us: self.iterations_per_us,
        };
        let mut args = vec!["__cell".to_owned(), cell.to_arg()];
        if case.realtime {
            args.splice(..0, under("round-robin"));
        }
        let throttled = || group.and_then(QuotaGroup::throttled);
        let before = throttled();
        let bound = span * 2 + COLLAPSED;
        let result = run_cell(&CellCommand { program: &myself(), args, env: &[] }, group, bound)?;
        let periods = throttled().zip(before).map(|(after, before)| (after - before) as f64);
        Ok(result.map_or(RunFigures { us: bound.as_us(), ..RunFigures::default() }, |result| side(&result, periods)))
    }
}

fn side(result: &CellResult, throttled: Option<f64>) -> RunFigures {
    let wall = Nanos(result.wall_ns);
    RunFigures {
        us: wall.as_us() / result.episodes.max(1) as f64,
        ssr: result.ssr,
        cpus: Some(result.cpu_ns as f64 / wall.0.max(1) as f64),
        switches: Some(result.switches_per_episode()),
        throttled_per_s: throttled.map(|periods| periods / wall.as_secs()),
    }
}
