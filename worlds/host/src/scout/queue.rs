//! The scout's questions and answers, without the kernel, of which this file knows only [`KernelCalls`].
use super::atomic::{AtomicU32, AtomicU64};
use core::sync::atomic::Ordering::*;
use foregather_machine::{CpuId, Nanos, ThreadId};

/// On an idle processor the scout answers within this time, which a few wake-ups take; on a busy one it waits
/// for milliseconds.
pub(super) const PROMPT: Nanos = Nanos::from_us(500);
/// For how long a question blocks other questions, and an answer is valid.
pub(super) const GOOD: Nanos = Nanos::from_ms(3);

/// What the queue needs from the kernel.
pub(super) trait KernelCalls {
    /// This process.
    fn process(&self) -> u32;
    /// The time.
    fn now(&self) -> Nanos;
    /// The caller's processor.
    fn here(&self) -> CpuId;
    /// Yields: threads that are ready on the caller's processor run first.
    fn yield_now(&self);
    /// Starts the scout; `false` if that is impossible.
    fn start(&self) -> bool;
    /// Moves the scout to that processor; `false` if that is impossible.
    fn send(&self, scout: ThreadId, cpu: CpuId) -> bool;
    /// Wakes the scout, if it sleeps on that word.
    fn wake(&self, question: &AtomicU32);
}

/// How often the scout was sent to a processor, and how often it ran there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Questions.
    pub asked: u64,
    /// Answers, including late ones.
    pub answered: u64,
}

/// Values of the scout's word that are no thread's number.
const ABSENT: u32 = 0;
const STARTING: u32 = u32::MAX;
const NEVER: u32 = u32::MAX - 1;

/// Questions, answers, and their processes. A thread that holds the lock writes all but the last three words.
pub(super) struct ScoutQueue {
    /// The process with a thread that holds the lock, or 0.
    pub(super) lock: AtomicU32,
    /// The process that the scout belongs to.
    process: AtomicU32,
    /// A thread's number, or one of the three states above. The scout writes it, too: out of [`STARTING`].
    scout: AtomicU32,
    /// The last question: its number, on which the scout sleeps, its processor, and when it was asked. 0:
    /// none.
    pub(super) question: AtomicU32,
    cpu: AtomicU32,
    asked_at: AtomicU64,
    asked: AtomicU64,
    /// The last answer: the number of its question (high half) and where it was given; and when.
    answer: AtomicU64,
    answered_at: AtomicU64,
    answered: AtomicU64,
}

/// What to do about a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Disposition {
    /// The scout must be sent.
    Ask,
    /// The scout is under way, here or elsewhere.
    Wait,
    /// The scout has answered.
    Idle,
}

/// The last question and, if there is one that belongs to it, its answer: when, and from where.
#[derive(Clone, Copy, Debug)]
struct LastAnswer {
    cpu: CpuId,
    asked_at: Nanos,
    answer: Option<(Nanos, CpuId)>,
}

impl LastAnswer {
    fn step(&self, cpu: CpuId, now: Nanos) -> Disposition {
        match self.answer {
            None if self.cpu == cpu || now - self.asked_at < GOOD => Disposition::Wait,
            Some((at, from)) if self.cpu == cpu && from == cpu && at - self.asked_at < PROMPT && now - at < GOOD => {
                Disposition::Idle
            }
            _ => Disposition::Ask,
        }
    }
}

impl ScoutQueue {
    pub(super) const fn new() -> Self {
        Self {
            lock: AtomicU32::new(0),
            process: AtomicU32::new(0),
            scout: AtomicU32::new(ABSENT),
            question: AtomicU32::new(0),
            cpu: AtomicU32::new(0),
            asked_at: AtomicU64::new(0),
            asked: AtomicU64::new(0),
            answer: AtomicU64::new(0),
            answered_at: AtomicU64::new(0),
            answered: AtomicU64::new(0),
        }
    }

    pub(super) fn counts(&self) -> Counts {
        Counts { asked: self.asked.load(Relaxed), answered: self.answered.load(Relaxed) }
    }

    pub(super) fn idle(&self, cpu: CpuId, kernel: &impl KernelCalls) -> Option<bool> {
        let process = kernel.process();
        let holder = self.lock.load(Relaxed);
        // If the mark is another process's, this process is a fork and does not have the thread that holds
        // the lock.
        if holder == process || self.lock.compare_exchange(holder, process, Acquire, Relaxed).is_err() {
            return (self.scout.load(Relaxed) != NEVER).then_some(false);
        }
        let said = self.ask(cpu, process, kernel);
        self.lock.store(0, Release);
        said
    }

    /// Asks; the caller holds the lock.
    fn ask(&self, cpu: CpuId, process: u32, kernel: &impl KernelCalls) -> Option<bool> {
        if self.process.swap(process, Relaxed) != process {
            self.scout.store(ABSENT, Relaxed);
            // The scout of the last question is not in this process.
            self.leave(0, Nanos::ZERO, self.question.load(Relaxed), 0);
        }
        match self.scout.load(Acquire) {
            NEVER => None,
            STARTING => Some(false),
            ABSENT => {
                self.scout.store(STARTING, Relaxed);
                let started = kernel.start();
                if !started {
                    self.scout.store(NEVER, Relaxed);
                }
                started.then_some(false)
            }
            scout => {
                let now = kernel.now();
                let step = self.last().step(cpu, now);
                if step == Disposition::Ask && kernel.send(scout, cpu) {
                    self.put(cpu, now);
                    kernel.wake(&self.question);
                }
                Some(step == Disposition::Idle)
            }
        }
    }

    fn last(&self) -> LastAnswer {
        let answer = self.answer.load(Acquire);
        let belongs = (answer >> 32) as u32 == self.question.load(Relaxed);
        let (at, from) = (Nanos(self.answered_at.load(Relaxed)), answer as u32);
        let asked_at = Nanos(self.asked_at.load(Relaxed));
        LastAnswer { cpu: self.cpu.load(Relaxed), asked_at, answer: belongs.then_some((at, from)) }
    }

    fn put(&self, cpu: CpuId, now: Nanos) {
        self.cpu.store(cpu, Relaxed);
        self.asked_at.store(now.0, Relaxed);
        self.asked.fetch_add(1, Relaxed);
        // Released after the scout was moved: a scout that reads this number is on the processor in question.
        self.question.fetch_add(1, Release);
    }

    pub(super) fn leave(&self, from: CpuId, now: Nanos, number: u32, count: u64) {
        self.answered_at.store(now.0, Relaxed);
        self.answered.fetch_add(count, Relaxed);
        self.answer.store(u64::from(number) << 32 | u64::from(from), Release);
    }

    /// The scout may not enter its class.
    pub(super) fn refused(&self) {
        self.scout.store(NEVER, Release);
    }

    /// The scout is ready. Returns the number of the last earlier question, whose answer no thread expects.
    pub(super) fn enter(&self, scout: ThreadId) -> u32 {
        let before = self.question.load(Relaxed);
        self.scout.store(scout, Release);
        before
    }

    /// Sleeps until there is a question after that number.
    pub(super) fn sleep(&self, answered: u32, wait: impl Fn(&AtomicU32, u32)) {
        while self.question.load(Relaxed) == answered {
            wait(&self.question, answered);
        }
    }

    /// Answers, if there is a question after that number, and returns its number.
    pub(super) fn answer(&self, answered: u32, kernel: &impl KernelCalls) -> u32 {
        let number = self.question.load(Acquire);
        if number != answered {
            kernel.yield_now();
            self.leave(kernel.here(), kernel.now(), number, 1);
        }
        number
    }

    /// The scout's thread, once it is ready.
    #[cfg(test)]
    pub(super) fn scout(&self) -> Option<ThreadId> {
        let scout = self.scout.load(Acquire);
        (![ABSENT, STARTING, NEVER].contains(&scout)).then_some(scout)
    }
}
