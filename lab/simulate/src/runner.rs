//! Runs a plan: every point with every seed, on all processors that this process may use. What comes out does
//! not depend on how many those are.
use super::network::{self, Interconnect, Summary};
use super::plan::{Labels, Plan, Study};
use anyhow::{Context, Result, anyhow};
use foregather_host::{affinity, interrupt};
use foregather_results::progress::Progress;
use foregather_sim::smp::{self, Outcome};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// What came of one combination of choices.
pub struct Point {
    /// Its number in the plan.
    pub number: usize,
    /// Its choices.
    pub labels: Labels,
    /// One a seed, in the order of the plan; those that were interrupted are missing.
    pub runs: Vec<Ran>,
}

/// One simulation that came to its end.
pub struct Ran {
    /// With which seed.
    pub seed: u64,
    /// What came of it.
    pub played: RunResult,
}

/// What was simulated and what came of it.
pub enum RunResult {
    /// Processors that threads share.
    Smp(Box<smp::Study>, Box<Outcome>),
    /// Nodes that exchange messages; of their trials, what is kept.
    Network(Box<network::Study<Interconnect>>, Summary),
}

impl Ran {
    /// The processors that were simulated, if it were processors.
    pub fn smp(&self) -> Option<(&smp::Study, &Outcome)> {
        if let RunResult::Smp(study, outcome) = &self.played { Some((study, outcome)) } else { None }
    }

    /// The network that was simulated, if it was one.
    pub fn network(&self) -> Option<(&network::Study<Interconnect>, &Summary)> {
        if let RunResult::Network(study, summary) = &self.played { Some((study, summary)) } else { None }
    }
}

/// How a plan is run.
#[derive(Clone, Copy, Debug)]
pub struct Running {
    /// How many simulations at the same time; 0: as many as there are processors for.
    pub workers: u32,
    /// No progress on standard error.
    pub quiet: bool,
}

/// One simulation to do.
struct SimulationTask {
    point: usize,
    seed: u64,
}

/// Runs all of a plan until somebody interrupts it: then those that came to their end are there.
///
/// # Errors
/// If a simulation cannot be run, or no thread can be made.
pub fn run(plan: &Plan, running: Running) -> Result<Vec<Point>> {
    run_while(plan, running, &|| !interrupt::requested())
}

/// The same while `go_on` says so.
pub(super) fn run_while(plan: &Plan, running: Running, go_on: &(impl Fn() -> bool + Sync)) -> Result<Vec<Point>> {
    let mut tasks = Vec::new();
    for point in 0..plan.points() {
        tasks.extend(plan.seeds(point)?.into_iter().map(|seed| SimulationTask { point, seed }));
    }
    let workers = if running.workers == 0 { affinity::allowed().len() as u32 } else { running.workers };
    let progress = Mutex::new(Progress::new(plan.name(), tasks.len(), running.quiet));
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let body = |_, _| {
        let mut done: Vec<(usize, Result<Ran>)> = Vec::new();
        while let Some((number, task)) = take(&tasks, &next).filter(|_| go_on() && !failed.load(Ordering::Relaxed)) {
            let labels: Vec<String> = plan.labels(task.point).into_iter().map(|(_, label)| label).collect();
            progress.lock().expect("nobody panics while showing progress").step(&labels.join(" "));
            match simulate(plan, task, go_on) {
                Ok(ran) if ran.smp().is_some_and(|(_, outcome)| outcome.interrupted) => break,
                ran => {
                    failed.fetch_or(ran.is_err(), Ordering::Relaxed);
                    done.push((number, ran));
                }
            }
        }
        done
    };
    // A simulation never waits, so a worker a processor is enough; the kernel places them.
    let done = foregather_thread::run(workers.clamp(1, tasks.len().max(1) as u32), |_| None, body)?;
    drop(progress);
    let mut done: Vec<_> = done.into_iter().flatten().collect();
    done.sort_by_key(|(number, _)| *number);
    let mut points: Vec<Point> =
        (0..plan.points()).map(|number| Point { number, labels: plan.labels(number), runs: vec![] }).collect();
    for (number, ran) in done {
        points[tasks[number].point].runs.push(ran?);
    }
    Ok(points)
}

fn take<'a>(tasks: &'a [SimulationTask], next: &AtomicUsize) -> Option<(usize, &'a SimulationTask)> {
    let number = next.fetch_add(1, Ordering::Relaxed);
    tasks.get(number).map(|task| (number, task))
}

fn simulate(plan: &Plan, task: &SimulationTask, go_on: &impl Fn() -> bool) -> Result<Ran> {
    let played = match plan.study(task.point, task.seed)? {
        Study::Smp(study) => {
            let outcome = smp::run(&study, go_on).map_err(|error| anyhow!("{}: {error}", plan.name()))?;
            RunResult::Smp(study, Box::new(outcome))
        }
        Study::Network(study) => {
            let outcome = study.run().with_context(|| plan.name())?;
            let summary = Summary::of(&study, &outcome);
            RunResult::Network(study, summary)
        }
    };
    Ok(Ran { seed: task.seed, played })
}
