//! One simulation: its description and its outcome.
use super::counts::{Counts, Split};
use super::eevdf::Eevdf;
use super::job::Job;
use super::options::{MachineSpec, Scheduler};
use super::record::{Record, Recorded};
use foregather_machine::Nanos;
use foregather_wait::Snapshot;

/// A simulation to run.
#[derive(Clone, Debug)]
pub struct Study {
    /// The machine that it runs on.
    pub machine: MachineSpec,
    /// The jobs that run on it; the first is the one that samples and windows are about.
    pub jobs: Vec<Job>,
    /// What ends it.
    pub stop: Stop,
    /// The moment at which it ends in any case.
    pub limit: Nanos,
    /// Decides the initial order of the threads, where they ran last, and what they draw.
    pub seed: u64,
    /// Whether the threads are initially queued in random order, instead of job by job.
    pub shuffled: bool,
    /// What to write down beside the sums.
    pub record: Record,
}

/// What ends a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stop {
    /// The first job has met for the last time.
    FirstJob,
    /// All jobs that meet have met for the last time.
    AllJobs,
    /// The limit has come.
    Limit,
}

/// The results of a simulation.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// When it ended.
    pub time: Nanos,
    /// How many events it had.
    pub events: u64,
    /// A hash of all events in order: the same for the same study, whatever the queue.
    pub trace: u64,
    /// Whether the caller stopped it.
    pub interrupted: bool,
    /// The results of each job, in their order.
    pub jobs: Vec<JobOutcome>,
    /// The processors' time by use.
    pub split: Split,
    /// What the scheduler did, and how often.
    pub counts: Counts,
    /// Threads that ran or could have, on average (the effective load).
    pub effective_load: f64,
    /// Time during which a processor was idle although a thread was ready.
    pub idle_while_ready: Nanos,
    /// What the study asked to be written down.
    pub recorded: Recorded,
}

/// The results of one job.
#[derive(Clone, Debug)]
pub struct JobOutcome {
    /// Its barrier episodes. For a job with a lock, how often each thread took it, on average and rounded
    /// down; for a program, how often its threads completed it, in all.
    pub met: u64,
    /// How often its threads took their lock, in all; 0 without a lock.
    pub acquisitions: u64,
    /// When it met for the last time, or when its last thread released the lock for the last time, if it did.
    pub finished: Option<Nanos>,
    /// When the job had met as often as it should: extrapolated if it did not finish; infinite if it never
    /// met. In nanoseconds.
    pub elapsed_ns: f64,
    /// All waits of all its threads.
    pub waits: Snapshot,
    /// What its threads did on their processors; `idle` is the time they were ready, `switch` is zero.
    pub split: Split,
    /// How success and failure of a thread's spins follow each other.
    pub alternation: Alternation,
}

/// Transitions between the outcomes of a thread's consecutive spins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Alternation {
    /// From success to: success, failure.
    pub after_success: [u64; 2],
    /// From failure to: success, failure.
    pub after_failure: [u64; 2],
}

impl Alternation {
    /// The mean of the shares of failures after a success and of successes after a failure: 1 if they
    /// alternate strictly, 1/2 if they are independent, 0 if they never change (Tsafrir & Feitelson 2002 §3).
    pub fn index(&self) -> f64 {
        let share = |of: u64, all: [u64; 2]| of as f64 / (all[0] + all[1]).max(1) as f64;
        (share(self.after_success[1], self.after_success) + share(self.after_failure[0], self.after_failure)) / 2.0
    }
}

impl JobOutcome {
    /// The successful-spin rate in percent; `None` if nothing span.
    pub fn ssr_percent(&self) -> Option<f64> {
        self.waits.successful_spin_rate().map(|rate| rate * 100.0)
    }
}

/// A study of more threads than this is refused as a mistake.
const MOST_THREADS: u32 = 1 << 20;

impl Study {
    /// Checks that the study can be run.
    ///
    /// # Errors
    /// What is wrong, and what would be right.
    pub fn check(&self) -> Result<(), String> {
        let machine = &self.machine;
        if machine.cpus == 0 || machine.cpus > MachineSpec::MOST_CPUS {
            return Err(format!("a machine of {} processors: it must have 1 to {}", machine.cpus, MachineSpec::MOST_CPUS));
        }
        if machine.resolution == Nanos::ZERO {
            return Err("a resolution of zero: durations are multiples of it".into());
        }
        if machine.prices.yield_call == Nanos::ZERO {
            return Err("a yield that costs nothing would last forever: give yield-call a price".into());
        }
        let threads: u64 = self.jobs.iter().map(|job| u64::from(job.threads)).sum();
        if threads == 0 || threads > u64::from(MOST_THREADS) {
            return Err(format!("{threads} threads: there must be 1 to {MOST_THREADS}"));
        }
        let meets = self.jobs.iter().any(Job::meets);
        if (self.stop == Stop::Limit || !meets) && self.limit == Nanos::MAX {
            return Err("a study that never ends: no job meets and there is no limit".into());
        }
        self.jobs.iter().try_for_each(|job| self.check_job(job))?;
        match &machine.scheduler {
            Scheduler::RoundRobin(rules) if rules.quantum == Nanos::ZERO => Err("a quantum of zero".into()),
            Scheduler::Linux24(rules) if rules.tick == Nanos::ZERO => Err("a tick of zero".into()),
            Scheduler::Linux24(rules) if rules.allocation_ticks == 0 => Err("an allocation of zero ticks".into()),
            Scheduler::Eevdf(rules) => rules.check(machine.cpus),
            _ => Ok(()),
        }
    }

    fn check_job(&self, job: &Job) -> Result<(), String> {
        let name = &job.name;
        if job.threads == 0 {
            return Err(format!("job `{name}` has no threads"));
        }
        if job.pins.iter().any(Vec::is_empty) {
            return Err(format!("job `{name}` has a thread that may run on no processor: name one, or pin no thread"));
        }
        if let Some(pin) = job.pins.iter().flatten().find(|&&pin| pin >= self.machine.cpus) {
            return Err(format!("job `{name}` is pinned to processor {pin}: the machine has 0 to {}", self.machine.cpus - 1));
        }
        if let Some(cpu) = job.start.iter().find(|&&cpu| cpu >= self.machine.cpus) {
            return Err(format!("job `{name}` starts on processor {cpu}: the machine has 0 to {}", self.machine.cpus - 1));
        }
        if !(-20..=19).contains(&job.nice) {
            return Err(format!("job `{name}` has nice {}: it goes from -20 to 19", job.nice));
        }
        if job.slice.is_some_and(|slice| !(Eevdf::LEAST_SLICE..=Eevdf::MOST_SLICE).contains(&slice)) {
            return Err(format!("job `{name}` has a slice out of bounds: {} to {}", Eevdf::LEAST_SLICE, Eevdf::MOST_SLICE));
        }
        let groups = match &self.machine.scheduler {
            Scheduler::Eevdf(rules) => rules.groups.len(),
            _ => 0,
        };
        if job.group.is_some_and(|group| group as usize >= groups) {
            return Err(format!("job `{name}` runs in a group that the scheduler does not have"));
        }
        if let Some(lock) = &job.lock {
            lock.check().map_err(|what| format!("job `{name}` {what}"))?;
        }
        job.kind.takes(job.threads).map_err(|error| format!("job `{name}`: {error}"))?;
        if job.meets() && job.rest.is_some() {
            return Err(format!("job `{name}` meets at barriers and rests: only load rests"));
        }
        let sound = job.compute.is_sound(job.meets() || job.rest.is_some());
        let sound = sound && job.rest.as_ref().is_none_or(|rest| rest.is_sound(true));
        let sound = sound && job.gap.as_ref().is_none_or(|gap| job.meets() && gap.is_sound(true));
        if sound { Ok(()) } else { Err(format!("job `{name}` computes for impossible times: {:?}", job.compute)) }
    }
}
