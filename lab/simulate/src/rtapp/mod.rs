//! Workloads of rt-app: threads that run, sleep, lock and wait, described in JSON.
//!
//! - [`is_workload`]: whether a file is meant as one. [`Workload::open`]: reads it.
//! - [`Workload::simulate`]: runs it. [`measurements`], [`table`]: its results.

mod json;
mod names;
mod tasks;
#[cfg(test)]
mod tests;

use crate::plan::{Mistake, machine_of};
use anyhow::{Context, Result, anyhow};
use foregather_host::{interrupt, regular};
use foregather_machine::Nanos;
use foregather_results::Measurement;
use foregather_results::number::digits;
use foregather_results::table::ResultTable;
use foregather_sim::smp::{self, Outcome, Record, Stop, Study};
use std::path::Path;

/// The largest file that is read.
const BYTES_MAX: u64 = 4 << 20;
/// The measurement that is no task.
const DEPARTURES: &str = "how often threads left their processors";
/// A workload without a duration ends after this time in any case.
const LIMIT: Nanos = Nanos::from_ms(3_600_000);

/// Returns whether the name of a file is that of a workload.
pub fn is_workload(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json"))
}

/// What is simulated of a file.
pub struct Workload {
    /// The threads and their machine.
    pub study: Study,
    /// What was left out, by line.
    pub ignored: Vec<String>,
}

impl Workload {
    /// Reads a file for a machine of `cpus` processors with the changes of `set`, whose keys are those of a
    /// plan's `machine`. `ignore` leaves out what is not simulated.
    ///
    /// # Errors
    /// If the file is malformed or has something that is not simulated, with line and remedy.
    pub fn open(path: &Path, cpus: u32, set: &[(String, String)], seed: u64, ignore: bool) -> Result<Self> {
        let name = path.display().to_string();
        let text = regular::read_text(path, BYTES_MAX).with_context(|| format!("cannot read {name}"))?;
        Self::parse(&name, &text, cpus, set, seed, ignore)
    }

    fn parse(name: &str, text: &str, cpus: u32, set: &[(String, String)], seed: u64, ignore: bool) -> Result<Self> {
        let machine = machine_of(cpus, set)?;
        let at = |mistake: Mistake| anyhow!("{name}:{}: {}", mistake.line, mistake.what);
        let tasks = json::parse(text).and_then(|root| tasks::read(&root, machine.cpus, ignore)).map_err(at)?;
        let (jobs, limit) = (tasks.jobs, tasks.duration.unwrap_or(LIMIT));
        let study = Study { machine, jobs, stop: Stop::Limit, limit, seed, shuffled: false, record: Record::NOTHING };
        study.check().map_err(|error| anyhow!("{name}: {error}"))?;
        Ok(Self { study, ignored: tasks.ignored })
    }

    /// Runs the threads until they end or their time is over.
    ///
    /// # Errors
    /// If a thread's wait fails.
    pub fn simulate(&self) -> Result<Outcome> {
        smp::run(&self.study, || !interrupt::requested()).map_err(|error| anyhow!(error))
    }

    /// Its tasks, each with the numbers of its threads.
    fn tasks(&self) -> Vec<(&str, Vec<usize>)> {
        let mut all: Vec<(&str, Vec<usize>)> = Vec::new();
        for (number, job) in self.study.jobs.iter().enumerate() {
            match all.iter_mut().find(|(name, _)| *name == job.name) {
                Some((_, threads)) => threads.push(number),
                None => all.push((&job.name, vec![number])),
            }
        }
        all
    }
}

/// Each task's processor time, with how long its threads were ready and how many rounds they made.
pub fn measurements(name: &str, workload: &Workload, outcome: &Outcome) -> Vec<Measurement> {
    let of = |(task, threads): (&str, Vec<usize>)| {
        let jobs = || threads.iter().map(|&thread| &outcome.jobs[thread]);
        let used = jobs().map(|job| (job.split.compute + job.split.spin).as_us() / 1e3).collect();
        let sum = |of: fn(&smp::JobOutcome) -> f64| jobs().map(of).sum::<f64>();
        let what = format!("{name}: processor time of a thread");
        Measurement::from_values(format!("simulate/{name}/task={task}"), what, "ms", used)
            .label("task", task)
            .figure("ready_ms", sum(|job| job.split.idle.as_us() / 1e3))
            .figure("rounds", sum(|job| job.met as f64))
            .figure("processors", sum(|job| (job.split.compute + job.split.spin).0 as f64) / outcome.time.0.max(1) as f64)
    };
    let left = vec![outcome.counts.departures as f64];
    let left = Measurement::from_values(format!("simulate/{name}/departures"), DEPARTURES, "switches", left);
    workload.tasks().into_iter().map(of).chain([left]).collect()
}

/// The same as a table.
pub fn table(measurements: &[Measurement]) -> ResultTable {
    let mut table = ResultTable::new(["task", "threads", "rounds", "ms of processor time", "ms ready", "processors"]);
    for measured in measurements.iter().filter(|measured| !measured.text("task").is_empty()) {
        let figure = |name: &str| measured.figures.get(name).map_or_else(|| "-".to_owned(), |value| digits(*value, 4));
        let values = measured.values.as_deref().unwrap_or_default();
        let (used, threads) = (values.iter().sum::<f64>(), values.len().to_string());
        let row = [
            measured.text("task").to_owned(),
            threads,
            figure("rounds"),
            digits(used, 4),
            figure("ready_ms"),
            figure("processors"),
        ];
        table.rows.push(row.into());
    }
    table
}
