//! Is a processor idle? A scout is sent: a thread that yields as soon as it runs there. If it comes back at
//! once, no other thread wants that processor. Otherwise the other thread has its time slice first, and the
//! scout is late. The thread that asks does not wait.
//!
//! The scout is of the ordinary class. On a busy processor it costs two context switches, once in 3 ms at
//! most. A thread of the idle class would cost none, but it may wait there for seconds, and its process
//! cannot exit before it has run once more: under load, programs that had done their work exited up to
//! 7.6 s late. Only where the kernel has no time slices of a thread's own (before Linux 6.12) is the scout of
//! the idle class: with the usual slice it would take busy processors for idle ones.
//!
//! # States
//!
//! Each process has one scout, made at the first need. It sleeps on the number of the last question.
//!
//! | scout | means | a question |
//! |---|---|---|
//! | absent | this process has asked nothing yet, or was forked off one that had | starts it; `Some(false)` |
//! | starting | its thread sets its slice or class | `Some(false)` |
//! | ready | its thread's number is known | see below |
//! | never | no thread, or no right to either | `None` |
//!
//! The last question is *open* until it is answered. An answer counts if it came promptly (a busy processor
//! lets the scout in, too, after a turn), from the processor that was asked about, and is not stale.
//!
//! | last question | the same processor | another one |
//! |---|---|---|
//! | open | `Some(false)` | `Some(false)`; after 3 ms it is given up, and the new one asked |
//! | answered, the answer counts | `Some(true)` | the new one is asked: `Some(false)` |
//! | answered, it does not | asked again: `Some(false)` | the new one is asked: `Some(false)` |
//!
//! # Races
//!
//! 1. **Two ask at once.** One word locks the queue; the loser gets `Some(false)` and does not wait.
//! 2. **A late answer to an old question.** Answers carry the number of their question; another number is no
//!    answer.
//! 3. **The scout reads the new number where the old question sent it.** It is moved first and then reads the
//!    number: when it can see the number, it is on the new processor. It also says where it was when it had
//!    read the number, in case the kernel has broken its mask because the processor went away.
//! 4. **The question comes while the scout goes to sleep.** It sleeps only while the number is the one it has
//!    answered.
//! 5. **Fork.** The child has the words but not the thread, and perhaps a locked queue. All are marked with
//!    their process.
//!
//! `stepwise.rs` plays the states one by one, `tests/shuttle_scout.rs` the races in random order, each with a
//! fault that must be found.
mod queue;

/// The queue's words: declared here, so that `tests/shuttle_scout.rs` can have others.
mod atomic {
    pub(super) use core::sync::atomic::{AtomicU32, AtomicU64};
}

use crate::futex::{self, Scope};
use crate::signals::Blocked;
use crate::{affinity, clock, sched, usage};
use atomic::AtomicU32;
use foregather_machine::{CpuId, Nanos, ThreadId};
use queue::{KernelCalls, ScoutQueue};
use std::thread::Builder;

pub use queue::Counts;

/// The stack of the scout's thread: it calls hardly any function.
const STACK_BYTES: usize = 64 << 10;

/// A yield forfeits a time slice. A busy processor must be busy for longer than an idle one takes to
/// answer: at slices of 3 ms the scout is back too early in one of six looks at a busy processor, at 5 ms
/// in none. And neither the scout nor its process can exit before it has run once more: so not longer than
/// that.
const SLICE: Nanos = Nanos::from_us(5_000);

static DESK: ScoutQueue = ScoutQueue::new();

/// Returns whether that processor is idle. The first call sends the scout there, which takes 1 to 10 us;
/// later calls return whether it has answered. `None` if this process can have no scout.
pub fn idle(cpu: CpuId) -> Option<bool> {
    DESK.idle(cpu, &Linux)
}

/// How often this process's scout was sent, and came back.
pub fn counts() -> Counts {
    DESK.counts()
}

struct Linux;

impl KernelCalls for Linux {
    fn process(&self) -> u32 {
        std::process::id()
    }
    fn now(&self) -> Nanos {
        clock::now()
    }
    fn here(&self) -> CpuId {
        affinity::current()
    }
    fn yield_now(&self) {
        std::thread::yield_now();
    }
    fn start(&self) -> bool {
        let signals = Blocked::all();
        let started = Builder::new().name("scout".into()).stack_size(STACK_BYTES).spawn(serve).is_ok();
        drop(signals);
        started
    }
    fn send(&self, scout: ThreadId, cpu: CpuId) -> bool {
        affinity::Mask::only(cpu).is_some_and(|mask| mask.give(Some(scout)))
    }
    fn wake(&self, question: &AtomicU32) {
        futex::wake_one(question, Scope::Private);
    }
}

/// The scout's life.
fn serve() {
    if !sched::set_slice(SLICE) && sched::set_class(sched::SchedClass::Idle, 0).is_err() {
        return DESK.refused();
    }
    let mut answered = DESK.enter(usage::this_thread());
    loop {
        DESK.sleep(answered, |question, number| futex::wait(question, number, None, Scope::Private));
        answered = DESK.answer(answered, &Linux);
    }
}

#[cfg(test)]
mod tests {
    mod stepwise;

    use super::*;
    use crate::child::tests::this_test;
    use core::sync::atomic::{AtomicBool, Ordering::SeqCst};
    use std::sync::{Mutex, PoisonError};
    use std::time::Duration;
    use std::{fs, thread};

    /// All tests of this process share one scout: one test at a time.
    static ALONE: Mutex<()> = Mutex::new(());

    fn pause_a_while() {
        thread::sleep(Duration::from_micros(100));
    }

    #[test]
    fn an_idle_processor_answers() {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let before = counts();
        // Other tests compute, so some processor need be seen idle only at some time.
        let cpus = affinity::allowed();
        let found = (0..100_000).any(|i| {
            pause_a_while();
            idle(cpus[i / 100 % cpus.len()]) == Some(true)
        });
        let after = counts();
        assert!(found && after.asked > before.asked && after.answered > before.answered, "{after:?}");
    }

    #[test]
    fn a_busy_processor_is_silent_most_of_the_time() {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let (cpu, spins, stop) = (affinity::allowed()[0], AtomicBool::new(false), AtomicBool::new(false));
        let idle_moments = || {
            let look = |_: &i32| {
                pause_a_while();
                idle(cpu) == Some(true)
            };
            (0..300).filter(look).count()
        };
        // Other programs may keep the spinner off its processor, so one round must be silent, not each.
        let silent = thread::scope(|threads| {
            threads.spawn(|| {
                affinity::pin(cpu).unwrap();
                spins.store(true, SeqCst);
                while !stop.load(SeqCst) {
                    crate::pause::pause();
                }
            });
            while !spins.load(SeqCst) {
                pause_a_while();
            }
            // Answers from before the spinner came go stale.
            thread::sleep(Duration::from_millis(20));
            let silent = (0..40).any(|_| idle_moments() < 150);
            stop.store(true, SeqCst);
            silent
        });
        assert!(silent, "half of all looks and more found the spinner's processor idle, in 40 rounds");
    }

    #[test]
    fn the_scout_is_an_ordinary_thread_without_signals() {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let before = blocked("/proc/thread-self/status");
        while DESK.scout().is_none() {
            assert!(idle(0).is_some());
            pause_a_while();
        }
        assert_eq!(blocked("/proc/thread-self/status"), before, "the maker's signals are as before");
        let scout = format!("/proc/self/task/{}", DESK.scout().unwrap());
        assert_eq!(fs::read_to_string(format!("{scout}/comm")).unwrap(), "scout\n");
        // All signals but the two that cannot be blocked and the two of the C library.
        assert_eq!(blocked(&format!("{scout}/status")) | 1 << 31 | 1 << 32, !(1 << 8 | 1 << 18));
        let policy = fs::read_to_string(format!("{scout}/stat")).unwrap();
        let policy = policy.rsplit(')').next().unwrap().split_ascii_whitespace().nth(38).unwrap().to_owned();
        let wanted = if sched::set_slice(SLICE) { libc::SCHED_OTHER } else { libc::SCHED_IDLE };
        assert_eq!(policy, wanted.to_string());
    }

    /// Returns whether the scout comes back within ten seconds, wherever it is sent.
    fn comes_back() -> bool {
        let before = counts().answered;
        (0..100_000).any(|_| {
            pause_a_while();
            affinity::allowed().iter().any(|&cpu| idle(cpu) == Some(true)) && counts().answered > before
        })
    }

    #[test]
    #[ignore = "runs in a child process of the next test, as forking is for programs that do nothing else"]
    fn forking() {
        assert!(comes_back());
        // SAFETY: the child makes a thread and system calls, for which the C library readies it, and ends
        // without unwinding.
        let child = unsafe { libc::fork() };
        assert!(child >= 0);
        if child == 0 {
            let fine = comes_back();
            // SAFETY: ends the process, and runs no code of the parent's.
            unsafe { libc::_exit(if fine { 0 } else { 1 }) };
        }
        let mut status = 0;
        // SAFETY: the call writes into `status` and nowhere else.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert_eq!(status, 0, "the child's scout comes back, too");
        assert!(comes_back());
    }

    #[test]
    fn a_forked_process_gets_a_scout_of_its_own() {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let output = this_test("scout::tests::forking").output_within(Nanos::from_ms(60_000)).unwrap();
        assert!(output.status.success(), "{output:?}");
    }

    fn blocked(status: &str) -> u64 {
        let text = fs::read_to_string(status).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("SigBlk:")).unwrap();
        u64::from_str_radix(line.trim(), 16).unwrap()
    }
}
