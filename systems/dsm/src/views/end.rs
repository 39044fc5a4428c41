//! What a signal handler may do if it cannot serve a fault: print why, and end the process.
use libc::{_exit, STDERR_FILENO, write};

/// Writes a line to standard error, and ignores errors.
pub(super) fn say(text: &str) {
    for part in ["foregather: ", text, "\n"] {
        // SAFETY: the bytes are the text's own.
        let _ = unsafe { write(STDERR_FILENO, part.as_ptr().cast(), part.len()) };
    }
}

/// Prints why, and ends the process with code 1 without running any more of its code.
pub fn end_process(why: &str) -> ! {
    // If the write fails, there is no other way to report it.
    // SAFETY: both calls are allowed in a signal handler; the pointer and length are those of `why`.
    unsafe {
        write(STDERR_FILENO, why.as_ptr().cast(), why.len());
        _exit(1)
    }
}
