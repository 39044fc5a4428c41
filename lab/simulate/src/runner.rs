//! Runs a plan: every point with every seed, on all processors that this process may use. The results do not
//! depend on how many those are.
use super::network::{self, Interconnect, StudySummary};
use super::plan::{Labels, Plan, Study};
use anyhow::{Context, Result, anyhow};
use foregather_host::{affinity, interrupt};
use foregather_results::progress::ProgressMeter;
use foregather_sim::smp::{self, Outcome};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The results of one combination of choices.
pub struct Point {
    /// Its number in the plan.
    pub number: usize,
    /// The names of its choices.
    pub labels: Labels,
    /// One run a seed, in the order of the plan; interrupted runs are missing.
    pub runs: Vec<Ran>,
}

/// One simulation that came to its end.
pub struct Ran {
    /// The seed that it was run with.
    pub seed: u64,
    /// What was simulated, with the results.
    pub played: RunResult,
}

/// A study with its results.
pub enum RunResult {
    /// A study of processors that threads share.
    Smp(Box<smp::Study>, Box<Outcome>),
    /// A study of nodes that exchange messages, with what is kept of its trials.
    Network(Box<network::Study<Interconnect>>, StudySummary),
}

impl Ran {
    /// The study of processors and its results, if it is one.
    pub fn smp(&self) -> Option<(&smp::Study, &Outcome)> {
        if let RunResult::Smp(study, outcome) = &self.played { Some((study, outcome)) } else { None }
    }

    /// The study of a network and its summary, if it is one.
    pub fn network(&self) -> Option<(&network::Study<Interconnect>, &StudySummary)> {
        if let RunResult::Network(study, summary) = &self.played { Some((study, summary)) } else { None }
    }
}

/// How a plan is run.
#[derive(Clone, Copy, Debug)]
pub struct RunnerSettings {
    /// How many simulations run at the same time; 0: as many as there are processors for.
    pub workers: u32,
    /// Whether no progress is written to standard error.
    pub quiet: bool,
}

/// One simulation to do.
struct SimulationTask {
    point: usize,
    seed: u64,
}

/// Runs all of a plan until it is interrupted: then the points have the runs that came to their end.
///
/// # Errors
/// If a simulation cannot be run, or no thread can be made.
pub fn run(plan: &Plan, running: RunnerSettings) -> Result<Vec<Point>> {
    run_while(plan, running, &|| !interrupt::requested())
}

/// Runs a plan like [`run`], while `go_on` says so.
pub(super) fn run_while(plan: &Plan, running: RunnerSettings, go_on: &(impl Fn() -> bool + Sync)) -> Result<Vec<Point>> {
    let mut tasks = Vec::new();
    for point in 0..plan.points() {
        tasks.extend(plan.seeds(point)?.into_iter().map(|seed| SimulationTask { point, seed }));
    }
    let workers = if running.workers == 0 { affinity::allowed().len() as u32 } else { running.workers };
    let progress = Mutex::new(ProgressMeter::new(plan.name(), tasks.len(), running.quiet));
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
    // A simulation never waits, so one worker a processor is enough; the kernel places them.
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
            let summary = StudySummary::of(&study, &outcome);
            RunResult::Network(study, summary)
        }
    };
    Ok(Ran { seed: task.seed, played })
}
