//! Whether this process is a copy of the one that started something: a child of `fork` has its parent's memory, but of its threads
//! only the one that forked.
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use rustix::process::{Pid, WaitOptions, WaitStatus, waitpid};
use std::sync::Once;

static FORKS: AtomicU32 = AtomicU32::new(0);

extern "C" fn forked() {
    FORKS.fetch_add(1, Relaxed);
}

/// How many forks lie between this process and the one that asked first. What was started under another number is not there.
/// A child of `vfork` or of a bare `clone` is not noticed: it must not start anything.
#[inline]
pub fn generation() -> u32 {
    static WATCHED: Once = Once::new();
    if !WATCHED.is_completed() {
        WATCHED.call_once(|| {
            // SAFETY: the handler is a function of this program that adds to an atomic, as a child of a process with threads may.
            let watched = unsafe { libc::pthread_atfork(None, None, Some(forked)) };
            // The C library had no memory for three pointers: forks go unnoticed then.
            debug_assert_eq!(watched, 0);
        });
    }
    FORKS.load(Relaxed)
}

/// The same for a caller whose process, or its parent, has asked for the [`generation`] before: one load.
#[inline]
pub fn generation_now() -> u32 {
    FORKS.load(Relaxed)
}

/// Forks, for tests of what becomes of things in a child: there `child` runs, and the process ends at once with what it returns; it is
/// killed after half a minute. How it ended. A lock that another thread holds meanwhile is held in the child for ever.
///
/// # Panics
/// If there can be no child.
pub fn in_child(child: impl FnOnce() -> i32) -> WaitStatus {
    // SAFETY: a fork as such is always allowed. Of what the child calls, the C library keeps its allocator and its thread starts usable
    // after a fork; a lock held elsewhere can stop the child, and the alarm ends it then.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        // SAFETY: both concern this process only; the second ends it without running anything of the parent's.
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
