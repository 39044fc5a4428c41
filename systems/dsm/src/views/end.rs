//! The end of a process that cannot go on, from within a signal handler.
use libc::{_exit, STDERR_FILENO, write};

/// Says why, and ends the process with code 1, without running anything else of it.
pub fn end_process(why: &str) -> ! {
    // Nobody can be told if that fails.
    // SAFETY: both are allowed in a signal handler; so many bytes are there to be read.
    unsafe {
        write(STDERR_FILENO, why.as_ptr().cast(), why.len());
        _exit(1)
    }
}
