//! Forks: whether this process is a copy of one that started a thread, and how to keep a fork from copying
//! something half done. A child of `fork` has its parent's memory, but of its threads only the one that
//! forked.
//!
//! A lock that another thread holds during the fork stays locked in the child. So values that are computed
//! once are published by one store ([`Once`]), and tables behind a lock are changed within [`undivided`], for
//! whose end a fork waits.
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};
use once_cell::race::OnceBox;
use rustix::process::{Pid, WaitOptions, WaitStatus, waitpid};

static FORKS: AtomicU32 = AtomicU32::new(0);
/// The changes of tables under way.
static CHANGES: AtomicU32 = AtomicU32::new(0);
/// The threads that are about to fork.
static FORKING: AtomicU32 = AtomicU32::new(0);

extern "C" fn before_fork() {
    FORKING.fetch_add(1, SeqCst);
    // A change takes microseconds, and none begins from now on.
    while CHANGES.load(SeqCst) > 0 {
        std::thread::yield_now();
    }
}

extern "C" fn after_fork() {
    FORKING.fetch_sub(1, SeqCst);
}

extern "C" fn in_forked_child() {
    // Other threads that were about to fork are not here.
    FORKING.store(0, SeqCst);
    FORKS.fetch_add(1, Relaxed);
}

/// Registers the handlers. Two threads that do so at the same time register them twice, which makes a fork
/// count twice and costs nothing else.
#[inline]
fn watch() {
    static WATCHED: AtomicBool = AtomicBool::new(false);
    if !WATCHED.load(Acquire) {
        // SAFETY: the handlers are functions of this program that only use atomics and yield, which a child
        // of a process with threads may do.
        let watched = unsafe { libc::pthread_atfork(Some(before_fork), Some(after_fork), Some(in_forked_child)) };
        // The C library had no memory for three pointers: forks go unnoticed then.
        debug_assert_eq!(watched, 0);
        WATCHED.store(true, Release);
    }
}

/// Returns a number that differs between this process and those that it was forked from. Threads started
/// under another number do not exist here. A child of `vfork` or of a bare `clone` is not noticed: it must
/// start no thread.
#[inline]
pub fn generation() -> u32 {
    watch();
    FORKS.load(Relaxed)
}

/// [`generation`] for a caller whose process, or its parent, has called that before: one load.
#[inline]
pub fn generation_now() -> u32 {
    FORKS.load(Relaxed)
}

/// Changes a table, or reads it under its lock. A fork waits until this returns, so that no child inherits
/// the lock while it is held. `change` must neither fork nor wait for another thread.
///
/// A descriptor that has an owner in memory is opened like that, too: the kernel copies the descriptors
/// before the memory, so a child could have an owner of a descriptor that it lacks, and close another file of
/// that number.
pub fn undivided<T>(change: impl FnOnce() -> T) -> T {
    struct Changed;
    impl Drop for Changed {
        fn drop(&mut self) {
            CHANGES.fetch_sub(1, SeqCst);
        }
    }
    watch();
    loop {
        CHANGES.fetch_add(1, SeqCst);
        let changed = Changed;
        if FORKING.load(SeqCst) == 0 {
            return change();
        }
        drop(changed);
        std::thread::yield_now();
    }
}

/// A value that is computed when it is first asked for. Threads that ask at the same time each compute it,
/// and the first result is kept, so neither a thread nor a child of a fork ever waits for another one.
pub struct Once<T>(OnceBox<T>);

impl<T> Once<T> {
    /// Creates an empty one.
    pub const fn new() -> Self {
        Self(OnceBox::new())
    }

    /// Returns the value, unless it has not been computed yet.
    #[inline]
    pub fn get(&self) -> Option<&T> {
        self.0.get()
    }

    /// Returns the value, which `compute` gives if no thread has stored one yet. `compute` may be called by
    /// several threads, so it must have no effect that may not occur twice.
    #[inline]
    pub fn get_or_compute(&self, compute: impl FnOnce() -> T) -> &T {
        self.0.get_or_init(|| Box::new(compute()))
    }
}

impl<T> Default for Once<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// Forks, for tests of a child's state: `child` runs there, and the process exits with its result; it is
/// killed after half a minute. Returns the child's status.
///
/// # Panics
/// If no child can be made.
pub fn in_child(child: impl FnOnce() -> i32) -> WaitStatus {
    // SAFETY: `fork` itself is always allowed. The C library keeps its allocator and its thread starts usable
    // in the child; a lock held by another thread can stop the child, and then the alarm ends it.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        // SAFETY: both calls concern this process only; the second ends it without running any code of the
        // parent's.
        unsafe {
            libc::alarm(30);
            libc::_exit(child());
        }
    }
    let ended = Pid::from_raw(pid).and_then(|pid| waitpid(Some(pid), WaitOptions::empty()).ok().flatten());
    ended.expect("a child that can be waited for").1
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Mutex, PoisonError};
    use std::time::Duration;

    fn exit_code_of(child: impl FnOnce() -> i32) -> Option<i32> {
        in_child(child).exit_status()
    }

    #[test]
    fn a_child_and_its_child_are_further_away() {
        let here = generation();
        let away = || (generation() - here).min(100) as i32;
        let (child, grandchild) = (exit_code_of(away).unwrap(), exit_code_of(|| exit_code_of(away).unwrap_or(0)).unwrap());
        assert!(0 < child && child < grandchild, "{child} {grandchild}");
        assert_eq!(generation(), here, "the parent is where it was");
    }

    #[test]
    fn a_value_that_is_being_computed_during_a_fork_is_computed_again_by_the_child() {
        static VALUE: Once<u32> = Once::new();
        let (began, go_on) = (AtomicBool::new(false), AtomicBool::new(false));
        std::thread::scope(|threads| {
            threads.spawn(|| {
                VALUE.get_or_compute(|| {
                    began.store(true, Release);
                    while !go_on.load(Acquire) {
                        std::thread::yield_now();
                    }
                    1
                })
            });
            while !began.load(Acquire) {
                std::thread::yield_now();
            }
            assert_eq!(exit_code_of(|| *VALUE.get_or_compute(|| 7) as i32), Some(7));
            go_on.store(true, Release);
        });
        assert_eq!(VALUE.get_or_compute(|| 9), &1);
    }

    #[test]
    fn a_fork_waits_until_tables_are_whole() {
        static TABLE: Mutex<[u32; 2]> = Mutex::new([0; 2]);
        let table = || TABLE.lock().unwrap_or_else(PoisonError::into_inner);
        let end = AtomicBool::new(false);
        std::thread::scope(|threads| {
            threads.spawn(|| {
                while !end.load(Relaxed) {
                    undivided(|| {
                        let mut table = table();
                        table[0] += 1;
                        std::thread::sleep(Duration::from_millis(1));
                        table[1] += 1;
                    });
                }
            });
            let child = || TABLE.try_lock().map_or(2, |table| i32::from(table[0] != table[1]));
            let codes: Vec<_> = (0..50).map(|_| exit_code_of(child)).collect();
            end.store(true, Relaxed);
            assert_eq!(codes, [Some(0); 50]);
        });
    }
}
