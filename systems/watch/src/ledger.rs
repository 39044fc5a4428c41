//! Looks at threads, added up by what the threads did.
//!
//! The kernel brings a running thread's time up to date at the scheduler's tick, and its time in the run
//! queue when it gets a processor. So one look may show too little and the next too much. What an interval
//! lacks counts as a wait at once, and what a later one has too much is set against it.
//!
//! An interval is longer than most regions, so its times cannot be charged to the activity at its end. Sums
//! over a whole recording are exact; they are shared among activities by what looks found at their moments.
//! A look needs a processor, and the thread that it takes one from is more often in one activity than in
//! another. So where the preload library recorded how long each activity took, looks say only how times on
//! the processor and asleep are distributed over activities.
use foregather_host::watched::page::{ActivityTimes, RecordedThread, ThreadActivity};
use foregather_host::watched::task::{SystemCall, TaskFacts, TaskReading, TaskState};
use foregather_machine::{CpuId, Nanos, ThreadId};
use std::collections::BTreeMap;

/// How a time was spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeSplit {
    /// On a processor.
    pub ran: Nanos,
    /// Ready without a processor.
    pub ready: Nanos,
    /// Asleep in a file, a device or for a given time.
    pub device: Nanos,
    /// Asleep otherwise.
    pub asleep: Nanos,
}

impl TimeSplit {
    /// All of it.
    pub fn total(&self) -> Nanos {
        self.ran + self.ready + self.device + self.asleep
    }

    fn add(&mut self, other: &Self) {
        self.ran += other.ran;
        self.ready += other.ready;
        self.device += other.device;
        self.asleep += other.asleep;
    }

    fn scaled(&self, by: f64) -> Self {
        let scaled = |time: Nanos| Nanos((time.0 as f64 * by) as u64);
        Self { ran: scaled(self.ran), ready: scaled(self.ready), device: scaled(self.device), asleep: scaled(self.asleep) }
    }
}

/// What is known of one thread.
#[derive(Clone, Debug)]
pub struct ThreadAccount {
    /// The last look at it.
    pub last: TaskReading,
    /// When that was.
    pub seen: Nanos,
    /// Its times over all activities.
    pub total: TimeSplit,
    /// For how long looks found it runnable, in a device and asleep, by activity.
    pub(crate) moments: BTreeMap<ThreadActivity, [Nanos; 3]>,
    /// How it spent the time in which others waited for it, times the number of those.
    pub held_up: TimeSplit,
    /// The processors on which it was seen, each with the time that it ran there.
    pub cpus: BTreeMap<CpuId, Nanos>,
    /// Its name, mask and preemptions; `None` before the first look at them.
    pub facts: Option<TaskFacts>,
    /// What the preload library recorded last; `None` without it.
    pub recorded: Option<RecordedThread>,
    /// What it had recorded of its times at the first look.
    pub(crate) before: ActivityTimes,
    /// What the intervals so far had too much.
    pub(crate) carried: i64,
}

impl ThreadAccount {
    fn new(reading: &TaskReading, at: Nanos) -> Self {
        Self {
            last: *reading,
            seen: at,
            total: TimeSplit::default(),
            moments: BTreeMap::new(),
            held_up: TimeSplit::default(),
            cpus: BTreeMap::new(),
            facts: None,
            recorded: None,
            before: ActivityTimes::default(),
            carried: 0,
        }
    }

    /// How long each activity took since the first look, if that was recorded.
    fn recorded_times(&self) -> Option<ActivityTimes> {
        let times = self.recorded.as_ref()?.times;
        let since: ActivityTimes = core::array::from_fn(|activity| times[activity] - self.before[activity]);
        since.iter().any(|&time| time > Nanos::ZERO).then_some(since)
    }

    /// For how long looks found it in each state, by activity, with sums of activities as they were recorded.
    fn fitted(&self) -> [[f64; 3]; ThreadActivity::ALL.len()] {
        let found = |activity| self.moments.get(&activity).copied().unwrap_or_default();
        let mut table = ThreadActivity::ALL.map(|activity| found(activity).map(|time| time.0 as f64));
        let Some(times) = self.recorded_times() else { return table };
        let states: [f64; 3] = core::array::from_fn(|state| table.iter().map(|row| row[state]).sum::<f64>());
        let all = states.iter().sum::<f64>().max(1.0);
        for (row, time) in table.iter_mut().zip(times) {
            // What no look found is not impossible.
            row.iter_mut().zip(states).for_each(|(cell, state)| *cell += 0.01 * time.0 as f64 * state / all);
        }
        for _ in 0..FITTING_STEPS {
            for (row, time) in table.iter_mut().zip(times) {
                let sum = row.iter().sum::<f64>().max(1.0);
                row.iter_mut().for_each(|cell| *cell *= time.0 as f64 / sum);
            }
            for (state, wanted) in states.into_iter().enumerate() {
                let sum = table.iter().map(|row| row[state]).sum::<f64>().max(1.0);
                table.iter_mut().for_each(|row| row[state] *= wanted / sum);
            }
        }
        table
    }

    /// Its times in one activity.
    pub fn during(&self, activity: ThreadActivity) -> TimeSplit {
        let table = self.fitted();
        let own = table[activity as usize];
        let all: [f64; 3] = core::array::from_fn(|state| table.iter().map(|row| row[state]).sum());
        let overall = own.iter().sum::<f64>() / all.iter().sum::<f64>().max(1.0);
        // A state that no look found was short, whatever the thread did then.
        let share = |state: usize| if all[state] == 0.0 { overall } else { own[state] / all[state] };
        let scaled = |time: Nanos, state: usize| Nanos((time.0 as f64 * share(state)) as u64);
        let TimeSplit { ran, ready, device, asleep } = self.total;
        TimeSplit { ran: scaled(ran, 0), ready: scaled(ready, 0), device: scaled(device, 1), asleep: scaled(asleep, 2) }
    }

    /// How long it wanted a processor.
    pub fn wanted(&self) -> Nanos {
        self.total.ran + self.total.ready
    }

    /// Adds the interval since the look before. Returns its length, charged to the state that this look
    /// found.
    fn add(&mut self, reading: &TaskReading, at: Nanos, activity: ThreadActivity, is_far: bool) -> TimeSplit {
        let interval = at - self.seen;
        let (ran, queued) = (reading.ran - self.last.ran, reading.queued - self.last.queued);
        let lacking = interval.0 as i64 - ran.0 as i64 - queued.0 as i64 + self.carried;
        self.carried = lacking.min(0);
        let rest = Nanos(lacking.max(0) as u64);
        let mut split = TimeSplit { ran, ready: queued, ..TimeSplit::default() };
        let mut moment = TimeSplit::default();
        // A thread that slept at the look before may have woken just now: its time in the run queue shows at
        // the next look.
        let has_slept = self.last.state != TaskState::Runnable || is_far && reading.ran > self.last.ran;
        let state = match (reading.state, reading.call) {
            (TaskState::Runnable, _) => 0,
            (TaskState::Device, _) | (_, Some(SystemCall::File | SystemCall::Sleep)) => 1,
            _ => 2,
        };
        match state {
            0 => {
                *(if has_slept { &mut split.asleep } else { &mut split.ready }) += rest;
                let wanted = split.ran + split.ready;
                moment.ran = Nanos((interval.0 as f64 * split.ran.0 as f64 / wanted.0.max(1) as f64) as u64);
                moment.ready = interval - moment.ran;
            }
            1 => (split.device, moment.device) = (rest, interval),
            _ => (split.asleep, moment.asleep) = (rest, interval),
        }
        self.total.add(&split);
        self.moments.entry(activity).or_default()[state] += interval;
        *self.cpus.entry(reading.cpu).or_default() += ran;
        (self.last, self.seen) = (*reading, at);
        moment
    }

    /// Returns whether it is a member of a team that may be waiting for it.
    fn may_be_late(&self) -> bool {
        let Some(recorded) = &self.recorded else { return false };
        recorded.activity == ThreadActivity::Part
            || (recorded.team > 1 && !self.has_arrived() && recorded.activity != ThreadActivity::Idle)
    }

    fn has_arrived(&self) -> bool {
        self.recorded.as_ref().is_some_and(|recorded| recorded.activity == ThreadActivity::Arrived)
    }
}

/// One look at threads.
#[derive(Clone, Debug, Default)]
pub struct ThreadSighting {
    /// When it was.
    pub at: Nanos,
    /// The threads.
    pub readings: Vec<TaskReading>,
    /// What the preload library recorded of them.
    pub recorded: Vec<RecordedThread>,
}

/// All threads of a program and of the processes that it started.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// Their accounts, those of threads that have exited included.
    pub threads: BTreeMap<ThreadId, ThreadAccount>,
    /// When the first look was, and the last.
    pub began: Nanos,
    /// See `began`.
    pub ended: Nanos,
    /// The last look at which a thread had run since the look before, but for the very last look: threads
    /// that a signal ends run for a moment.
    pub moved: Nanos,
    /// The last look, if a thread had run then.
    pub(crate) moving: Option<Nanos>,
    /// How many looks there were.
    pub looks: u64,
    /// Looks are so far apart that a thread that ran since the look before, and is runnable now, has slept
    /// meanwhile.
    pub(crate) is_far: bool,
}

/// How often a table is scaled to the sums of its rows and columns. It changes little after a few times.
const FITTING_STEPS: usize = 8;

/// A thread that ran for less than this share of an interval has not moved.
const MOVES: f64 = 0.002;

impl Ledger {
    /// What happened between two looks that are far apart: a second, not milliseconds.
    pub fn between(before: &ThreadSighting, after: &ThreadSighting) -> Self {
        let mut ledger = Self { is_far: true, ..Self::default() };
        for look in [before, after] {
            ledger.add(look.at, &look.readings, &look.recorded);
        }
        ledger
    }

    /// Adds a look at all threads, with what the preload library recorded of them.
    pub fn add(&mut self, at: Nanos, readings: &[TaskReading], recorded: &[RecordedThread]) {
        if self.looks == 0 {
            (self.began, self.moved) = (at, at);
        }
        let interval = at - self.ended;
        self.moved = self.moving.take().unwrap_or(self.moved);
        // The record of a thread that has exited may bear the number of a new one, which comes later.
        let recorded: BTreeMap<_, _> = recorded.iter().map(|each| ((each.process, each.thread), each)).collect();
        let mut spent: Vec<(ThreadId, TimeSplit)> = Vec::new();
        for reading in readings {
            let account = self.threads.entry(reading.thread).or_insert_with(|| ThreadAccount::new(reading, at));
            let record = recorded.get(&(reading.process, reading.thread)).copied();
            if let (Some(first), None) = (record, &account.recorded) {
                account.before = first.times;
            }
            account.recorded = record.cloned().or(account.recorded.take());
            let activity = account.recorded.as_ref().map_or(ThreadActivity::Own, |recorded| recorded.activity);
            let before = account.last.ran;
            spent.push((reading.thread, account.add(reading, at, activity, self.is_far)));
            if (reading.ran - before).0 as f64 > interval.0 as f64 * MOVES {
                self.moving = Some(at);
            }
        }
        self.hold_up(&spent);
        self.ended = at;
        self.looks += 1;
    }

    /// Charges the waits of members that have arrived to those of the same process that have not.
    fn hold_up(&mut self, spent: &[(ThreadId, TimeSplit)]) {
        let mut arrived: BTreeMap<u32, f64> = BTreeMap::new();
        let mut late: BTreeMap<u32, f64> = BTreeMap::new();
        for (thread, _) in spent {
            let account = &self.threads[thread];
            if account.has_arrived() {
                *arrived.entry(account.last.process).or_default() += 1.0;
            } else if account.may_be_late() {
                *late.entry(account.last.process).or_default() += 1.0;
            }
        }
        for (thread, split) in spent {
            let Some(account) = self.threads.get_mut(thread).filter(|account| account.may_be_late()) else { continue };
            let process = account.last.process;
            if let Some((waiting, late)) = arrived.get(&process).zip(late.get(&process)) {
                account.held_up.add(&split.scaled(waiting / late));
            }
        }
    }

    /// Takes over the last counts and times of threads, after the last look.
    pub fn settle(&mut self, recorded: &[RecordedThread]) {
        for record in recorded {
            let account = self.threads.get_mut(&record.thread).filter(|account| account.last.process == record.process);
            if let Some(known) = account.and_then(|account| account.recorded.as_mut()) {
                (known.counts, known.times, known.part_work) = (record.counts, record.times, record.part_work);
            }
        }
    }

    /// Notes what changes seldom in a thread.
    pub fn note(&mut self, thread: ThreadId, facts: TaskFacts) {
        if let Some(account) = self.threads.get_mut(&thread) {
            account.facts = Some(facts);
        }
    }

    /// The threads that were there at the last look.
    pub fn alive(&self) -> impl Iterator<Item = &ThreadAccount> {
        self.threads.values().filter(|account| account.seen == self.ended)
    }

    /// How long was watched.
    pub fn elapsed(&self) -> Nanos {
        self.ended - self.began
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(thread: ThreadId, state: TaskState, ran_ms: u64, queued_ms: u64) -> TaskReading {
        let (ran, queued) = (Nanos::from_ms(ran_ms), Nanos::from_ms(queued_ms));
        TaskReading { process: 1, thread, state, ran, queued, cpu: 0, disk_faults: 0, call: None }
    }

    fn recorded(thread: ThreadId, activity: ThreadActivity) -> RecordedThread {
        RecordedThread { process: 1, thread, activity, team: 2, ..RecordedThread::default() }
    }

    #[test]
    fn times_are_split_by_what_a_thread_did() {
        let mut ledger = Ledger::default();
        let mut look = |at_ms: u64, reading: TaskReading| ledger.add(Nanos::from_ms(at_ms), &[reading], &[]);
        look(0, reading(1, TaskState::Runnable, 5, 1));
        look(10, reading(1, TaskState::Runnable, 12, 2));
        look(20, reading(1, TaskState::Sleeping, 14, 2));
        look(30, TaskReading { call: Some(SystemCall::File), ..reading(1, TaskState::Sleeping, 14, 2) });
        let [ran, ready, device, asleep] = [9, 3, 10, 8].map(Nanos::from_ms);
        assert_eq!(ledger.threads[&1].total, TimeSplit { ran, ready, device, asleep });
        assert_eq!(ledger.elapsed(), Nanos::from_ms(30));
    }

    #[test]
    fn looks_that_favour_an_activity_do_not_decide_how_long_it_took() {
        let mut ledger = Ledger::default();
        for at in (0..=1_000).step_by(10) {
            let mut record = recorded(1, if at % 100 == 0 { ThreadActivity::Idle } else { ThreadActivity::Arrived });
            record.times[ThreadActivity::Part as usize] = Nanos::from_ms(at / 4);
            record.times[ThreadActivity::Arrived as usize] = Nanos::from_ms(at / 4);
            record.times[ThreadActivity::Idle as usize] = Nanos::from_ms(at / 2);
            ledger.add(Nanos::from_ms(at), &[reading(1, TaskState::Runnable, at, 0)], &[record]);
        }
        let ran = ThreadActivity::ALL.map(|activity| ledger.threads[&1].during(activity).ran.0 / 1_000_000);
        let [part, arrived, idle] =
            [ThreadActivity::Part, ThreadActivity::Arrived, ThreadActivity::Idle].map(|activity| ran[activity as usize]);
        assert!((245..=250).contains(&part) && (245..=255).contains(&arrived) && (495..=505).contains(&idle), "{ran:?}");
    }

    #[test]
    fn far_looks_do_not_take_sleep_for_a_wait_for_a_processor() {
        let at = |ms: u64, readings: &[TaskReading]| ThreadSighting {
            at: Nanos::from_ms(ms),
            readings: readings.to_vec(),
            ..ThreadSighting::default()
        };
        let (asleep, runnable) = (TaskState::Sleeping, TaskState::Runnable);
        // One that looks itself and sleeps in between, one that has just been woken, one that starves, and
        // one that has exited.
        let before = at(
            0,
            &[reading(1, runnable, 0, 0), reading(2, asleep, 0, 0), reading(3, runnable, 0, 0), reading(4, runnable, 0, 0)],
        );
        let after = at(1_000, &[reading(1, runnable, 5, 1), reading(2, runnable, 0, 0), reading(3, runnable, 0, 0)]);
        let ledger = Ledger::between(&before, &after);
        let ready: Vec<Nanos> = ledger.alive().map(|account| account.total.ready).collect();
        assert_eq!(ready, [1, 0, 1_000].map(Nanos::from_ms));
        assert_eq!(ledger.threads[&1].total.asleep, Nanos::from_ms(994));
    }

    #[test]
    fn counts_that_come_late_are_not_counted_twice() {
        let mut ledger = Ledger::default();
        // It was in the run queue from 0 to 10, which shows when it gets a processor.
        for (at, ran, queued) in [(0, 0, 0), (10, 0, 0), (20, 8, 12), (30, 20, 12), (40, 28, 12)] {
            ledger.add(Nanos::from_ms(at), &[reading(1, TaskState::Runnable, ran, queued)], &[]);
        }
        let total = ledger.threads[&1].total;
        assert_eq!(total.ran, Nanos::from_ms(28));
        assert!(total.ready.0 <= Nanos::from_ms(22).0, "{total:?}");
        let later = |ledger: &mut Ledger, at: u64, ran: u64| {
            ledger.add(Nanos::from_ms(at), &[reading(1, TaskState::Runnable, ran, 12)], &[]);
        };
        (5..200).for_each(|ten| later(&mut ledger, ten * 10, 28 + (ten - 4) * 10 + if ten % 2 == 0 { 3 } else { 0 }));
        assert!(ledger.threads[&1].total.ready.0 <= Nanos::from_ms(25).0, "jitter adds up to one jitter");
    }

    #[test]
    fn a_thread_that_wakes_at_a_look_has_not_waited_since_the_look_before() {
        let mut ledger = Ledger::default();
        let mut look = |at, state, queued| ledger.add(Nanos::from_ms(at), &[reading(1, state, 0, queued)], &[]);
        look(0, TaskState::Sleeping, 0);
        look(1_000, TaskState::Runnable, 0);
        look(1_010, TaskState::Runnable, 0);
        look(1_020, TaskState::Sleeping, 12);
        let total = ledger.threads[&1].total;
        assert!(total.ready >= Nanos::from_ms(10) && total.ready <= Nanos::from_ms(22), "{total:?}");
        assert!(total.asleep >= Nanos::from_ms(990), "{total:?}");
    }

    #[test]
    fn who_has_not_arrived_is_charged_with_the_waits_of_the_others() {
        let mut ledger = Ledger::default();
        let records =
            [recorded(1, ThreadActivity::Part), recorded(2, ThreadActivity::Arrived), recorded(3, ThreadActivity::Arrived)];
        let look = |at: u64, device: Option<SystemCall>| {
            let late = TaskReading { call: device, ..reading(1, TaskState::Sleeping, 0, 0) };
            (Nanos::from_ms(at), [late, reading(2, TaskState::Runnable, at, 0), reading(3, TaskState::Sleeping, 0, 0)])
        };
        for at in [0, 10, 20] {
            let (at, readings) = look(at, Some(SystemCall::File));
            ledger.add(at, &readings, &records);
        }
        assert_eq!(ledger.threads[&1].held_up, TimeSplit { device: Nanos::from_ms(40), ..TimeSplit::default() });
        assert_eq!(ledger.threads[&2].during(ThreadActivity::Arrived).ran, Nanos::from_ms(20));
        assert_eq!(ledger.threads[&2].held_up, TimeSplit::default());
    }
}
