//! Whether this process is a copy of the one that started something: a child of `fork` has its parent's memory, but of its threads
//! only the one that forked.
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
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

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{Pid, WaitOptions, waitpid};

    /// Forks; the child ends with that.
    fn forked_says(child: impl FnOnce() -> i32) -> Option<i32> {
        // SAFETY: the child calls only what needs no lock that another thread may have held, and then ends.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            let code = child();
            // SAFETY: it ends the process without touching anything.
            unsafe { libc::_exit(code) };
        }
        waitpid(Pid::from_raw(pid), WaitOptions::empty()).unwrap().unwrap().1.exit_status()
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
