//! The recorded waits of a program that does not call MPI: those that processes note themselves, and those
//! of threads that the preload library records.
use super::place;
use foregather_host::watched::page::{CRITICAL_SECTION, OPENMP_LOCK, RecordedThread, ThreadActivity, lock_name};
use foregather_host::watched::program;
use foregather_host::watched::task::{SystemCall, TaskReading, TaskState, lock_holder};
use foregather_host::watched::waits::{NotedWait, WaitPage, WaitScope};
use foregather_machine::{Nanos, Rank, ThreadId};
use foregather_watch::hang::{PartySighting, PartyWait, RankState, WaitParty, WaitsSighting};
use std::collections::{BTreeMap, BTreeSet};

/// If a wait does not say what it is for, this number of other threads is shown.
const SHOWN: usize = 16;

/// The pages of processes that note their waits.
#[derive(Default)]
pub(super) struct WaitPages {
    pages: BTreeMap<u32, WaitPage>,
    /// When pages were looked for last.
    searched: Nanos,
}

impl WaitPages {
    /// Looks for the pages of these processes, at most once in `every`.
    pub(super) fn search(&mut self, processes: &BTreeSet<u32>, at: Nanos, every: Nanos) {
        if at - self.searched >= every {
            self.searched = at;
            self.pages.retain(|process, _| processes.contains(process));
            for &process in processes {
                if !self.pages.contains_key(&process)
                    && let Some(page) = WaitPage::of(process)
                {
                    self.pages.insert(process, page);
                }
            }
        }
    }

    /// The waits that go on now, each once: children that were forked share a page.
    pub(super) fn waits(&self) -> Vec<NotedWait> {
        let all = self.pages.values().flat_map(|page| page.waits());
        let alive = all.filter(|wait| self.pages.contains_key(&wait.process));
        alive.map(|wait| ((wait.process, wait.thread), wait)).collect::<BTreeMap<_, _>>().into_values().collect()
    }
}

/// What is known of a program at one moment.
pub(super) struct WaitCollector<'l> {
    pub(super) at: Nanos,
    pub(super) readings: &'l [TaskReading],
    pub(super) noted: Vec<NotedWait>,
    pub(super) recorded: Vec<RecordedThread>,
}

impl WaitCollector<'_> {
    /// All waits. The other parties are there without their places.
    pub(super) fn collect(&self) -> WaitsSighting {
        let mut seen = WaitsSighting::default();
        for wait in &self.noted {
            seen.waits.push(self.of_note(wait));
        }
        for thread in &self.recorded {
            seen.waits.extend(self.of_record(thread));
        }
        let awaited = || seen.waits.iter().flat_map(|wait| wait.awaited.iter().copied());
        let mut parties: BTreeSet<WaitParty> = seen.waits.iter().map(|wait| wait.party).chain(awaited()).collect();
        for wait in &seen.waits {
            parties.extend(self.candidates(wait, &seen.waits));
        }
        seen.parties = parties.into_iter().map(|party| (party, self.sighting(party, &seen.waits))).collect();
        seen
    }

    fn of_note(&self, wait: &NotedWait) -> PartyWait {
        let of_object = |&(rank, process): &(Rank, Option<u32>)| process.map_or(WaitParty::FreeRank(rank), WaitParty::Process);
        let (party, awaited) = match (wait.scope, wait.rank) {
            (WaitScope::Job, Some(rank)) => {
                (WaitParty::Rank(rank), wait.awaited.iter().map(|(rank, _)| WaitParty::Rank(*rank)).collect())
            }
            (WaitScope::Object, Some(_)) => (WaitParty::Process(wait.process), wait.awaited.iter().map(of_object).collect()),
            (_, None) => (WaitParty::Thread(wait.thread), Vec::new()),
        };
        PartyWait {
            party,
            rank: wait.rank,
            process: wait.process,
            thread: wait.thread,
            call: wait.what.clone(),
            awaited,
            still: self.at - wait.since,
            has_other_thread: wait.rank.is_some() && self.has_other_thread(wait.process),
        }
    }

    /// Returns whether a thread of a process may do something by itself: neither its wait is noted, nor does
    /// it sleep until another thread wakes it.
    fn has_other_thread(&self, process: u32) -> bool {
        let is_noted = |thread: ThreadId| self.noted.iter().any(|wait| (wait.process, wait.thread) == (process, thread));
        self.of_process(process).any(|reading| !is_noted(reading.thread) && !sleeps_for_another(reading))
    }

    fn of_process(&self, process: u32) -> impl Iterator<Item = &TaskReading> {
        self.readings.iter().filter(move |reading| reading.process == process && reading.state != TaskState::Exited)
    }

    fn of_record(&self, thread: &RecordedThread) -> Option<PartyWait> {
        let (call, awaited) = match thread.activity {
            ThreadActivity::Arrived if thread.leader > 0 => self.of_region(thread)?,
            ThreadActivity::Arrived if thread.subject > 0 => (self.of_barrier(thread), Vec::new()),
            ThreadActivity::Lock => {
                // The holder that was noted may have passed the lock on.
                let holder = lock_holder(thread.process, thread.subject).filter(|holder| *holder > 0);
                (self.of_lock(thread), holder.map(WaitParty::Thread).into_iter().collect())
            }
            _ => return None,
        };
        self.of_process(thread.process).find(|reading| reading.thread == thread.thread)?;
        Some(PartyWait {
            party: WaitParty::Thread(thread.thread),
            rank: None,
            process: thread.process,
            thread: thread.thread,
            call,
            awaited,
            still: self.at - thread.since,
            has_other_thread: false,
        })
    }

    /// A wait at a barrier of an OpenMP region, or at its end: for the members that have not arrived.
    fn of_region(&self, thread: &RecordedThread) -> Option<(String, Vec<WaitParty>)> {
        let is_member = |other: &&RecordedThread| (other.process, other.leader) == (thread.process, thread.leader);
        let has_arrived = |other: &RecordedThread| other.activity == ThreadActivity::Arrived && other.subject == thread.subject;
        let is_missing = |other: &&RecordedThread| other.activity != ThreadActivity::Idle && !has_arrived(other);
        let missing = self.recorded.iter().filter(is_member).filter(is_missing).map(|other| WaitParty::Thread(other.thread));
        let name = Some(thread.code).filter(|code| *code > 0).and_then(|code| place::function(thread.process, code));
        let call = format!("barrier of {}", name.unwrap_or_else(|| "a parallel region".to_owned()));
        (thread.team > 1).then(|| (call, missing.collect()))
    }

    /// A wait for a mutex, or for a critical section or a lock of a region.
    fn of_lock(&self, thread: &RecordedThread) -> String {
        let name = lock_name(thread.subject);
        let is_openmp = thread.subject & (CRITICAL_SECTION | OPENMP_LOCK) != 0 && thread.code > 0;
        let region = is_openmp.then(|| place::function(thread.process, thread.code)).flatten();
        region.map_or(name.clone(), |region| format!("{name} in {region}"))
    }

    /// A wait at a barrier of POSIX threads, whose members are not known.
    fn of_barrier(&self, thread: &RecordedThread) -> String {
        let is_there = |other: &&RecordedThread| {
            (other.process, other.subject, other.activity) == (thread.process, thread.subject, ThreadActivity::Arrived)
        };
        let arrived = self.recorded.iter().filter(is_there).count();
        format!("pthread barrier {:#x}, {arrived} of {} arrived", thread.subject, thread.team)
    }

    /// The parties that may be missing where a wait does not say what it is for: other ranks, processes that
    /// do not wait, or threads of its process.
    fn candidates(&self, wait: &PartyWait, waits: &[PartyWait]) -> Vec<WaitParty> {
        let has_free = wait.awaited.iter().any(|party| matches!(party, WaitParty::FreeRank(_)));
        let processes: BTreeSet<u32> = self.readings.iter().map(|reading| reading.process).collect();
        let waits_itself = |process: &u32| waits.iter().any(|other| other.process == *process);
        match wait.party {
            WaitParty::Rank(_) if wait.awaited.is_empty() => {
                processes.into_iter().filter_map(program::rank).map(WaitParty::Rank).take(SHOWN).collect()
            }
            WaitParty::Process(_) if has_free => {
                processes.into_iter().filter(|process| !waits_itself(process)).map(WaitParty::Process).take(SHOWN).collect()
            }
            WaitParty::Thread(_) if wait.awaited.is_empty() => {
                let is_noted = |thread: ThreadId| waits.iter().any(|other| other.thread == thread);
                let others =
                    self.of_process(wait.process).filter(|reading| !is_noted(reading.thread) && !sleeps_for_another(reading));
                others.map(|reading| WaitParty::Thread(reading.thread)).take(SHOWN).collect()
            }
            _ => Vec::new(),
        }
    }

    fn sighting(&self, party: WaitParty, waits: &[PartyWait]) -> PartySighting {
        let wait = waits.iter().find(|wait| wait.party == party);
        let (rank, process) = match party {
            WaitParty::Rank(rank) => (Some(rank), wait.map(|wait| wait.process).or_else(|| self.process_of(rank))),
            WaitParty::FreeRank(rank) => (Some(rank), None),
            WaitParty::Process(process) => (None, Some(process)),
            WaitParty::Thread(thread) => {
                let known = self.readings.iter().find(|reading| reading.thread == thread).map(|reading| reading.process);
                (None, known.or_else(|| Some(waits.iter().find(|wait| wait.awaited.contains(&party))?.process)))
            }
        };
        let shown = match (party, wait, process) {
            (WaitParty::Thread(thread), ..) => self.readings.iter().find(|reading| reading.thread == thread),
            (_, Some(wait), _) => self.readings.iter().find(|reading| reading.thread == wait.thread),
            (_, None, Some(process)) => self.busiest(process),
            _ => None,
        };
        let state = match (shown.map(|reading| reading.state), party) {
            (Some(TaskState::Runnable), _) => RankState::Runs,
            (Some(TaskState::Stopped), _) => RankState::Stopped,
            (Some(TaskState::Sleeping | TaskState::Device), _) => RankState::Sleeps,
            // A rank may be on another host, and a new one has no process yet.
            (_, WaitParty::Rank(_) | WaitParty::FreeRank(_)) => RankState::Sleeps,
            _ => RankState::Gone,
        };
        PartySighting { rank, process, thread: shown.map_or(0, |reading| reading.thread), state, place: None }
    }

    /// The process of a rank that waits for nothing. Of several that a launcher gave the same rank, it is the
    /// one with most threads: a rank has a thread that keeps in touch with the others.
    fn process_of(&self, rank: Rank) -> Option<u32> {
        let mut threads: BTreeMap<u32, usize> = BTreeMap::new();
        self.readings.iter().for_each(|reading| *threads.entry(reading.process).or_default() += 1);
        let of_rank = threads.into_iter().filter(|(process, _)| program::rank(*process) == Some(rank));
        of_rank.max_by_key(|&(process, threads)| (threads, core::cmp::Reverse(process))).map(|(process, _)| process)
    }

    /// The thread of a process that runs, else its first one.
    fn busiest(&self, process: u32) -> Option<&TaskReading> {
        let runs = |reading: &&TaskReading| reading.state == TaskState::Runnable;
        self.of_process(process).find(runs).or_else(|| self.of_process(process).find(|reading| reading.thread == process))
    }
}

/// Returns whether a thread sleeps until another one wakes it.
fn sleeps_for_another(reading: &TaskReading) -> bool {
    matches!(reading.call, Some(SystemCall::Futex { has_timeout: false, .. }))
}

/// Names the code of the parties that do not wait.
pub(super) fn add_places(seen: &mut WaitsSighting) {
    let others: Vec<WaitParty> = seen.others().map(|(party, _)| party).collect();
    for party in others {
        if let Some(sighting) = seen.parties.get_mut(&party)
            && let Some(process) = sighting.process
            && sighting.thread > 0
        {
            sighting.place = place::of(process, sighting.thread);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Nanos = Nanos::from_ms(5_000);
    const SINCE: Nanos = Nanos::from_ms(2_000);
    const ASLEEP: Option<SystemCall> = Some(SystemCall::Futex { address: 64, has_timeout: false });

    fn reading(process: u32, thread: ThreadId, state: TaskState, call: Option<SystemCall>) -> TaskReading {
        TaskReading { process, thread, state, ran: Nanos::ZERO, queued: Nanos::ZERO, cpu: 0, disk_faults: 0, call }
    }

    fn note(process: u32, scope: WaitScope, rank: Option<Rank>, awaited: &[(Rank, Option<u32>)]) -> NotedWait {
        NotedWait { process, thread: process, what: "barrier".to_owned(), scope, rank, since: SINCE, awaited: awaited.to_vec() }
    }

    fn record(thread: ThreadId, activity: ThreadActivity, subject: u64) -> RecordedThread {
        let (process, leader, team, since) = (u32::MAX, 1, 3, SINCE);
        RecordedThread { process, thread, activity, subject, leader, team, since, ..RecordedThread::default() }
    }

    fn collect(readings: &[TaskReading], noted: Vec<NotedWait>, recorded: Vec<RecordedThread>) -> WaitsSighting {
        WaitCollector { at: AT, readings, noted, recorded }.collect()
    }

    #[test]
    fn members_of_a_region_wait_for_those_that_have_not_arrived() {
        use ThreadActivity::{Arrived, Idle, Part};
        let recorded = vec![record(1, Arrived, 5), record(2, Part, 5), record(3, Arrived, 5), record(4, Idle, 4)];
        let states = [TaskState::Sleeping, TaskState::Runnable, TaskState::Sleeping, TaskState::Sleeping];
        let readings: Vec<_> = (1..).zip(states).map(|(thread, state)| reading(u32::MAX, thread, state, None)).collect();
        let seen = collect(&readings, Vec::new(), recorded);
        let waits: Vec<_> = seen.waits.iter().map(|wait| (wait.thread, wait.call.as_str(), wait.awaited.clone())).collect();
        let expected = |thread| (thread, "barrier of a parallel region", vec![WaitParty::Thread(2)]);
        assert_eq!(waits, [expected(1), expected(3)]);
        assert_eq!(seen.waits[0].still, AT - SINCE);
        let others: Vec<_> = seen.others().map(|(party, sighting)| (party, sighting.state)).collect();
        assert_eq!(others, [(WaitParty::Thread(2), RankState::Runs)]);
    }

    #[test]
    fn a_process_waits_for_processes_and_for_ranks_that_none_has_taken() {
        let noted = vec![note(10, WaitScope::Object, Some(0), &[(1, Some(11)), (2, None), (3, Some(13))])];
        let readings = [
            reading(10, 10, TaskState::Sleeping, ASLEEP),
            reading(11, 11, TaskState::Stopped, None),
            reading(10, 20, TaskState::Sleeping, ASLEEP),
        ];
        let seen = collect(&readings, noted.clone(), Vec::new());
        let expected = [WaitParty::Process(11), WaitParty::FreeRank(2), WaitParty::Process(13)];
        assert_eq!((seen.waits[0].party, &seen.waits[0].awaited[..]), (WaitParty::Process(10), &expected[..]));
        let state = |party| seen.parties[&party].state;
        assert_eq!(expected.map(state), [RankState::Stopped, RankState::Sleeps, RankState::Gone]);
        assert!(!seen.waits[0].has_other_thread, "its second thread waits for another one");
        let mut busy = readings;
        busy[2].call = Some(SystemCall::Events);
        assert!(collect(&busy, noted, Vec::new()).waits[0].has_other_thread);
    }

    #[test]
    fn a_wait_that_does_not_say_for_whom_shows_the_other_threads() {
        let noted = vec![note(10, WaitScope::Object, None, &[])];
        let readings = [reading(10, 10, TaskState::Sleeping, ASLEEP), reading(10, 12, TaskState::Runnable, None)];
        let seen = collect(&readings, noted, Vec::new());
        assert!(seen.waits[0].awaited.is_empty());
        let others: Vec<_> = seen.others().map(|(party, sighting)| (party, sighting.process)).collect();
        assert_eq!(others, [(WaitParty::Thread(12), Some(10))]);
    }

    #[test]
    fn ranks_of_a_job_are_known_by_their_numbers() {
        let noted = vec![note(10, WaitScope::Job, Some(0), &[(1, None)]), note(11, WaitScope::Job, Some(1), &[(2, None)])];
        let readings = [10, 11].map(|process| reading(process, process, TaskState::Sleeping, ASLEEP));
        let seen = collect(&readings, noted, Vec::new());
        assert_eq!(seen.waits[1].awaited, [WaitParty::Rank(2)]);
        let rank = |rank| seen.parties[&WaitParty::Rank(rank)].clone();
        assert_eq!((rank(1).process, rank(2).process, rank(2).state), (Some(11), None, RankState::Sleeps));
    }
}
