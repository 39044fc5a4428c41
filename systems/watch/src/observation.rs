//! All that was seen of one program.
use crate::{EpisodeTally, Ledger, PythonLines, SampleTally, SampledFunction, SampledUse, ThreadAccount};
use foregather_host::cgroup::Throttling;
use foregather_host::sched::SystemLoad;
use foregather_host::watched::page::{Creations, ThreadActivity};
use foregather_host::watched::program::ProgramFacts;
use foregather_host::watched::surroundings::Competitor;
use foregather_machine::{CpuId, Nanos};
use std::collections::{BTreeMap, BTreeSet};

/// A program, as it was seen for some time.
#[derive(Clone, Debug, Default)]
pub struct Observation {
    /// Its threads and those of the processes that it started.
    pub ledger: Ledger,
    /// Its barriers, as far as the preload library saw them.
    pub episodes: EpisodeTally,
    /// What the preload library counted; `None` if it was not there.
    pub creations: Option<Creations>,
    /// Its processes, the first one first.
    pub programs: Vec<ProgramFacts>,
    /// Processes of the same user and the same file as the first one, it included.
    pub siblings: BTreeSet<u32>,
    /// The processors of the cpuset, else all that are online.
    pub usable: Vec<CpuId>,
    /// How many processors' worth of time the control groups allow.
    pub quota: Option<f64>,
    /// Its throttling while it was watched.
    pub throttling: Option<Throttling>,
    /// Processor times of the machine while it was watched.
    pub load: SystemLoad,
    /// How long some thread of the machine was ready without a processor (PSI); `None` if the kernel does not
    /// count.
    pub pressure: Option<Nanos>,
    /// Other programs that ran meanwhile, the busiest first.
    pub competitors: Vec<Competitor>,
    /// How long each of them ran on a processor while a preempted thread waited for that processor; `None` if
    /// the kernel does not show switches.
    pub instead: Option<BTreeMap<u32, Nanos>>,
    /// How the user started it: what a cure is put before. `None` for a program that was already running.
    pub command: Option<String>,
    /// The lines of Python that were seen; `None` if no thread looked.
    pub python: Option<PythonLines>,
    /// The code that threads executed; `None` if no samples were taken.
    pub samples: Option<SampleTally<SampledFunction>>,
    /// How long it took from its start to its exit; `None` if that was not seen.
    pub ran_for: Option<Nanos>,
}

/// The time of all threads, by how it was spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpentTimes {
    /// On a processor, in the program's own code or in parts of regions; spins that nothing shows, too.
    pub work: Nanos,
    /// On a processor, waiting for others in an open region or at a barrier.
    pub spun: Nanos,
    /// On a processor, as an idle worker of a runtime.
    pub idle_spun: Nanos,
    /// Ready without a processor.
    pub ready: Nanos,
    /// Asleep until the last member arrives.
    pub late: Nanos,
    /// Waiting for mutexes.
    pub lock: Nanos,
    /// Asleep for all other reasons: not counted as waits.
    pub other: Nanos,
}

impl SpentTimes {
    /// The time in which threads worked or waited for each other or for a processor.
    pub fn total(&self) -> Nanos {
        self.work + self.lost()
    }

    /// The part of [`SpentTimes::total`] that is no work.
    pub fn lost(&self) -> Nanos {
        self.spun + self.idle_spun + self.ready + self.late + self.lock
    }

    /// The times of one thread.
    pub fn of(account: &ThreadAccount) -> Self {
        let during = |activity| account.during(activity);
        let (own, part) = (during(ThreadActivity::Own), during(ThreadActivity::Part));
        let (arrived, idle) = (during(ThreadActivity::Arrived), during(ThreadActivity::Idle));
        let (lock, condition) = (during(ThreadActivity::Lock), during(ThreadActivity::Condition));
        let elsewhere = [own, part, idle, condition].into_iter().fold(Nanos::ZERO, |sum, each| sum + each.asleep + each.device);
        Self {
            work: own.ran + part.ran + condition.ran,
            spun: arrived.ran,
            idle_spun: idle.ran,
            ready: account.total.ready,
            late: arrived.asleep + arrived.device,
            lock: lock.ran + lock.asleep,
            other: elsewhere,
        }
    }

    /// Moves the shares of work that samples have shown to be spins and waits for locks.
    #[must_use]
    fn with_waits(self, is_worker: bool, spins: f64, locks: f64) -> Self {
        let part = |share: f64| Nanos((self.work.0 as f64 * share) as u64);
        let (spun, locked) = (part(spins), part(locks));
        let (idle, busy) = if is_worker { (spun, Nanos::ZERO) } else { (Nanos::ZERO, spun) };
        let work = self.work - spun - locked;
        Self { work, spun: self.spun + busy, idle_spun: self.idle_spun + idle, lock: self.lock + locked, ..self }
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            work: self.work + other.work,
            spun: self.spun + other.spun,
            idle_spun: self.idle_spun + other.idle_spun,
            ready: self.ready + other.ready,
            late: self.late + other.late,
            lock: self.lock + other.lock,
            other: self.other + other.other,
        }
    }
}

impl Observation {
    /// How long was watched.
    pub fn elapsed(&self) -> Nanos {
        self.ledger.elapsed()
    }

    /// Returns whether the preload library recorded anything.
    pub fn has_records(&self) -> bool {
        self.ledger.threads.values().any(|account| account.recorded.is_some())
    }

    /// All threads' times.
    pub fn spent(&self) -> SpentTimes {
        self.ledger.threads.values().map(|account| self.spent_by(account)).fold(SpentTimes::default(), SpentTimes::plus)
    }

    /// The times of one thread. A worker of a pool that spins where no wrapped function surrounds it has no
    /// work; another thread waits for such workers.
    pub fn spent_by(&self, account: &ThreadAccount) -> SpentTimes {
        let spent = SpentTimes::of(account);
        let Some(samples) = &self.samples else { return spent };
        let share = |uses: &[SampledUse]| samples.share(account.last.thread, uses);
        let is_worker = account.recorded.as_ref().is_some_and(|record| !record.pool.is_empty());
        spent.with_waits(is_worker, share(&SampledUse::SPINS), share(&[SampledUse::Lock]))
    }

    /// How long the program took, as far as that is known: looks end a moment before it exits.
    pub fn lasted(&self) -> Nanos {
        self.ran_for.unwrap_or(self.elapsed())
    }

    /// The mean number of threads that ran.
    pub fn parallelism(&self) -> f64 {
        self.per_elapsed(self.ledger.threads.values().fold(Nanos::ZERO, |sum, account| sum + account.total.ran))
    }

    /// The mean number of threads that ran or were ready to.
    pub fn demand(&self) -> f64 {
        self.per_elapsed(self.ledger.threads.values().fold(Nanos::ZERO, |sum, account| sum + account.wanted()))
    }

    /// A time as a share of the time that was watched.
    pub fn per_elapsed(&self, time: Nanos) -> f64 {
        time.0 as f64 / self.elapsed().0.max(1) as f64
    }

    /// The threads that wanted a processor for a fifth of the time or more.
    pub fn busy(&self) -> impl Iterator<Item = &ThreadAccount> {
        self.ledger.threads.values().filter(|account| self.per_elapsed(account.wanted()) >= 0.2)
    }

    /// The processors on which its busy threads may run.
    pub fn allowed(&self) -> BTreeSet<CpuId> {
        let masks = self.busy().filter_map(|account| account.facts.as_ref());
        let allowed: BTreeSet<CpuId> = masks.flat_map(|facts| facts.allowed.iter().copied()).collect();
        if allowed.is_empty() { self.usable.iter().copied().collect() } else { allowed }
    }

    /// The largest number of threads that can run at once: by masks and quota, rounded up.
    pub fn processors(&self) -> u32 {
        let allowed = self.allowed().len().max(1) as f64;
        self.quota.map_or(allowed, |quota| allowed.min(quota)).ceil() as u32
    }

    /// The processes of other programs, the busiest first.
    pub fn others(&self) -> impl Iterator<Item = &Competitor> {
        self.competitors.iter().filter(|other| !self.siblings.contains(&other.process))
    }

    /// Mean processors that other programs used. If some of them exited, what they used after they were seen
    /// last counts, too.
    pub fn foreign(&self) -> f64 {
        let used = self.per_elapsed(self.others().fold(Nanos::ZERO, |sum, other| sum + other.cpu));
        if self.others().any(|other| other.has_exited) { used + self.hidden() } else { used }
    }

    /// Mean processors that were used, and not by processes that can be seen.
    pub fn hidden(&self) -> f64 {
        let seen = self.competitors.iter().fold(Nanos::ZERO, |sum, other| sum + other.cpu);
        let own = self.ledger.threads.values().fold(Nanos::ZERO, |sum, account| sum + account.total.ran);
        self.per_elapsed(self.load.busy - seen - own)
    }

    /// The runtimes of its processes, each once. A test run, for example, has them in its workers alone.
    pub fn runtimes(&self) -> Vec<&str> {
        let mut found: Vec<&str> = Vec::new();
        for runtime in self.programs.iter().flat_map(|program| &program.runtimes) {
            if !found.contains(&runtime.as_str()) {
                found.push(runtime);
            }
        }
        found
    }

    /// The settings with which its processes were started, each name once, as the first process has it.
    pub fn settings(&self) -> Vec<(&str, &str)> {
        let mut found: Vec<(&str, &str)> = Vec::new();
        for (name, value) in self.programs.iter().flat_map(|program| &program.settings) {
            if !found.iter().any(|(known, _)| known == name) {
                found.push((name, value));
            }
        }
        found
    }

    /// Returns whether the program gives the number of threads of its regions, which a variable for the usual
    /// number does not change.
    pub fn sizes_regions(&self) -> bool {
        self.ledger.threads.values().filter_map(|account| account.recorded.as_ref()).any(|record| record.counts.sized > 0)
    }

    /// Returns whether its threads recorded what they did, and none of them had a part in a parallel region.
    pub fn has_no_regions(&self) -> bool {
        use ThreadActivity::{Arrived, Idle, Part};
        let recorded: Vec<_> = self.ledger.threads.values().filter_map(|account| account.recorded.as_ref()).collect();
        let has_region = recorded
            .iter()
            .any(|record| record.counts.regions + record.counts.parts > 0 || matches!(record.activity, Part | Arrived | Idle));
        !recorded.is_empty() && !has_region
    }

    /// Returns whether a runtime is mapped in one of its processes.
    pub fn uses(&self, runtime: &str) -> bool {
        self.runtimes().contains(&runtime)
    }

    /// Returns whether one of its processes was started with a setting.
    pub fn has_setting(&self, name: &str) -> bool {
        self.settings().iter().any(|(known, _)| *known == name)
    }

    /// The name of a thread's pool, as a reader knows it: the library without versions and addresses.
    pub fn pool_name(&self, pool: &str) -> String {
        let library = pool.split_once('+').map_or(pool, |(library, _)| library);
        let stem = library.split_once(".so").map_or(library, |(stem, _)| stem);
        let own = self.programs.iter().any(|program| program.name == library);
        if own { format!("{library} itself") } else { stem.split_once("-").map_or(stem, |(stem, _)| stem).to_owned() }
    }
}
