//! Both sides of a case. The machine's: its cells, interleaved, in processes of their own. The simulator's:
//! the same team and policies on a machine that has this one's prices, tick and rules.
//!
//! V1 is whole round trips: two threads that block hand a word to and fro. The prices of single switches go
//! into the simulator, so what a wake costs the waker, and what goes on at the same time, is compared by
//! them.
use super::compared::{CellRuns, RunFigures};
use super::rows::{Budget, Case, GRAIN, Pinning};
use crate::calibration::Calibration;
use crate::cells::{CellProgram, Within};
use crate::matrix::{BackgroundOfRow, CellLoop};
use crate::waits::{self, Circumstance, Placement};
use anyhow::{Result, anyhow};
use foregather_bench::ping_pong::{self, Method};
use foregather_bench::{BarrierCell, Cell, CellResult, WorkDistribution};
use foregather_host::cgroup::QuotaGroup;
use foregather_host::{affinity, clock, interrupt};
use foregather_machine::{Clock, CpuId, Error, Nanos, WaitContext, Words};
use foregather_results::Distribution;
use foregather_sim::SimWord;
use foregather_sim::event::Heap;
use foregather_sim::smp::{self, Job, Outcome, Record, Smp, SmpCpu, Stop, Study};
use foregather_wait::Policy;

/// Seeds of each simulation; the median of their results counts.
const SEEDS: u64 = 5;
/// For how long: hundreds of ticks, and tens of thousands of barriers where nothing is slow.
const SPAN: Nanos = Nanos::from_ms(1_000);
/// Round trips of V1 in each circumstance, and in the simulation.
const ROUND_TRIPS: u32 = 400;
const ROUNDS: u32 = 2_000;

/// How cells are run.
#[derive(Clone, Copy)]
pub(super) struct CellSettings {
    /// For how long, where nothing acts more slowly than a tick.
    pub(super) span: Nanos,
    /// What a microsecond's computation is.
    pub(super) iterations_per_us: f64,
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

impl CellSettings {
    /// All budgets of a case, beside the same hogs. Fewer results than were asked for after an interrupt.
    ///
    /// # Errors
    /// If the circumstance cannot be made, or a cell fails.
    pub(super) fn run(&self, case: &Case, budgets: &[Budget], matrix: &mut CellLoop) -> Result<Vec<CellRuns>> {
        let two: Vec<CpuId> = affinity::allowed().into_iter().take(2).collect();
        let last = two[two.len() - 1];
        let pins = match case.place {
            Pinning::One => vec![last],
            Pinning::Two => two.clone(),
        };
        // What watches a real-time team must not be starved by it.
        let ours: Vec<CpuId> = two.iter().copied().filter(|&cpu| !(case.realtime && cpu == last)).collect();
        let _confined = Confined::to(&ours)?;
        let quota = case.quota_ms.map(|ms| f64::from(ms) / 100.0);
        let beside = BackgroundOfRow { hogs: case.hogs, nice: case.nice, quota, ..BackgroundOfRow::default() };
        let name = |budget: &Budget| format!("{}: {}", case.name, budget.name);
        let runs = matrix.row(beside, budgets, name, |budget, turn| self.cell(case, budget, &pins, turn.quota).map(Some))?;
        Ok(runs.into_iter().map(|runs| CellRuns { sides: runs.results }).collect())
    }

    fn cell(&self, case: &Case, budget: &Budget, pins: &[CpuId], quota: Option<&QuotaGroup>) -> Result<RunFigures> {
        let cell = BarrierCell {
            waiter: format!("central/{}", budget.policy),
            threads: case.threads,
            teams: 1,
            grain_ns: GRAIN.0,
            shape: WorkDistribution::Uniform,
            pins: pins.to_vec(),
            fork_join: false,
            span_ns: (self.span * case.lengths()).0,
            settle_ns: 0,
            iterations_per_us: self.iterations_per_us,
        };
        let throttled = || quota.and_then(QuotaGroup::throttled);
        let before = throttled();
        let result = CellProgram::default().run(&cell, Within { quota, realtime: case.realtime, ..Within::default() })?;
        let periods = throttled().zip(before).map(|(after, before)| (after - before) as f64);
        let collapsed = RunFigures { us: cell.at_most().as_us(), ..RunFigures::default() };
        Ok(result.map_or(collapsed, |result| measured(&result, periods)))
    }
}

fn measured(result: &CellResult, throttled: Option<f64>) -> RunFigures {
    let wall = Nanos(result.wall_ns);
    RunFigures {
        us: wall.as_us() / result.episodes.max(1) as f64,
        ssr: result.ssr,
        cpus: Some(result.cpu_ns as f64 / wall.0.max(1) as f64),
        switches: Some(result.switches_per_episode()),
        throttled_per_s: throttled.map(|periods| periods / wall.as_secs()),
    }
}

impl Calibration {
    fn study(&self, case: &Case, budget: &Budget, seed: u64) -> Study {
        let cpus = case.place.cpus();
        // As in the cells: from three quarters to five quarters of the grain.
        let compute = smp::Distribution::Uniform { from: GRAIN.percent(75), to: GRAIN.percent(125) };
        let team = Job {
            group: case.quota_ms.map(|_| 0),
            pins: (0..cpus as CpuId).map(|cpu| vec![cpu]).collect(),
            ..Job::meeting("team", case.threads, u64::MAX, compute, budget.policy)
        };
        let hogs = Job { nice: case.nice, ..Job::load("hogs", case.hogs) };
        Study {
            machine: self.machine(cpus, case.realtime, case.quota_ms),
            // The hogs are there first, as on the machine.
            jobs: if case.hogs > 0 { vec![hogs, team] } else { vec![team] },
            stop: Stop::Limit,
            limit: SPAN,
            seed,
            shuffled: false,
            record: Record::NOTHING,
        }
    }

    /// One budget of a case with all seeds; fewer after an interrupt.
    ///
    /// # Errors
    /// If the simulator refuses the study.
    pub(super) fn run(&self, case: &Case, budget: &Budget) -> Result<CellRuns> {
        let mut seen = CellRuns::default();
        for seed in 1..=SEEDS {
            let outcome = smp::run(&self.study(case, budget, seed), || !interrupt::requested());
            let outcome = outcome.map_err(|error| anyhow!("{} with {}: {error}", case.name, budget.name))?;
            if outcome.interrupted {
                break;
            }
            seen.sides.push(simulated(&outcome, case.quota_ms.is_some()));
        }
        Ok(seen)
    }
}

fn simulated(outcome: &Outcome, limited: bool) -> RunFigures {
    // The team is the last job.
    let team = &outcome.jobs[outcome.jobs.len() - 1];
    let barriers = team.met.max(1) as f64;
    RunFigures {
        us: outcome.time.as_us() / barriers,
        ssr: team.waits.successful_spin_rate(),
        cpus: Some((team.split.compute + team.split.spin).0 as f64 / outcome.time.0.max(1) as f64),
        switches: Some(outcome.counts.switches as f64 / barriers),
        throttled_per_s: limited.then(|| outcome.counts.throttles as f64 / outcome.time.as_secs()),
    }
}

/// Round trips on this machine, part by part; the median of each.
///
/// # Errors
/// As [`waits::ping_pongs`].
pub(super) fn measured_trips(case: &Case, notes: &mut Vec<String>) -> Result<CellRuns> {
    let placement = if case.place == Pinning::One { Placement::OneCpu } else { Placement::TwoCpus };
    let circumstance = Circumstance { side: ping_pong::PartyKind::Threads, placement, gap: Nanos::ZERO, runs: ROUND_TRIPS };
    let mut matrix = waits::matrix(1, true);
    let all = waits::ping_pongs(circumstance, &[Method::Futex], &mut matrix)?;
    notes.append(&mut matrix.found.notes);
    let us = |&cycles: &u64| clock::cycles_to_nanos(cycles).as_us();
    let median = |part: &ping_pong::PingPong| Distribution::quantile_of(part.cycles.iter().map(us), 0.5);
    let parts = all.iter().flat_map(|(_, parts)| parts).map(median);
    Ok(CellRuns { sides: parts.map(|us| RunFigures { us, ..RunFigures::default() }).collect() })
}

/// The same in the simulator, the mean of each seed.
///
/// # Errors
/// If a wait fails there.
pub(super) fn simulated_round_trips(case: &Case, likeness: &Calibration) -> Result<CellRuns> {
    let machine = likeness.machine(case.place.cpus(), false, None);
    let mut seen = CellRuns::default();
    for seed in 1..=SEEDS {
        let smp = Smp::<Heap>::new(&machine, 2, seed);
        let words = [SimWord::default(), SimWord::default()];
        let ends = smp.run(|cpu| to_and_fro(cpu, &words)).into_iter().flatten().collect::<Result<Vec<Nanos>, Error>>()?;
        let end = ends.into_iter().max().unwrap_or_default();
        seen.sides.push(RunFigures { us: end.as_us() / f64::from(ROUNDS), ..RunFigures::default() });
    }
    Ok(seen)
}

/// One thread's part; when it ended.
async fn to_and_fro(cpu: SmpCpu<'_, Heap>, words: &[SimWord; 2]) -> Result<Nanos, Error> {
    let rank = cpu.number();
    let (mine, theirs) = (&words[rank as usize], &words[1 - rank as usize]);
    for round in 1..=ROUNDS {
        if rank == 0 {
            cpu.publish(mine, round);
        }
        let answered = || (cpu.load(theirs) == round).then_some(());
        Policy::Block.wait(&cpu, theirs, WaitContext::new("ping-pong", rank).of(1 - rank), answered).await?;
        if rank == 1 {
            cpu.publish(mine, round);
        }
    }
    Ok(cpu.now())
}

#[cfg(test)]
mod tests {
    use super::super::rows::{Compares, Row};
    use super::*;
    use crate::calibration::tests::LIKENESS;
    use foregather_machine::Costs;

    #[test]
    fn the_simulated_side_is_the_same_every_time() {
        for row in Row::all().iter().filter(|row| row.compares != Compares::RoundTrips) {
            let case = &row.cases[0];
            let budget = &row.budgets(case, &Costs::TYPICAL)[1];
            let once = LIKENESS.run(case, budget).unwrap();
            assert_eq!(once, LIKENESS.run(case, budget).unwrap(), "{}", row.name);
            assert!(once.us().is_some_and(|us| us > 15.0) && once.sides.len() == SEEDS as usize, "{}", row.name);
        }
    }

    /// Two switches a round trip on one processor; two wakes of an idle one on two.
    #[test]
    fn a_simulated_round_trip_costs_what_its_switches_cost() {
        let row = &Row::all()[0];
        let round_trips: Vec<CellRuns> = row.cases.iter().map(|case| simulated_round_trips(case, &LIKENESS).unwrap()).collect();
        for (round_trip, price) in round_trips.iter().zip([LIKENESS.prices.switch, LIKENESS.prices.wake_idle]) {
            let us = round_trip.us().unwrap();
            assert!((us / (price * 2).as_us() - 1.0).abs() < 0.05, "{us} us of {price}");
        }
    }
}
