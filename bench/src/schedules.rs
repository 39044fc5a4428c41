//! A few threads that run, sleep and wake each other, and what the kernel's scheduler decided meanwhile.
use crate::Cell;
use foregather_host::watched::decisions::{SchedulerRecord, SchedulerStep, SchedulerWatch};
use foregather_host::{affinity, clock, sched, usage};
use foregather_machine::{CpuId, Error, Nanos, SplitMix, ThreadId};
use serde::{Deserialize, Serialize};
use std::hint::spin_loop;
use std::sync::{Barrier, OnceLock};
use std::thread::{self, Thread};
use std::time::Duration;

/// One step of a thread. Times vary by a half either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ScheduleStep {
    /// Computes for that many microseconds of processor time.
    Run(u64),
    /// Sleeps for that many microseconds.
    Sleep(u64),
    /// Wakes a thread from its next `Wait`.
    Wake(usize),
    /// Sleeps until another thread wakes this one, 20 ms at most.
    Wait,
}

/// A thread that goes through its steps again and again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScheduledThread {
    /// Its nice value.
    pub nice: i8,
    /// Its steps.
    pub steps: Vec<ScheduleStep>,
}

/// Threads on a few processors, for a while.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScheduleCell {
    /// The processors on which each of them may run.
    pub cpus: Vec<CpuId>,
    /// The threads.
    pub threads: Vec<ScheduledThread>,
    /// For how long they run.
    pub span_ns: u64,
    /// Of the times.
    pub seed: u64,
}

/// What was recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScheduleRecording {
    /// The kernel's numbers of the threads.
    pub threads: Vec<ThreadId>,
    /// When they began.
    pub began_ns: u64,
    /// Whether threads of other programs were in other queues.
    pub separate: bool,
    /// What the scheduler did, in the order of time.
    records: Vec<Packed>,
}

/// Time, processor, kind, thread, and a number of that kind.
type Packed = (u64, CpuId, char, ThreadId, u64);

fn pack(record: &SchedulerRecord) -> Packed {
    let (kind, thread, number) = match record.step {
        SchedulerStep::Switch { from, is_ready: true, to } => ('p', from, u64::from(to)),
        SchedulerStep::Switch { from, is_ready: false, to } => ('s', from, u64::from(to)),
        SchedulerStep::Waking { thread } => ('w', thread, 0),
        SchedulerStep::Woken { thread, on } => ('q', thread, u64::from(on)),
        SchedulerStep::Ran { thread, span } => ('r', thread, span.0),
        SchedulerStep::Migrated { thread, to } => ('m', thread, u64::from(to)),
        SchedulerStep::Lost => ('l', 0, 0),
    };
    (record.at.0, record.cpu, kind, thread, number)
}

fn unpack(&(at, cpu, kind, thread, number): &Packed) -> SchedulerRecord {
    let step = match kind {
        'p' | 's' => SchedulerStep::Switch { from: thread, is_ready: kind == 'p', to: number as u32 },
        'w' => SchedulerStep::Waking { thread },
        'q' => SchedulerStep::Woken { thread, on: number as u32 },
        'r' => SchedulerStep::Ran { thread, span: Nanos(number) },
        'm' => SchedulerStep::Migrated { thread, to: number as u32 },
        _ => SchedulerStep::Lost,
    };
    SchedulerRecord { at: Nanos(at), cpu, step }
}

impl ScheduleRecording {
    /// A recording of these threads.
    pub fn new(threads: Vec<ThreadId>, began: Nanos, separate: bool, records: &[SchedulerRecord]) -> Self {
        Self { threads, began_ns: began.0, separate, records: records.iter().map(pack).collect() }
    }

    /// What the scheduler did, in the order of time.
    pub fn records(&self) -> impl Iterator<Item = SchedulerRecord> {
        self.records.iter().map(unpack)
    }
}

/// What a cell may take besides its span.
const MORE: Nanos = Nanos::from_ms(10_000);
/// Threads begin together after this time, when all sleep.
const SETTLE: Nanos = Nanos::from_ms(4);
const WAIT: Duration = Duration::from_millis(20);
/// In a longer gap between two looks at the clock, another thread had the processor.
const GAP: Nanos = Nanos::from_us(50);

impl Cell for ScheduleCell {
    const VERB: &'static str = "schedule";
    type Answer = ScheduleRecording;

    fn check(&self) -> Result<(), String> {
        let count = self.threads.len();
        let known = |step: &ScheduleStep| !matches!(step, ScheduleStep::Wake(thread) if *thread >= count);
        let takes_time = |step: &ScheduleStep| !matches!(step, ScheduleStep::Wake(_));
        let fits = |thread: &ScheduledThread| thread.steps.iter().all(known) && thread.steps.iter().any(takes_time);
        if self.cpus.is_empty() || !self.threads.iter().all(fits) {
            return Err("a thread has no step that takes time, or wakes one that there is not".into());
        }
        Ok(())
    }

    fn at_most(&self) -> Nanos {
        Nanos(self.span_ns) * 2 + MORE
    }

    fn run(&self) -> Result<Option<ScheduleRecording>, String> {
        clock::init();
        let separate = sched::leave_session();
        let watch = SchedulerWatch::open(&affinity::allowed_at_start()).map_err(|error| error.to_string())?;
        let (ready, start) = (Barrier::new(self.threads.len() + 1), OnceLock::new());
        let (ready, start) = (&ready, &start);
        let threads = thread::scope(|scope| {
            let start_one = |number| scope.spawn(move || self.member(number, ready, start));
            let running: Vec<_> = (0..self.threads.len()).map(start_one).collect();
            ready.wait();
            let handles = running.iter().map(|thread| thread.thread().clone()).collect();
            let _ = start.set(CommonStart { handles, began: watch_time() + SETTLE });
            ready.wait();
            let ended = running.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            ended.collect::<Result<Vec<ThreadId>, Error>>()
        });
        let threads = threads.map_err(|error| error.to_string())?;
        let began = start.get().map_or(Nanos::ZERO, |start| start.began);
        Ok(Some(ScheduleRecording::new(threads, began, separate, &watch.take())))
    }
}

/// What all threads know when they begin.
struct CommonStart {
    handles: Vec<Thread>,
    began: Nanos,
}

/// The clock of the kernel's records.
fn watch_time() -> Nanos {
    foregather_host::watched::page::now()
}

impl ScheduleCell {
    /// A thread's life.
    fn member(&self, number: usize, ready: &Barrier, start: &OnceLock<CommonStart>) -> Result<ThreadId, Error> {
        let placed = affinity::set(&self.cpus).and_then(|()| sched::set_nice(self.threads[number].nice));
        ready.wait();
        ready.wait();
        placed?;
        if let Some(start) = start.get() {
            self.perform(number, start);
        }
        Ok(usage::this_thread())
    }

    fn perform(&self, number: usize, start: &CommonStart) {
        let mut random = SplitMix(self.seed ^ (number as u64) << 32);
        let mut vary = |us: u64| Nanos(us * 500 + random.below(us.max(1) * 1_000));
        let settle = start.began - watch_time();
        let end = clock::now() + settle + Nanos(self.span_ns);
        thread::sleep(Duration::from_nanos(settle.0));
        for step in self.threads[number].steps.iter().cycle() {
            if clock::now() >= end {
                break;
            }
            match *step {
                ScheduleStep::Run(us) => compute_for(vary(us), end),
                ScheduleStep::Sleep(us) => thread::sleep(Duration::from_nanos(vary(us).0)),
                ScheduleStep::Wake(thread) => start.handles[thread].unpark(),
                ScheduleStep::Wait => thread::park_timeout(WAIT),
            }
        }
    }
}

/// Computes for a span of processor time, or until the end.
fn compute_for(span: Nanos, end: Nanos) {
    let (mut last, mut had) = (clock::now(), Nanos::ZERO);
    while had < span && last < end {
        spin_loop();
        let now = clock::now();
        let passed = now - last;
        if passed <= GAP {
            had += passed;
        }
        last = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_keeps_every_step() {
        let steps = [
            SchedulerStep::Switch { from: 1, is_ready: true, to: 2 },
            SchedulerStep::Switch { from: 1, is_ready: false, to: 0 },
            SchedulerStep::Waking { thread: 3 },
            SchedulerStep::Woken { thread: 3, on: 1 },
            SchedulerStep::Ran { thread: 3, span: Nanos(70_000) },
            SchedulerStep::Migrated { thread: 4, to: 1 },
            SchedulerStep::Lost,
        ];
        let records = steps.map(|step| SchedulerRecord { at: Nanos(9), cpu: 1, step });
        let recording = ScheduleRecording::new(vec![1, 2], Nanos(5), true, &records);
        let text = serde_json::to_string(&recording).unwrap();
        let again: ScheduleRecording = serde_json::from_str(&text).unwrap();
        assert_eq!(again.records().collect::<Vec<_>>(), records);
    }

    #[test]
    fn threads_must_take_time_and_wake_only_each_other() {
        let cell = |steps: Vec<ScheduleStep>| ScheduleCell {
            cpus: vec![0],
            threads: vec![ScheduledThread { nice: 0, steps }],
            span_ns: 1,
            seed: 1,
        };
        assert!(cell(vec![ScheduleStep::Run(1), ScheduleStep::Wake(0)]).check().is_ok());
        assert!(cell(vec![ScheduleStep::Wake(0)]).check().is_err());
        assert!(cell(vec![ScheduleStep::Run(1), ScheduleStep::Wake(1)]).check().is_err());
    }
}
