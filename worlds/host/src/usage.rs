//! What threads and processes have used: processor time and context switches; and whether they run just now.
use crate::{clock, pause::pause};
use foregather_machine::{Nanos, ThreadId};
use rustix::time::{ClockId, clock_gettime};

/// How often a thread lost its processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Switches {
    /// It gave the processor away: it blocked, or yielded.
    pub voluntary: u64,
    /// It was preempted.
    pub involuntary: u64,
}

/// Processor time of the calling thread.
#[inline]
pub fn thread_cpu() -> Nanos {
    cpu(ClockId::ThreadCPUTime)
}

/// Processor time of this process: all its threads, dead ones too.
#[inline]
pub fn process_cpu() -> Nanos {
    cpu(ClockId::ProcessCPUTime)
}

/// The number of this process, which is that of its first thread.
pub fn this_process() -> ThreadId {
    std::process::id()
}

/// The calling thread's number, by which others of its process may ask after it.
pub fn this_thread() -> ThreadId {
    rustix::thread::gettid().as_raw_nonzero().get() as ThreadId
}

/// Processor time of a thread of this process; `None` if there is no such thread (any more).
pub fn thread_cpu_of(thread: ThreadId) -> Option<Nanos> {
    const THREAD: libc::clockid_t = 6;
    cpu_of(thread, THREAD)
}

/// Processor time of a process: all its threads; `None` if there is no such process (any more).
pub fn process_cpu_of(process: u32) -> Option<Nanos> {
    const PROCESS: libc::clockid_t = 2;
    cpu_of(process, PROCESS)
}

/// Returns whether a CPU-time clock is advancing, which it does while its thread, or a thread of its process,
/// is running. Reads the clock twice, one microsecond apart. `None` if the clock cannot be read.
pub fn advances(clock: impl Fn() -> Option<Nanos>) -> Option<bool> {
    const APART: Nanos = Nanos::from_us(1);
    let (first, begun, apart) = (clock()?, clock::cycles(), clock::nanos_to_cycles(APART));
    while clock::cycles().wrapping_sub(begun) < apart {
        pause();
    }
    Some(clock()? > first)
}

/// Processor time of all children that have ended and were waited for, and of their children.
pub fn children_cpu() -> Nanos {
    let usage = usage(libc::RUSAGE_CHILDREN);
    let nanos = |time: libc::timeval| Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000);
    nanos(usage.ru_utime) + nanos(usage.ru_stime)
}

/// Context switches of all children that have ended and were waited for, and of their children.
pub fn children_switches() -> Switches {
    switches(libc::RUSAGE_CHILDREN)
}

/// The most memory that this process has had at once, in KiB.
pub fn peak_memory_kib() -> u64 {
    usage(libc::RUSAGE_SELF).ru_maxrss as u64
}

/// Context switches of this process: all its threads, dead ones too.
pub fn process_switches() -> Switches {
    switches(libc::RUSAGE_SELF)
}

/// Context switches of the calling thread.
pub fn thread_switches() -> Switches {
    switches(libc::RUSAGE_THREAD)
}

fn switches(who: libc::c_int) -> Switches {
    let usage = usage(who);
    Switches { voluntary: usage.ru_nvcsw as u64, involuntary: usage.ru_nivcsw as u64 }
}

fn cpu(clock: ClockId) -> Nanos {
    let time = clock_gettime(clock);
    Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// The kernel numbers the clocks of others by their complement, above three bits that say which time is
/// counted.
fn cpu_of(number: u32, what: libc::clockid_t) -> Option<Nanos> {
    // 0 would mean the caller.
    let number = libc::clockid_t::try_from(number).ok().filter(|number| (1..1 << 28).contains(number))?;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes into `time` and nowhere else; a clock that does not exist is an error.
    let read = unsafe { libc::clock_gettime((!number << 3) | what, &raw mut time) } == 0;
    read.then(|| Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64))
}

fn usage(who: libc::c_int) -> libc::rusage {
    // SAFETY: `rusage` is made of integers, for which zero is valid; the call writes into it and nowhere
    // else. It fails only for an unknown `who`, and then leaves the zeros.
    unsafe {
        let mut usage: libc::rusage = core::mem::zeroed();
        libc::getrusage(who, &raw mut usage);
        usage
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::child::tests::this_test;
    use crate::futex::{self, Scope};
    use core::sync::atomic::{AtomicU32, Ordering::*};
    use std::process::Command;
    use std::thread;
    use std::time::Duration;

    /// Burns at least that much processor time.
    fn burn(span: Nanos) {
        let began = thread_cpu();
        while thread_cpu() - began < span {
            core::hint::spin_loop();
        }
    }

    #[test]
    fn computing_counts_and_sleeping_does_not() {
        thread::spawn(|| {
            let before = (thread_cpu(), process_cpu());
            burn(Nanos::from_ms(20));
            assert!(process_cpu() - before.1 >= Nanos::from_ms(20));
            let before = thread_cpu();
            thread::sleep(Duration::from_millis(100));
            assert!(thread_cpu() - before < Nanos::from_ms(50));
        })
        .join()
        .unwrap();
    }

    #[test]
    fn the_time_of_a_dead_thread_stays_with_the_process() {
        let before = process_cpu();
        thread::spawn(|| burn(Nanos::from_ms(10))).join().unwrap();
        assert!(process_cpu() - before >= Nanos::from_ms(10));
    }

    #[test]
    fn a_sleep_is_a_voluntary_switch() {
        let before = process_switches();
        let mine = thread_switches();
        for _ in 0..5 {
            thread::sleep(Duration::from_millis(1));
        }
        assert!(thread_switches().voluntary >= mine.voluntary + 5);
        assert!(process_switches().voluntary >= before.voluntary + 5);
    }

    #[test]
    fn a_running_thread_is_told_from_a_sleeping_one() {
        let (sleeper, spinner, stop) = (AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(0));
        thread::scope(|threads| {
            threads.spawn(|| {
                sleeper.store(this_thread(), Release);
                while stop.load(Acquire) == 0 {
                    futex::wait(&stop, 0, None, Scope::Private);
                }
            });
            threads.spawn(|| {
                spinner.store(this_thread(), Release);
                while stop.load(Acquire) == 0 {
                    pause();
                }
            });
            // Other programs may hold the processors, so each thread is asked until it has been seen in the
            // wanted state.
            let told = |who: &AtomicU32, wanted| eventually(|| advances(|| thread_cpu_of(who.load(Acquire))) == Some(wanted));
            let (asleep, runs) = (told(&sleeper, false), told(&spinner, true));
            stop.store(1, Release);
            futex::wake_all(&stop, Scope::Private);
            assert!(asleep && runs, "asleep {asleep}, runs {runs}");
        });
    }

    fn eventually(mut succeeds: impl FnMut() -> bool) -> bool {
        (0..10_000).any(|_| {
            let done = succeeds();
            if !done {
                thread::sleep(Duration::from_millis(1));
            }
            done
        })
    }

    #[test]
    fn clocks_of_others_agree_with_ones_own() {
        let (before, me, process) = ((thread_cpu(), process_cpu()), this_thread(), std::process::id());
        burn(Nanos::from_ms(2));
        let (mine, all) = (thread_cpu_of(me).unwrap(), process_cpu_of(process).unwrap());
        assert!(mine >= before.0 + Nanos::from_ms(2) && mine <= thread_cpu());
        assert!(all >= before.1 + Nanos::from_ms(2) && all <= process_cpu());
        assert_eq!(advances(|| thread_cpu_of(me)), Some(true), "the caller runs");
    }

    #[test]
    fn clocks_of_nobody_and_of_strangers_cannot_be_read() {
        let ended = thread::spawn(this_thread).join().unwrap();
        assert!(eventually(|| thread_cpu_of(ended).is_none()), "a thread that has ended");
        for nobody in [0, u32::MAX, 1 << 31, 1 << 28, (1 << 28) - 1] {
            assert_eq!((thread_cpu_of(nobody), process_cpu_of(nobody)), (None, None), "{nobody}");
        }
        let child = this_test("usage::tests::only_child");
        assert_eq!(thread_cpu_of(child.id()), None, "a thread of another process");
        assert!(process_cpu_of(child.id()).is_some(), "another process");
        assert_eq!(advances(|| thread_cpu_of(0)), None);
    }

    #[test]
    #[ignore = "runs in a child process of the next test, which has had no children"]
    fn only_child() {
        burn(Nanos::from_ms(10));
        assert_eq!(children_cpu(), Nanos::ZERO);
        let burning = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        assert!(Command::new("sh").args(["-c", burning]).status().unwrap().success());
        assert!(children_cpu() > Nanos::ZERO);
    }

    #[test]
    fn the_time_of_children_is_counted_when_they_have_ended() {
        let output = this_test("usage::tests::only_child").output_within(Nanos::from_ms(60_000)).unwrap();
        assert!(output.status.success(), "{output:?}");
    }
}
