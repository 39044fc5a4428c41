//! Looks at a program and its processes, as often as a budget of processor time allows.
use super::hides_calls;
use super::samples::SampleReader;
use foregather_host::watched::page::{self, SamplingState, WatchPage};
use foregather_host::watched::program::{self, ProgramFacts};
use foregather_host::watched::surroundings::{self, Competitor, CompetitorTimes, ProcessTime, SurroundingsReading};
use foregather_host::watched::switches::SwitchWatch;
use foregather_host::watched::task::{self, TaskReader};
use foregather_host::{affinity, cgroup, facts, sched, usage};
use foregather_machine::{CpuId, Nanos};
use foregather_watch::{EpisodeTally, Ledger, Observation, SwitchTally};
use std::collections::{BTreeMap, BTreeSet};

/// Looks are at least this far apart.
const SHORTEST: Nanos = Nanos::from_ms(10);
const LONGEST: Nanos = Nanos::from_ms(1_000);
/// Of one processor, watching takes this part, after a credit: short programs are looked at as often as long
/// ones. With the start of this command both are half a percent of one processor from 10 s on.
const BUDGET: u64 = 400;
const CREDIT: Nanos = Nanos::from_ms(15);
/// The first look at what changes seldom, and the longest time between two of them: one takes
/// several times as long as a look.
const FIRST_FACTS: Nanos = Nanos::from_ms(30);
const FACTS_APART: Nanos = Nanos::from_ms(4_000);
/// The least time between two counts of what other programs use, which see processes that exit. They take at
/// most half of the budget.
const COUNTS_APART: Nanos = Nanos::from_ms(100);

pub(super) struct Watcher {
    root: u32,
    page: Option<WatchPage>,
    command: Option<String>,
    reader: TaskReader,
    ledger: Ledger,
    /// `None` if no samples are wanted.
    samples: Option<SampleReader>,
    /// `None` if the kernel does not show switches.
    switches: Option<(SwitchWatch, SwitchTally)>,
    programs: BTreeMap<u32, ProgramFacts>,
    siblings: BTreeSet<u32>,
    /// Processes that were compared with the program, and their names at that time.
    compared: BTreeMap<u32, [u8; 16]>,
    family: Vec<u32>,
    before: SurroundingsReading,
    competitors: CompetitorTimes,
    next_count: Nanos,
    throttling: Option<cgroup::Throttling>,
    quota: Option<f64>,
    usable: Vec<CpuId>,
    /// Processor times of the machine at the first look and at the last one.
    loads: Option<(sched::SystemLoad, sched::SystemLoad)>,
    next_facts: Nanos,
    facts_apart: Nanos,
    /// Pools whose threads have been seen: a new one comes with a library.
    pools: BTreeSet<String>,
    /// The processor time that this thread had used before, and what watching took since then.
    unwatched: Nanos,
    cost: Nanos,
    pub(super) not_seen: Vec<String>,
    /// How long the program took, once it has exited.
    pub(super) ran_for: Option<Nanos>,
}

impl Watcher {
    pub(super) fn new(root: u32, page: Option<WatchPage>, command: Option<String>) -> Self {
        let before = surroundings::read(root);
        let mut not_seen = Vec::new();
        let usable = usable();
        let switches = SwitchWatch::open(&usable).map(|watch| (watch, SwitchTally::default()));
        if switches.is_none() {
            not_seen.push("switches within the kernel (perf_event_open is denied)".to_owned());
        }
        if hides_calls(root) {
            not_seen.push("system calls of sleeping threads: the system hides them".to_owned());
        }
        Self {
            root,
            page,
            command,
            reader: TaskReader::default(),
            ledger: Ledger::default(),
            samples: page.filter(WatchPage::wants_samples).map(|_| SampleReader::new()),
            switches,
            programs: BTreeMap::new(),
            siblings: BTreeSet::from([root]),
            compared: BTreeMap::new(),
            family: vec![root],
            throttling: before.throttling,
            before,
            competitors: CompetitorTimes::since(surroundings::process_times()),
            next_count: page::now() + COUNTS_APART,
            quota: cgroup::quota_of(root),
            usable,
            loads: None,
            next_facts: page::now() + FIRST_FACTS,
            facts_apart: FIRST_FACTS,
            pools: BTreeSet::new(),
            unwatched: usage::thread_cpu(),
            cost: Nanos::ZERO,
            not_seen,
            ran_for: None,
        }
    }

    /// Looks at all threads once.
    pub(super) fn look(&mut self) {
        let at = page::now();
        let recorded = self.page.map(|page| page.threads()).unwrap_or_default();
        let recording: BTreeSet<u32> = recorded.iter().map(|record| record.process).chain(self.family.iter().copied()).collect();
        if let Some((watch, tally)) = &mut self.switches {
            tally.watch(recording.iter().copied());
            watch.take().into_iter().for_each(|record| tally.add(record));
        }
        let readings = self.reader.read(recording.iter().copied());
        // A process that has exited and is not reaped yet still has a thread.
        if readings.iter().all(|reading| reading.state == task::TaskState::Exited) {
            return;
        }
        let known = self.ledger.threads.len();
        let new = recorded.iter().map(|record| &record.pool).filter(|pool| !self.pools.contains(*pool));
        let new: Vec<String> = new.cloned().collect();
        if !new.is_empty() {
            self.next_facts = at;
            self.pools.extend(new);
        }
        self.ledger.add(at, &readings, &recorded);
        self.take_samples();
        if let Ok(load) = sched::load() {
            self.loads = Some((self.loads.map_or(load, |(first, _)| first), load));
        }
        let wants_facts = at >= self.next_facts;
        if wants_facts || at >= self.next_count {
            let began = usage::thread_cpu();
            let times = surroundings::process_times();
            if wants_facts {
                self.look_around(&recording, &times);
                self.next_facts = page::now() + self.facts_apart;
                self.facts_apart = Nanos(self.facts_apart.0 * 8).min(FACTS_APART);
            }
            self.count_others(times);
            let cost = usage::thread_cpu() - began;
            self.next_count = page::now() + Nanos(cost.0.saturating_mul(2 * BUDGET)).max(COUNTS_APART);
        }
        if !wants_facts && self.ledger.threads.len() != known {
            self.note_threads(|account| account.facts.is_none());
        }
        self.cost = usage::thread_cpu() - self.unwatched;
    }

    /// How long to pause after a look. Pauses differ, so that looks do not keep step with the program.
    pub(super) fn pause(&self) -> Nanos {
        let paid_until = Nanos((self.cost - CREDIT).0.saturating_mul(BUDGET));
        let pause = (paid_until - self.ledger.elapsed()).max(SHORTEST).min(LONGEST);
        let part = (self.ledger.looks * 618 + 300) % 1_000;
        Nanos(pause.0 * (700 + part * 6 / 10) / 1_000)
    }

    fn take_samples(&mut self) {
        if let Some((samples, page)) = self.samples.as_mut().zip(self.page) {
            samples.take(page);
        }
    }

    /// What hindered samples so far.
    pub(super) fn sampling_state(&self) -> SamplingState {
        self.page.map(|page| page.sampling_state()).unwrap_or_default()
    }

    /// Looks at what changes seldom.
    fn look_around(&mut self, recording: &BTreeSet<u32>, times: &BTreeMap<u32, ProcessTime>) {
        let own = std::process::id();
        self.family = surroundings::family(self.root, times);
        // The program may have started this command to be watched.
        self.family.retain(|&process| process != own);
        for &process in self.family.iter().chain(recording) {
            // What is known of a process that has exited stays: there is nothing left to read.
            if let Some(facts) = program::read(process).filter(|_| program::is_running(process)) {
                self.programs.insert(process, facts);
            }
        }
        if program::is_running(self.root) {
            self.find_siblings(times);
            self.throttling_now();
        }
        // New threads have been noted already.
        let is_first = self.facts_apart == FIRST_FACTS;
        self.note_threads(|account| !is_first || account.facts.is_none());
    }

    /// Compares other processes with the program, each until it executes another file.
    fn find_siblings(&mut self, times: &BTreeMap<u32, ProcessTime>) {
        let mut names: BTreeMap<u32, [u8; 16]> = times.iter().map(|(&process, time)| (process, time.name)).collect();
        core::mem::swap(&mut self.compared, &mut names);
        let is_new = |process: &u32| names.get(process) != self.compared.get(process);
        let all = is_new(&self.root);
        let candidates = self.compared.keys().copied().filter(|process| all || is_new(process));
        self.siblings.extend(program::same_programs(self.root, candidates));
    }

    fn count_others(&mut self, times: BTreeMap<u32, ProcessTime>) {
        let (own, root, programs) = (std::process::id(), self.root, &self.programs);
        let is_ours = |process: u32| process == own || process == root || programs.contains_key(&process);
        self.competitors.add(times, is_ours);
    }

    fn throttling_now(&mut self) {
        if let Some(now) = cgroup::throttling_of(self.root) {
            self.throttling = Some(now);
            // The program may have been moved into a group after it was started.
            self.before.throttling.get_or_insert(now);
            self.quota = cgroup::quota_of(self.root);
        }
    }

    fn note_threads(&mut self, wants: impl Fn(&foregather_watch::ThreadAccount) -> bool) {
        let wanted: Vec<_> = self
            .ledger
            .alive()
            .filter(|account| wants(account))
            .map(|account| (account.last.process, account.last.thread))
            .collect();
        for (process, thread) in wanted {
            if let Some(facts) = task::read_facts(process, thread) {
                self.ledger.note(thread, facts);
            }
        }
    }

    /// All that was seen, and what could not be.
    pub(super) fn finish(mut self) -> (Observation, Vec<String>) {
        self.throttling_now();
        self.take_samples();
        let recorded = self.page.map(|page| page.all_threads()).unwrap_or_default();
        self.ledger.settle(&recorded);
        let mut episodes = EpisodeTally::default();
        recorded.iter().for_each(|thread| episodes.add(thread));
        if self.ledger.threads.is_empty() {
            self.not_seen.push("all threads: /proc is not mounted, or shows no processes of this user".to_owned());
        }
        let after = surroundings::read(self.root);
        self.count_others(surroundings::process_times());
        // Those of the time that the ledger covers: the program may have run on after the last look.
        let (earlier, load) = self.loads.unwrap_or((self.before.load, after.load));
        let load = sched::SystemLoad {
            steal: load.steal - earlier.steal,
            busy: load.busy - earlier.busy,
            idle: load.idle - earlier.idle,
            ..load
        };
        let throttling = self.throttling.zip(self.before.throttling).map(|(now, before)| cgroup::Throttling {
            periods: now.periods.saturating_sub(before.periods),
            throttled: now.throttled.saturating_sub(before.throttled),
            stopped: now.stopped - before.stopped,
        });
        let mut competitors = self.competitors.finish();
        let instead = self.switches.map(|(_, tally)| run_instead(&tally, &mut competitors, &mut self.not_seen));
        let mut programs: Vec<ProgramFacts> = self.programs.into_values().collect();
        programs.sort_by_key(|program| (program.process != self.root, program.process));
        let seen = Observation {
            ledger: self.ledger,
            episodes,
            creations: self.page.map(|page| page.creations()),
            programs,
            siblings: self.siblings,
            usable: self.usable,
            quota: self.quota,
            throttling,
            load,
            pressure: after.pressure.zip(self.before.pressure).map(|(after, before)| after - before),
            competitors,
            instead,
            command: self.command,
            python: None,
            samples: self.samples.map(SampleReader::finish),
            ran_for: self.ran_for,
        };
        (seen, self.not_seen)
    }
}

/// How long each process ran in place of waiting threads. Those that lived too shortly to be counted join the
/// competitors.
fn run_instead(tally: &SwitchTally, competitors: &mut Vec<Competitor>, not_seen: &mut Vec<String>) -> BTreeMap<u32, Nanos> {
    if tally.lost > 0 {
        not_seen.push("some switches within the kernel: there were too many at once".to_owned());
    }
    let own = std::process::id();
    for (process, cpu, last_cpu, name) in tally.instead().filter(|(process, ..)| *process != own) {
        if !competitors.iter().any(|other| other.process == process) {
            let has_exited = !program::is_running(process);
            let name = program::name(process).or_else(|| name.map(str::to_owned));
            let name = name.unwrap_or_else(|| "a process that has exited".to_owned());
            competitors.push(Competitor { process, name, cpu, last_cpu, has_exited });
        }
    }
    tally.instead().map(|(process, time, ..)| (process, time)).collect()
}

/// The processors of the cpuset, else those that are online.
fn usable() -> Vec<CpuId> {
    cgroup::cpuset().unwrap_or_else(|| {
        let own = affinity::allowed();
        let online: Vec<CpuId> = (0..facts::online()).collect();
        if own.len() > online.len() { own } else { online }
    })
}
