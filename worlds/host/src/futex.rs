//! Sleeping until a word in memory changes: Linux's futex.
use core::sync::atomic::AtomicU32;
use foregather_machine::Nanos;
use rustix::io::Errno;
use rustix::thread::futex::{self, Flags, Timespec};

/// The threads that may sleep on a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Threads of this process only: cheaper, as the kernel looks at the address alone.
    Private,
    /// Threads of any process that maps the word.
    Shared,
}

impl Scope {
    #[inline]
    fn flags(self) -> Flags {
        match self {
            Self::Private => Flags::PRIVATE,
            Self::Shared => Flags::empty(),
        }
    }
}

/// Sleeps while `word` holds `expected`, at most for `timeout`. Returns spuriously too: look at the word
/// again.
///
/// The kernel compares and goes to sleep in one step, so a wake that follows the change of the word is never
/// lost.
#[inline]
pub fn wait(word: &AtomicU32, expected: u32, timeout: Option<Nanos>, scope: Scope) {
    let timeout = timeout.filter(|&timeout| timeout != Nanos::MAX).map(timespec);
    if let Err(errno) = futex::wait(word, scope.flags(), expected, timeout.as_ref()) {
        debug_assert!(matches!(errno, Errno::AGAIN | Errno::INTR | Errno::TIMEDOUT), "futex wait: {errno}");
    }
}

/// Wakes all threads that sleep on the word; returns how many.
#[inline]
pub fn wake_all(word: &AtomicU32, scope: Scope) -> usize {
    wake(word, i32::MAX as u32, scope)
}

/// Wakes one thread that sleeps on the word; returns how many were woken.
#[inline]
pub fn wake_one(word: &AtomicU32, scope: Scope) -> usize {
    wake(word, 1, scope)
}

fn wake(word: &AtomicU32, most: u32, scope: Scope) -> usize {
    let woken = futex::wake(word, scope.flags(), most);
    // Of the word the kernel takes the address: a thread that had waited for the last change may have
    // unmapped its memory by now.
    debug_assert!(matches!(woken, Ok(_) | Err(Errno::FAULT)), "futex wake: {woken:?}");
    woken.unwrap_or(0)
}

fn timespec(span: Nanos) -> Timespec {
    Timespec { tv_sec: (span.0 / 1_000_000_000) as _, tv_nsec: (span.0 % 1_000_000_000) as _ }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::sync::atomic::Ordering::*;
    use std::thread;

    const LONG: Option<Nanos> = Some(Nanos::from_ms(20_000));

    /// Tries until it succeeds: there is no other way to tell when a thread is asleep.
    fn eventually(mut succeeds: impl FnMut() -> bool) -> bool {
        (0..20_000).any(|_| {
            let done = succeeds();
            if !done {
                thread::sleep(std::time::Duration::from_millis(1));
            }
            done
        })
    }

    #[test]
    fn a_sleeper_is_woken_although_the_word_is_unchanged() {
        for scope in [Scope::Private, Scope::Shared] {
            let (word, awake) = (AtomicU32::new(7), AtomicU32::new(0));
            thread::scope(|threads| {
                threads.spawn(|| {
                    wait(&word, 7, LONG, scope);
                    awake.store(1, Release);
                });
                assert!(eventually(|| wake_one(&word, scope) == 1), "nobody slept");
            });
            assert_eq!(awake.load(Acquire), 1);
        }
    }

    #[test]
    fn one_call_wakes_all_sleepers() {
        let word = AtomicU32::new(0);
        thread::scope(|threads| {
            for _ in 0..3 {
                threads.spawn(|| {
                    while word.load(Acquire) == 0 {
                        wait(&word, 0, LONG, Scope::Private);
                    }
                });
            }
            // Threads that were woken before the others slept go to sleep again.
            let woken = eventually(|| wake_all(&word, Scope::Private) == 3);
            word.store(1, Release);
            wake_all(&word, Scope::Private);
            assert!(woken, "no call woke all three");
        });
    }

    #[test]
    fn nobody_sleeps_on_a_word_that_has_changed() {
        let word = AtomicU32::new(1);
        // Without a time-out: a sleep would hang the test.
        wait(&word, 0, None, Scope::Private);
        wait(&word, 0, Some(Nanos::MAX), Scope::Shared);
        assert_eq!(wake_all(&word, Scope::Private), 0, "nobody sleeps");
    }

    #[test]
    fn a_sleep_ends_at_its_time_out() {
        let word = AtomicU32::new(0);
        let began = std::time::Instant::now();
        // A signal may end one sleep early, not a hundred.
        for _ in 0..100 {
            wait(&word, 0, Some(Nanos::from_ms(20)), Scope::Private);
            if began.elapsed().as_millis() >= 20 {
                return;
            }
        }
        panic!("a sleep of 20 ms ended at once a hundred times");
    }

    #[test]
    fn times_are_split_into_seconds_and_the_rest() {
        let time = timespec(Nanos(3_000_000_007));
        assert_eq!((time.tv_sec, time.tv_nsec), (3, 7));
    }
}
