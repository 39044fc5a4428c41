//! The numbers that a simulation of processors gives, each by its name: figures show them. Those of networks
//! are `network::METRICS`.
use super::network::StudySummary;
use foregather_machine::Nanos;
use foregather_sim::smp::{Alternation, Job, JobOutcome, Outcome, Study, transition};
use foregather_wait::{Policy, Snapshot};

/// A window counts as in step from this rate of successful spins on.
const IN_STEP_PERCENT: f64 = 95.0;

/// One run, seen for some of its jobs.
#[derive(Clone, Copy)]
pub struct Seen<'a> {
    /// What was simulated.
    pub study: &'a Study,
    /// The results of the run.
    pub outcome: &'a Outcome,
    /// The name of the jobs that are looked at; `None`: all that meet.
    pub of: Option<&'a str>,
    /// The same jobs in the run that speedups are over.
    pub over: Option<(&'a Study, &'a Outcome)>,
    /// How long the same jobs took with the choice that was best at this point, and with this one: means over
    /// all seeds, if regrets are over one.
    pub best_and_own_ns: Option<[f64; 2]>,
}

/// A number that a run gives. It is `NaN` for a run that has none such.
pub struct Metric {
    /// Its name in plans.
    pub name: &'static str,
    /// Its name among the figures of a measurement, unit last.
    pub figure: &'static str,
    /// The unit of its values.
    pub unit: &'static str,
    /// What it is, in words.
    pub what: &'static str,
    /// How it is found.
    pub of: Of,
}

/// How a number is found, by the kind of simulation.
#[derive(Clone, Copy)]
pub enum Of {
    /// From a run of processors that threads share.
    Smp(fn(&Seen<'_>) -> f64),
    /// From a run of nodes that exchange messages.
    Network(fn(&StudySummary) -> f64),
}

/// One run, of either kind.
pub enum View<'a> {
    /// A run of processors that threads share.
    Smp(Seen<'a>),
    /// A run of nodes that exchange messages.
    Network(&'a StudySummary),
}

impl Metric {
    /// The number of a run; `NaN` if the run has none such.
    pub fn value(&self, run: &View<'_>) -> f64 {
        match (self.of, run) {
            (Of::Smp(of), View::Smp(seen)) => of(seen),
            (Of::Network(of), View::Network(summary)) => of(summary),
            _ => f64::NAN,
        }
    }
}

const fn metric(
    name: &'static str,
    figure: &'static str,
    unit: &'static str,
    what: &'static str,
    of: fn(&Seen<'_>) -> f64,
) -> Metric {
    Metric { name, figure, unit, what, of: Of::Smp(of) }
}

/// All numbers of processors that threads share.
pub static METRICS: [Metric; 30] = [
    metric("ssr", "ssr_percent", "%", "spins that succeeded", |s| {
        s.waits().successful_spin_rate().map_or(f64::NAN, |r| r * 100.0)
    }),
    metric("elapsed", "elapsed_us", "us", "mean time until a job had met as often as it should", |s| s.elapsed_ns() / 1e3),
    metric("speedup", "speedup", "times", "how many times sooner jobs ended than with another choice", |s| s.speedup()),
    metric("regret", "regret_share", "regret", "share of its time that the best choice would have saved", |s| {
        // By the mean of all seeds, so that the mean of the best choice's is nothing.
        s.best_and_own_ns.map_or(f64::NAN, |[best, own]| (s.elapsed_ns() - best) / own)
    }),
    metric("barrier-time", "us_per_barrier", "us", "mean time from barrier to barrier", |s| s.barrier_us()),
    metric("compute-share", "compute_share", "share", "processor time that was computed", |s| s.share(s.outcome.split.compute)),
    metric("spin-share", "spin_share", "share", "processor time that was spun away", |s| s.share(s.outcome.split.spin)),
    metric("switch-share", "switch_share", "share", "processor time that went into switches", |s| {
        s.share(s.outcome.split.switch)
    }),
    metric("idle-share", "idle_share", "share", "processor time that nobody used", |s| s.share(s.outcome.split.idle)),
    metric("job-cpu-share", "job_cpu_share", "share", "processor time that these jobs had", |s| s.job_cpu_share()),
    metric("idle-while-ready", "idle_while_ready_share", "share", "time with a processor idle and a thread ready", |s| {
        s.outcome.idle_while_ready.0 as f64 / s.outcome.time.0 as f64
    }),
    metric("threads", "threads", "threads", "threads in all", |s| s.study.jobs.iter().map(|job| f64::from(job.threads)).sum()),
    metric("effective-load", "effective_load", "threads", "threads that ran or could have", |s| s.outcome.effective_load),
    metric("alternation", "alternation", "index", "how strictly success and failure of spins alternate, 0 to 1", |s| {
        s.alternation()
    }),
    metric("transition", "transition_ms", "ms", "when the first job had fallen into step for good", |s| s.transition_ms()),
    metric("barriers", "barriers", "barriers", "how often jobs met, on average", |s| s.met()),
    metric("lock-rate", "acquisitions_per_s", "1/s", "how often locks were taken in a second", |s| s.lock_rate()),
    metric("lock-wait", "lock_wait_us", "us", "mean wait for a lock", |s| {
        let waits = s.lock_waits();
        waits.waited.as_us() / s.acquisitions()
    }),
    metric("worst-lock-wait", "worst_lock_wait_us", "us", "longest wait for a lock", |s| {
        if s.acquisitions() > 0.0 { s.lock_waits().worst.as_us() } else { f64::NAN }
    }),
    metric("lock-cpu", "lock_cpu_us", "us", "processor time of a job per acquisition of its lock", |s| {
        let used = s.locking().map(|(_, outcome)| (outcome.split.compute + outcome.split.spin).as_us());
        used.sum::<f64>() / s.acquisitions()
    }),
    metric("spin-of-budget", "spin_of_budget", "share", "time spun, of what the policy would have allowed", |s| {
        s.spin_of_budget()
    }),
    metric("switches-per-barrier", "switches_per_barrier", "switches", "switches of all processors per barrier", |s| {
        s.outcome.counts.switches as f64 / s.meeting().map(|(_, o)| o.met as f64).sum::<f64>()
    }),
    metric("switches", "switches", "switches", "switches of all processors", |s| s.outcome.counts.switches as f64),
    metric("migrations", "migrations", "migrations", "threads that ran on another processor than before", |s| {
        s.outcome.counts.migrations as f64
    }),
    metric("wakes", "wakes", "wakes", "threads woken", |s| s.outcome.counts.wakes as f64),
    metric("duplicate-marks", "duplicate_mark_share", "share", "marks of processors that were marked already", |s| {
        s.outcome.counts.duplicate_marks as f64 / s.outcome.counts.marks as f64
    }),
    metric(
        "foreign-marks",
        "foreign_marks",
        "marks",
        "wake-ups that take a processor, not the thread's own, from one that has something left",
        |s| s.outcome.counts.foreign_marks as f64,
    ),
    metric("epochs", "epochs", "epochs", "epochs of Linux 2.4", |s| s.outcome.counts.epochs as f64),
    metric("throttles", "throttles", "times", "quotas used up", |s| s.outcome.counts.throttles as f64),
    metric("events", "events", "events", "events of the simulation", |s| s.outcome.events as f64),
];

/// The metric of that name.
pub fn named(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.name == name)
}

impl<'a> Seen<'a> {
    /// The jobs that are looked at, with their results.
    fn jobs(&self) -> impl Iterator<Item = (&'a Job, &'a JobOutcome)> + use<'a> {
        jobs_of(self.study, self.outcome, self.of)
    }

    /// All jobs that meet, with their results.
    fn meeting(&self) -> impl Iterator<Item = (&'a Job, &'a JobOutcome)> + use<'a> {
        jobs_of(self.study, self.outcome, None)
    }

    /// Those of the jobs that share a lock.
    fn locking(&self) -> impl Iterator<Item = (&'a Job, &'a JobOutcome)> + use<'a> {
        self.jobs().filter(|(job, _)| job.lock.is_some())
    }

    /// How often their locks were taken.
    fn acquisitions(&self) -> f64 {
        self.locking().map(|(_, outcome)| outcome.acquisitions as f64).sum()
    }

    fn lock_waits(&self) -> Snapshot {
        self.locking().fold(Snapshot::default(), |sum, (_, outcome)| sum.plus(outcome.waits))
    }

    /// Acquisitions in a second, each job over the time that it took; `NaN` without a lock.
    fn lock_rate(&self) -> f64 {
        let lasted = |outcome: &JobOutcome| outcome.finished.unwrap_or(self.outcome.time).0 as f64 / 1e9;
        let rate = self.locking().map(|(_, outcome)| outcome.acquisitions as f64 / lasted(outcome)).sum::<f64>();
        if self.locking().next().is_some() { rate } else { f64::NAN }
    }

    fn waits(&self) -> Snapshot {
        self.jobs().fold(Snapshot::default(), |sum, (_, outcome)| sum.plus(outcome.waits))
    }

    pub(super) fn elapsed_ns(&self) -> f64 {
        mean(self.jobs().map(|(_, outcome)| outcome.elapsed_ns))
    }

    fn speedup(&self) -> f64 {
        let Some((study, outcome)) = self.over else { return f64::NAN };
        Seen { study, outcome, ..*self }.elapsed_ns() / self.elapsed_ns()
    }

    fn barrier_us(&self) -> f64 {
        mean(self.jobs().map(|(job, outcome)| outcome.elapsed_ns / job.barriers as f64)) / 1e3
    }

    fn met(&self) -> f64 {
        mean(self.jobs().map(|(_, outcome)| outcome.met as f64))
    }

    /// A part of the time of all processors, as a fraction of 1.
    fn share(&self, part: Nanos) -> f64 {
        part.0 as f64 / self.outcome.split.total().0 as f64
    }

    fn job_cpu_share(&self) -> f64 {
        self.jobs().map(|(_, outcome)| self.share(outcome.split.compute + outcome.split.spin)).sum()
    }

    fn alternation(&self) -> f64 {
        let mut sum = Alternation::default();
        for (_, outcome) in self.jobs() {
            for i in 0..2 {
                sum.after_success[i] += outcome.alternation.after_success[i];
                sum.after_failure[i] += outcome.alternation.after_failure[i];
            }
        }
        if sum == Alternation::default() { f64::NAN } else { sum.index() }
    }

    fn transition_ms(&self) -> f64 {
        let at = transition(&self.outcome.recorded.windows, IN_STEP_PERCENT);
        at.map_or(f64::NAN, |window| window as f64 * self.study.record.window.as_us() / 1e3)
    }

    /// How much of the spin budget was used: only policies that have a bound count.
    fn spin_of_budget(&self) -> f64 {
        let budget_ns = |(job, outcome): (&Job, &JobOutcome)| match job.policy {
            Policy::TwoPhase { spin } | Policy::SpinThenYield { spin } => spin.0 as f64 * outcome.waits.spins_began as f64,
            _ => f64::NAN,
        };
        self.waits().spun_time.0 as f64 / self.jobs().map(budget_ns).sum::<f64>()
    }
}

fn jobs_of<'a>(
    study: &'a Study,
    outcome: &'a Outcome,
    of: Option<&'a str>,
) -> impl Iterator<Item = (&'a Job, &'a JobOutcome)> + use<'a> {
    let all = study.jobs.iter().zip(&outcome.jobs);
    all.filter(move |(job, _)| job.meets() && of.is_none_or(|name| name == job.name))
}

/// The mean; `NaN` if there are no values.
fn mean(all: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = all.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / count
}
