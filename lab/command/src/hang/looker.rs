//! Looks at the processes of a job, and dates what their ranks note.
use super::place;
use super::waits::{WaitCollector, WaitPages, add_places};
use foregather_host::run_state;
use foregather_host::watched::calls::{CallPage, RecordedCall};
use foregather_host::watched::page::{self, WatchPage};
use foregather_host::watched::program;
use foregather_host::watched::surroundings;
use foregather_host::watched::task::{self, SystemCall, TaskReader, TaskReading, TaskState};
use foregather_machine::{Nanos, Rank, ThreadId};
use foregather_watch::causes::{Certainty, hang_of};
use foregather_watch::hang::{self, HangCause, HangVerdict, JobSighting, RankSighting, RankState, WaitsSighting};
use foregather_watch::{Ledger, Observation};
use std::collections::{BTreeMap, BTreeSet};

/// What is printed.
pub(super) struct HangReport {
    /// Why it is printed.
    pub(super) occasion: String,
    pub(super) job: JobSighting,
    pub(super) waits: WaitsSighting,
    pub(super) processes: Vec<ProcessLine>,
    pub(super) verdict: Option<HangVerdict>,
    pub(super) not_seen: Vec<String>,
}

/// A process of a program that records no waits.
pub(super) struct ProcessLine {
    pub(super) rank: Option<Rank>,
    pub(super) process: u32,
    pub(super) name: String,
    pub(super) threads: usize,
    pub(super) ran: Nanos,
    pub(super) watched: Nanos,
    pub(super) place: Option<String>,
}

/// Since when a thread is where it is, and how long its process had run by then.
#[derive(Clone, Copy)]
struct Dated {
    number: u64,
    is_inside: bool,
    has_ended: bool,
    since: Nanos,
    ran: Nanos,
}

pub(super) struct HangLooker {
    root: u32,
    still: Nanos,
    calls: Option<CallPage>,
    threads: Option<WatchPage>,
    waits: WaitPages,
    reader: TaskReader,
    ledger: Ledger,
    readings: Vec<TaskReading>,
    /// Processes for which others wait.
    awaited: BTreeSet<u32>,
    dated: BTreeMap<(u32, ThreadId), Dated>,
    /// Processes that were seen to run, and when each was started.
    started: BTreeMap<u32, u64>,
    /// The first slot of the job that runs now: a command may run several, one after the other.
    first: usize,
    /// What was reported last: the ranks that were stuck, or the last movement.
    reported: Option<(Vec<Rank>, Nanos)>,
    not_seen: Vec<String>,
}

/// A process that runs for less than this share of the time sleeps.
const SLEEPS: f64 = 0.05;
/// Pages of waits are looked for this number of times before something counts as still.
const SEARCHES: u64 = 5;
/// Looks are not that far apart while this process runs.
const STOPPED: Nanos = Nanos::from_ms(1_500);
/// A thread that is ready for the whole time and runs for less than this gets no processor.
const STARVES: Nanos = Nanos::from_ms(2);

impl HangLooker {
    /// For a job that runs already: its processes may name pages.
    pub(super) fn new(root: u32, still: Nanos) -> Self {
        let family = surroundings::family(root, &surroundings::process_times());
        let calls = family.iter().find_map(|&process| CallPage::open(&program::call_page_path(process)?));
        let threads = family.iter().find_map(|&process| WatchPage::open(&program::page_path(process)?));
        Self::of(root, still, calls, threads, Vec::new())
    }

    /// For a program that was just started with these pages.
    pub(super) fn of_pages(root: u32, still: Nanos, calls: CallPage, threads: WatchPage, not_seen: Vec<String>) -> Self {
        Self::of(root, still, Some(calls), Some(threads), not_seen)
    }

    fn of(root: u32, still: Nanos, calls: Option<CallPage>, threads: Option<WatchPage>, not_seen: Vec<String>) -> Self {
        Self {
            root,
            still,
            calls,
            threads,
            waits: WaitPages::default(),
            awaited: BTreeSet::new(),
            reader: TaskReader::default(),
            ledger: Ledger::default(),
            readings: Vec::new(),
            dated: BTreeMap::new(),
            started: BTreeMap::new(),
            first: 0,
            reported: None,
            not_seen,
        }
    }

    /// Looks once.
    pub(super) fn look(&mut self) {
        let at = page::now();
        let family = surroundings::family(self.root, &surroundings::process_times());
        let progress = self.calls.map(|page| page.progress()).unwrap_or_default();
        let noted: BTreeSet<u32> = progress.iter().map(|(process, ..)| *process).collect();
        let all: BTreeSet<u32> = family.into_iter().chain(noted.iter().copied()).chain(self.awaited.iter().copied()).collect();
        self.waits.search(&all, at, Nanos(self.still.0 / SEARCHES));
        let awaited = self.waits.waits().into_iter().flat_map(|wait| wait.awaited);
        self.awaited.extend(awaited.filter_map(|(_, process)| process));
        self.readings = self.reader.read(all);
        let recorded = self.threads.map(|page| page.threads()).unwrap_or_default();
        // If this process was stopped itself, so was the job, perhaps.
        let was_stopped = self.ledger.looks > 0 && at - self.ledger.ended > STOPPED;
        self.ledger.add(at, &self.readings, &recorded);
        self.note_new_job(&progress);
        for process in noted {
            if program::is_running(process)
                && let Some(started) = run_state::started(process)
            {
                self.started.entry(process).or_insert(started);
            }
        }
        for (process, thread, number, is_inside) in progress {
            let ran = self.ran(process);
            let has_ended = self.started.contains_key(&process) && !self.runs(process);
            let new = Dated { number, is_inside, has_ended, since: at, ran };
            let known = self.dated.entry((process, thread)).or_insert(new);
            if was_stopped || (known.number, known.is_inside, known.has_ended) != (number, is_inside, has_ended) {
                *known = new;
            }
        }
    }

    /// If a process is new and all others have ended, it belongs to another job.
    fn note_new_job(&mut self, progress: &[(u32, ThreadId, u64, bool)]) {
        let is_new = |process: u32| !self.started.contains_key(&process);
        let Some(new) = progress.iter().skip(self.first).position(|(process, ..)| is_new(*process)) else { return };
        let before = &progress[self.first..self.first + new];
        if !before.is_empty() && !before.iter().any(|(process, ..)| self.runs(*process)) {
            self.first += new;
        }
    }

    /// How long the threads of a process have run so far.
    fn ran(&self, process: u32) -> Nanos {
        self.readings.iter().filter(|reading| reading.process == process).fold(Nanos::ZERO, |sum, each| sum + each.ran)
    }

    /// Returns whether a process that was seen to run still does.
    fn runs(&self, process: u32) -> bool {
        program::is_running(process) && run_state::started(process) == self.started.get(&process).copied()
    }

    /// What is to be printed now, if anything: on request, when ranks are stuck, or when nothing moves.
    pub(super) fn news(&mut self, is_asked: bool) -> Option<HangReport> {
        if is_asked {
            return Some(HangReport { occasion: "on request".to_owned(), ..self.report() });
        }
        let is_mpi = self.dated.keys().any(|(process, _)| self.started.contains_key(process));
        let now = self.ledger.ended;
        // The longest wait decides whether it is worth a closer look.
        let waits = self.dated.values().filter(|dated| dated.is_inside && now - dated.since >= self.still).count();
        let moved = if is_mpi { self.moved() } else { self.waits_moved() };
        let is_still = now - moved >= self.still;
        if (is_mpi && waits == 0) || (!is_mpi && !is_still && !self.has_long_wait()) {
            return None;
        }
        let seen = self.report();
        let verdict = seen.verdict.as_ref()?;
        if !verdict.is_alarm() && !is_still {
            return None;
        }
        let what = (verdict.stuck.clone(), if verdict.is_alarm() { Nanos::ZERO } else { moved });
        if self.reported.as_ref() == Some(&what) {
            return None;
        }
        self.reported = Some(what);
        Some(seen)
    }

    /// What is printed when the user stops the job, unless it was printed already.
    pub(super) fn last_word(&mut self) -> Option<HangReport> {
        let seen = HangReport { occasion: "interrupted".to_owned(), ..self.report() };
        let stuck = seen.verdict.as_ref().map_or(&[][..], |verdict| &verdict.stuck);
        let is_known = self.reported.as_ref().is_some_and(|(reported, _)| !stuck.is_empty() && reported == stuck);
        (!is_known).then_some(seen)
    }

    /// The waits that go on in a program that does not call MPI.
    fn waits(&self) -> WaitsSighting {
        let recorded = self.threads.map(|page| page.threads()).unwrap_or_default();
        WaitCollector { at: self.ledger.ended, readings: &self.readings, noted: self.waits.waits(), recorded }.collect()
    }

    fn has_long_wait(&self) -> bool {
        self.waits().waits.iter().any(|wait| wait.still >= self.still)
    }

    /// When a wait began last. Without waits: when a thread ran last.
    fn waits_moved(&self) -> Nanos {
        let now = self.ledger.ended;
        self.waits().waits.iter().map(|wait| now - wait.still).max().unwrap_or(self.ledger.moved)
    }

    /// When a rank began or ended a call last.
    fn moved(&self) -> Nanos {
        self.dated.values().map(|dated| dated.since).max().unwrap_or(Nanos::ZERO)
    }

    /// All that is known now.
    pub(super) fn report(&mut self) -> HangReport {
        let mut job = self.job();
        let mut not_seen = self.not_seen.clone();
        let without_slot = self.calls.map_or(0, |page| page.without_slot());
        if without_slot > 0 {
            not_seen.push(format!("calls of {without_slot} threads: the page has no more room"));
        }
        let still = Nanos(self.still.0.saturating_mul(9) / 10);
        let is_mpi = !job.ranks.is_empty();
        let mut waits = if is_mpi { WaitsSighting::default() } else { self.waits() };
        add_places(&mut waits);
        let processes = if is_mpi || !waits.waits.is_empty() { Vec::new() } else { self.processes() };
        if self.calls.is_none() && waits.waits.is_empty() {
            let remedy = "start the job with `foregather hang -- mpiexec ...`";
            not_seen.push(format!("calls of MPI, and whether a rank polls in them or computes (by /proc alone; {remedy})"));
        }
        let verdict = if is_mpi {
            Some(self.of_ranks(&mut job, still))
        } else {
            hang::judge_waits(&waits, still).or_else(|| self.of_threads(still))
        };
        let since = if is_mpi { self.moved() } else { self.waits_moved() };
        let occasion = format!("no progress for {:.1} s", (self.ledger.ended - since).as_secs());
        HangReport { occasion, job, waits, processes, verdict, not_seen }
    }

    fn of_ranks(&self, job: &mut JobSighting, still: Nanos) -> HangVerdict {
        for sighting in job.ranks.values_mut().filter(|rank| !rank.is_inside() && !rank.has_finalized()) {
            let thread = sighting.calls.first().map_or(sighting.process, |call| call.thread);
            sighting.place = place::of(sighting.process, thread);
        }
        hang::judge(job, still)
    }

    /// The verdict on a program that does not call MPI.
    fn of_threads(&self, still: Nanos) -> Option<HangVerdict> {
        let seen = Observation { ledger: self.ledger.clone(), ..Observation::default() };
        let found = hang_of(&seen, still)?;
        let certainty = if found.certainty == Certainty::Sure { "hang" } else { "likely a hang" };
        let sentence = format!("{certainty}: {}; {}", found.verdict, found.evidence);
        Some(HangVerdict { cause: HangCause::Unknown, sentence, stuck: Vec::new() })
    }

    fn job(&self) -> JobSighting {
        let Some(page) = self.calls else { return JobSighting::default() };
        let mut job = JobSighting::default();
        let calls: Vec<RecordedCall> = page.calls().split_off(self.first);
        let communicators: BTreeSet<u16> = calls
            .iter()
            .flat_map(|call| call.communicator.into_iter().chain(call.awaited.iter().map(|message| message.communicator)))
            .collect();
        job.communicators =
            communicators.into_iter().filter_map(|number| Some((number, page.read_communicator(number)?))).collect();
        for call in calls {
            let Some(rank) = call.rank else { continue };
            let sighting = job.ranks.entry(rank).or_default();
            if sighting.process != call.process {
                *sighting = RankSighting { process: call.process, still: Nanos::MAX, ..RankSighting::default() };
                sighting.state = self.state(&call);
                sighting.has_other_thread = self.has_other_thread(&call);
            }
            // A thread that has moved since the last look is not still, and its reading may be torn.
            let dated = self.dated.get(&(call.process, call.thread));
            let unmoved = dated.filter(|dated| (dated.number, dated.is_inside) == call.progress);
            let since = unmoved.map_or(self.ledger.ended, |dated| dated.since);
            sighting.still = sighting.still.min(self.ledger.ended - since);
            sighting.calls.push(call);
        }
        job
    }

    /// What a rank's process does.
    fn state(&self, call: &RecordedCall) -> RankState {
        let of_process = || self.readings.iter().filter(|reading| reading.process == call.process);
        if self.started.contains_key(&call.process) && !self.runs(call.process) {
            return RankState::Gone;
        }
        if of_process().count() > 0 && of_process().all(|reading| reading.state == TaskState::Stopped) {
            return RankState::Stopped;
        }
        let dated = self.dated.get(&(call.process, call.thread));
        let (ran, since) = dated.map_or((Nanos::ZERO, self.ledger.ended), |dated| (dated.ran, dated.since));
        let (ran, still) = (self.ran(call.process) - ran, self.ledger.ended - since);
        let is_ready = of_process().any(|reading| reading.thread == call.thread && reading.state == TaskState::Runnable);
        match (is_ready, ran.0 as f64 > still.0 as f64 * SLEEPS) {
            (true, false) if ran < STARVES => RankState::Starves,
            (true, _) | (_, true) => RankState::Runs,
            _ => RankState::Sleeps,
        }
    }

    /// Returns whether a thread that has not called MPI may do so by itself: MPI's own threads were there
    /// when `MPI_Init` returned, and a thread in a futex waits for another one.
    fn has_other_thread(&self, call: &RecordedCall) -> bool {
        const SERIALIZED: u32 = 2;
        let waits = |reading: &TaskReading| matches!(reading.call, Some(SystemCall::Futex { has_timeout: false, .. }));
        let is_other = |reading: &&TaskReading| {
            reading.process == call.process && !self.dated.contains_key(&(reading.process, reading.thread)) && !waits(reading)
        };
        call.level >= SERIALIZED && self.readings.iter().filter(is_other).count() as u32 > call.threads.saturating_sub(1)
    }

    fn processes(&self) -> Vec<ProcessLine> {
        let mut lines: BTreeMap<u32, ProcessLine> = BTreeMap::new();
        for account in self.ledger.alive() {
            let process = account.last.process;
            let line = lines.entry(process).or_insert_with(|| ProcessLine {
                rank: program::rank(process),
                process,
                name: program::name(process).unwrap_or_default(),
                threads: 0,
                ran: Nanos::ZERO,
                watched: self.ledger.elapsed(),
                place: None,
            });
            line.threads += 1;
            line.ran += account.total.ran;
            if account.last.thread == process && account.last.state != TaskState::Runnable {
                line.place =
                    Some(task::kernel_function(process, process).map_or("asleep".to_owned(), |name| format!("asleep in {name}")));
            }
        }
        lines.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foregather_host::usage::this_thread;
    use foregather_host::watched::calls::MpiCall;

    #[test]
    fn a_rank_that_has_moved_since_the_last_look_is_not_still() {
        let (calls, _calls_file) = CallPage::create().unwrap();
        let (threads, _threads_file) = WatchPage::create().unwrap();
        let own = std::process::id();
        let mut looker = HangLooker::of_pages(own, Nanos::from_ms(1_000), calls, threads, Vec::new());
        let slot = calls.slot(own, this_thread()).unwrap();
        slot.is_rank(0, 2, 0, 1);
        slot.begin(MpiCall::Recv, &[], false, None, None);
        looker.look();
        std::thread::sleep(std::time::Duration::from_millis(5));
        looker.look();
        let still = |looker: &mut HangLooker| looker.report().job.ranks[&0].still;
        assert!(still(&mut looker) >= Nanos::from_ms(5));
        slot.end();
        assert_eq!(still(&mut looker), Nanos::ZERO, "the call has ended");
        slot.begin(MpiCall::Barrier, &[], false, None, None);
        assert_eq!(still(&mut looker), Nanos::ZERO, "another call has begun");
    }
}
