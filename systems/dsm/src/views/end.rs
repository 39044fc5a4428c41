//! The end of a process that cannot go on, from within a signal handler.
use libc::{_exit, STDERR_FILENO, write};

/// Says why, and ends the process with code 1, without running any more of its code.
pub fn end_process(why: &str) -> ! {
    // If the write fails, there is no other way to tell.
    // SAFETY: both calls are allowed in a signal handler; the pointer and length are those of `why`.
    unsafe {
        write(STDERR_FILENO, why.as_ptr().cast(), why.len());
        _exit(1)
    }
}
