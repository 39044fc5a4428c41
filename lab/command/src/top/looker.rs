//! Looks at processes or threads, and says what they did since the look before.
use super::picture::{ProcessRow, ThreadRow, TopPicture, counted};
use anyhow::{Result, bail};
use foregather_host::watched::page::{self, RecordedThread, ThreadActivity, WatchPage, lock_name};
use foregather_host::watched::task::{self, SystemCall, TaskFacts, TaskReading, TaskState};
use foregather_host::watched::{processes, program};
use foregather_host::{facts, usage};
use foregather_machine::{Nanos, ThreadId};
use foregather_watch::{Ledger, SpentTimes, ThreadAccount, ThreadSighting};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

const SCHEMA: &str = "foregather.top/1";

/// All that one look found.
#[derive(Default)]
struct Sighting {
    threads: ThreadSighting,
    /// Of the threads of one process.
    facts: BTreeMap<ThreadId, TaskFacts>,
    /// Processes that are there, and of which no thread is shown.
    hidden: Vec<u32>,
}

/// Looks at all processes, or at one.
pub(super) struct Looker {
    process: Option<u32>,
    before: Sighting,
    /// Of each process, by its name: the page that it records into.
    pages: BTreeMap<(u32, String), Option<WatchPage>>,
    mapped: BTreeMap<PathBuf, Option<WatchPage>>,
    /// The processor time of the last look.
    pub(super) cost: Nanos,
}

impl Looker {
    /// Looks for the first time.
    ///
    /// # Errors
    /// If there is no such process, or the system hides it.
    pub(super) fn new(process: Option<u32>) -> Result<Self> {
        let mut looker =
            Self { process, before: Sighting::default(), pages: BTreeMap::new(), mapped: BTreeMap::new(), cost: Nanos::ZERO };
        looker.before = looker.sight();
        match process {
            Some(process) if !looker.before.hidden.is_empty() => {
                bail!("the threads of process {process} are hidden, because it is another user's: run top as that user")
            }
            Some(process) if looker.before.threads.readings.is_empty() => {
                bail!("process {process} is not running here: name one of this pid namespace, and see that /proc is mounted")
            }
            None if looker.before.threads.readings.is_empty() => bail!("no process can be seen: mount /proc"),
            _ => Ok(looker),
        }
    }

    /// Looks again, and says what happened since the look before.
    pub(super) fn look(&mut self) -> TopPicture {
        let began = usage::thread_cpu();
        let after = self.sight();
        let ledger = Ledger::between(&self.before.threads, &after.threads);
        let mut not_seen = Vec::new();
        let processes = process_rows(&ledger, &after, &mut not_seen);
        let threads = if self.process.is_some() { thread_rows(&ledger, &self.before, &after) } else { Vec::new() };
        if let Some(process) = self.process.filter(|_| processes.is_empty()) {
            not_seen = vec![format!("process {process}: it has exited")];
        }
        let (interval, process) = (ledger.elapsed(), self.process);
        self.before = after;
        self.cost = usage::thread_cpu() - began;
        TopPicture { schema: SCHEMA, interval, processors: facts::online(), process, processes, threads, not_seen }
    }

    fn sight(&mut self) -> Sighting {
        let mut found = Sighting { threads: ThreadSighting { at: page::now(), ..Default::default() }, ..Default::default() };
        let mut pages = BTreeMap::new();
        for process in self.process.map_or_else(processes, |process| vec![process]) {
            let readings = task::read_threads(process);
            if readings.is_empty() && program::user(process).is_some() {
                found.hidden.push(process);
            }
            // A process that has exited and is not reaped yet still has a thread.
            if readings.iter().all(|reading| reading.state == TaskState::Exited) {
                continue;
            }
            if self.process.is_some() {
                let facts = readings.iter().filter_map(|each| Some((each.thread, task::read_facts(process, each.thread)?)));
                found.facts = facts.collect();
            }
            if let Some(name) = program::name(process) {
                let key = (process, name);
                let page = self.pages.get(&key).copied().unwrap_or_else(|| self.map(process));
                pages.insert(key, page);
            }
            found.threads.readings.extend(readings);
        }
        // Those of processes that have exited are forgotten.
        self.pages = pages;
        let present: BTreeSet<u32> = found.threads.readings.iter().map(|reading| reading.process).collect();
        let recording: BTreeSet<u32> =
            self.pages.iter().filter(|(_, page)| page.is_some()).map(|((process, _), _)| *process).collect();
        // Programs that advise watches share its page.
        let mut pages: Vec<WatchPage> = Vec::new();
        for page in self.pages.values().flatten() {
            if !pages.iter().any(|known| known.is_same(page)) {
                pages.push(*page);
            }
        }
        let recorded = pages.iter().flat_map(WatchPage::threads);
        found.threads.recorded =
            recorded.filter(|each| present.contains(&each.process) && recording.contains(&each.process)).collect();
        found
    }

    /// A page stays mapped, so each is mapped once.
    fn map(&mut self, process: u32) -> Option<WatchPage> {
        let path = program::page_path(process)?;
        *self.mapped.entry(path).or_insert_with_key(|path| WatchPage::open(path))
    }
}

fn process_rows(ledger: &Ledger, sighting: &Sighting, not_seen: &mut Vec<String>) -> Vec<ProcessRow> {
    let mut rows: BTreeMap<u32, ProcessRow> = BTreeMap::new();
    for account in ledger.alive() {
        let process = account.last.process;
        let row = rows.entry(process).or_insert_with(|| ProcessRow { process, ..ProcessRow::default() });
        let spent = SpentTimes::of(account);
        row.threads += 1;
        row.ran += account.total.ran;
        row.ready += account.total.ready;
        row.lost += spent.lost();
        if account.recorded.is_some() {
            *row.spun.get_or_insert_default() += spent.spun + spent.idle_spun;
            *row.blocked.get_or_insert_default() += spent.late + spent.lock;
        }
        if let Some(call) = sleeps_in(&account.last) {
            *row.asleep_in.entry(call).or_default() += 1;
        }
    }
    let own = program::user(std::process::id());
    let (mut of_others, mut of_ours) = (0, 0);
    for row in rows.values_mut() {
        (row.name, row.user) = (program::name(row.process), program::user(row.process));
        if row.asleep_in.contains_key(HIDDEN) {
            *if row.user == own { &mut of_ours } else { &mut of_others } += 1;
        }
    }
    let is_recorded = rows.values().any(|row| row.spun.is_some());
    for process in &sighting.hidden {
        rows.insert(*process, ProcessRow { process: *process, user: program::user(*process), ..ProcessRow::default() });
    }
    if !sighting.hidden.is_empty() {
        let hidden = counted(sighting.hidden.len(), "process");
        not_seen.push(format!("{hidden} of other users: the system hides them"));
    }
    if of_others > 0 {
        not_seen.push(format!("waits of {} of other users: run top as that user", counted(of_others, "process")));
    }
    if of_ours > 0 {
        not_seen.push(format!("waits of {}: the system hides their calls", counted(of_ours, "process")));
    }
    if !is_recorded {
        not_seen.push("spins and late partners: start the program with `foregather advise -- PROGRAM`".to_owned());
    }
    rows.into_values().collect()
}

fn thread_rows(ledger: &Ledger, before: &Sighting, after: &Sighting) -> Vec<ThreadRow> {
    let mut waiters: BTreeMap<u64, u32> = BTreeMap::new();
    for reading in &after.threads.readings {
        if let Some(SystemCall::Futex { address, .. }) = reading.call {
            *waiters.entry(address).or_default() += 1;
        }
    }
    let row = |account: &ThreadAccount| {
        let thread = account.last.thread;
        let facts = after.facts.get(&thread);
        let since = |count: fn(&TaskFacts) -> u64| Some(count(facts?).saturating_sub(count(before.facts.get(&thread)?)));
        let spent = SpentTimes::of(account);
        ThreadRow {
            thread,
            name: facts.map(|facts| facts.name.clone()),
            state: state(account.last.state),
            cpu: account.last.cpu,
            ran: account.total.ran,
            ready: account.total.ready,
            asleep: account.total.asleep + account.total.device,
            spun: account.recorded.as_ref().map(|_| spent.spun + spent.idle_spun),
            preempted: since(|facts| facts.preempted),
            slept: since(|facts| facts.slept),
            waits_for: waits_for(account, &waiters),
        }
    };
    ledger.alive().map(row).collect()
}

fn state(state: TaskState) -> &'static str {
    match state {
        TaskState::Runnable => "runnable",
        TaskState::Sleeping => "asleep",
        TaskState::Device => "device",
        TaskState::Stopped => "stopped",
        TaskState::Exited => "exited",
    }
}

/// The call of a thread that sleeps, of which the system does not show the call.
const HIDDEN: &str = "not readable";

/// A word for the call in which a thread sleeps. `None` if it does not.
fn sleeps_in(reading: &TaskReading) -> Option<&'static str> {
    if !matches!(reading.state, TaskState::Sleeping | TaskState::Device) {
        return None;
    }
    Some(match reading.call {
        Some(SystemCall::Futex { .. }) => "futex",
        Some(SystemCall::Sleep) => "sleep",
        Some(SystemCall::Events) => "poll",
        Some(SystemCall::Child) => "child",
        Some(SystemCall::File) => "file",
        Some(SystemCall::Other) => "other",
        None => HIDDEN,
    })
}

/// What a thread waits for: by what is recorded of it, else by its system call, else by the kernel's
/// function.
fn waits_for(account: &ThreadAccount, waiters: &BTreeMap<u64, u32>) -> Option<String> {
    let reading = &account.last;
    if let Some(waits) = account.recorded.as_ref().and_then(recorded_wait) {
        return Some(waits);
    }
    let call = sleeps_in(reading)?;
    match reading.call {
        Some(SystemCall::Futex { address, has_timeout }) => {
            let others = waiters.get(&address).map_or(0, |count| count - 1);
            let others = if others > 0 { format!(", {others} others too") } else { String::new() };
            Some(format!("futex {address:#x}{}{others}", if has_timeout { " for some time" } else { "" }))
        }
        Some(SystemCall::Sleep) => Some("a time".to_owned()),
        Some(SystemCall::Events) => Some("events (poll)".to_owned()),
        Some(SystemCall::Child) => Some("a child process".to_owned()),
        Some(SystemCall::File) => Some("a file".to_owned()),
        Some(SystemCall::Other) | None => {
            Some(task::kernel_function(reading.process, reading.thread).unwrap_or_else(|| call.to_owned()))
        }
    }
}

fn recorded_wait(recorded: &RecordedThread) -> Option<String> {
    let subject = recorded.subject;
    match recorded.activity {
        ThreadActivity::Own | ThreadActivity::Part => None,
        ThreadActivity::Arrived => Some("the last of its team, at a barrier".to_owned()),
        ThreadActivity::Idle => Some("work, as an idle worker".to_owned()),
        ThreadActivity::Condition => Some(format!("condition variable {subject:#x}")),
        ThreadActivity::Lock if recorded.holder == 0 => Some(lock_name(subject)),
        ThreadActivity::Lock => Some(format!("{} of thread {}", lock_name(subject), recorded.holder)),
    }
}
