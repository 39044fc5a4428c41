//! Is this process a copy of one that started a thread or took a lock? A child of `fork` has its parent's
//! memory, but of its threads only the one that forked.
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use rustix::process::{Pid, WaitOptions, WaitStatus, waitpid};
use std::sync::Once;

static FORKS: AtomicU32 = AtomicU32::new(0);

extern "C" fn forked() {
    FORKS.fetch_add(1, Relaxed);
}

/// How many forks lie between this process and the first one that asked. Threads started under another number
/// are not there. A child of `vfork` or of a bare `clone` is not noticed: it must start no thread.
#[inline]
pub fn generation() -> u32 {
    static WATCHED: Once = Once::new();
    if !WATCHED.is_completed() {
        WATCHED.call_once(|| {
            // SAFETY: the handler is a function of this program that only adds to an atomic, which a child of
            // a process with threads may do.
            let watched = unsafe { libc::pthread_atfork(None, None, Some(forked)) };
            // The C library had no memory for three pointers: forks go unnoticed then.
            debug_assert_eq!(watched, 0);
        });
    }
    FORKS.load(Relaxed)
}

/// [`generation`] for a caller whose process, or its parent, has called that before: one load.
#[inline]
pub fn generation_now() -> u32 {
    FORKS.load(Relaxed)
}

/// Forks, for tests of a child's state: `child` runs there, and the process ends at once with its result; it
/// is killed after half a minute. Returns how it ended. A lock that another thread holds at the fork is held
/// in the child for ever.
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

    fn forked_says(child: impl FnOnce() -> i32) -> Option<i32> {
        in_child(child).exit_status()
    }

    #[test]
    fn a_child_and_its_child_are_further_away() {
        let here = generation();
        let away = || (generation() - here) as i32;
        assert_eq!(forked_says(away), Some(1));
        assert_eq!(forked_says(|| forked_says(away).unwrap_or(9)), Some(2));
        assert_eq!(generation(), here, "the parent is where it was");
    }
}
