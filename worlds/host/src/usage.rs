//! What threads and processes have used: processor time and context switches.
use foregather_machine::Nanos;
use rustix::time::{ClockId, clock_gettime};

/// How often a thread lost its processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Switches {
    /// It gave the processor away: it blocked, or yielded to somebody.
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

/// Processor time of all children that have ended and were waited for, and of theirs.
pub fn children_cpu() -> Nanos {
    let usage = usage(libc::RUSAGE_CHILDREN);
    let nanos = |time: libc::timeval| Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000);
    nanos(usage.ru_utime) + nanos(usage.ru_stime)
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

fn usage(who: libc::c_int) -> libc::rusage {
    // SAFETY: `rusage` is made of integers, for which zero is a value; the call writes into it and nowhere else. It
    // fails for an unknown `who` only, and then leaves the zeros.
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
