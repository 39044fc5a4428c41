//! Does a thread of another process hold a processor? Linux gives half an answer.
//!
//! The processor clock of another process is brought up to date by the scheduler's tick alone, so two
//! readings a microsecond apart are equal even while it runs, and thread clocks can be read within one
//! process only. There remains the state in `/proc` (proc(5)): a thread that is not runnable does not run,
//! nor does one whose processor is the asker's own. A thread that is runnable elsewhere runs, as long as its
//! processor is not crowded: a waiter's spin is bounded anyway.
use foregather_machine::{CpuId, ThreadId};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::read;

/// Fields after the name of the program: the state, and the processor it last ran on.
const STATE: usize = 0;
const PROCESSOR: usize = 36;

/// `None` if there is no such thread, or the system hides it. Takes a few microseconds.
pub(crate) fn running(thread: ThreadId, here: CpuId) -> Option<bool> {
    let file = openat(CWD, format!("/proc/{thread}/stat"), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let mut text = [0; 1_024];
    let length = read(&file, &mut text).ok()?;
    parse(text.get(..length)?, here)
}

fn parse(stat: &[u8], here: CpuId) -> Option<bool> {
    // The name stands in parentheses and may itself contain any character.
    let name_ends = stat.iter().rposition(|&byte| byte == b')')?;
    let fields: Vec<&str> = str::from_utf8(stat.get(name_ends + 1..)?).ok()?.split_ascii_whitespace().collect();
    let processor: CpuId = fields.get(PROCESSOR)?.parse().ok()?;
    Some(fields[STATE] == "R" && processor != here)
}

#[cfg(test)]
mod tests {
    use super::*;
    use foregather_host::usage::this_thread;
    use foregather_machine::VALUE_MASK;

    fn stat(name: &str, state: &str, processor: &str) -> Vec<u8> {
        let between = "1 ".repeat(PROCESSOR - 1);
        format!("77 ({name}) {state} {between}{processor} 0 0\n").into_bytes()
    }

    #[test]
    fn who_is_runnable_elsewhere_runs() {
        for (state, processor, runs) in
            [("R", "3", true), ("R", "2", false), ("S", "3", false), ("T", "3", false), ("Z", "3", false)]
        {
            assert_eq!(parse(&stat("a", state, processor), 2), Some(runs), "{state} on {processor}");
        }
        assert_eq!(parse(&stat(") R (b) S", "R", "3"), 2), Some(true), "whatever the program is called");
    }

    #[test]
    fn what_cannot_be_read_is_not_known() {
        let cut = &stat("a", "R", "3")[..40];
        for text in [&b""[..], b"77 (a", b"77 (a) R 1 2", cut, &stat("a", "R", "x")] {
            assert_eq!(parse(text, 2), None, "{:?}", str::from_utf8(text));
        }
        assert_eq!(running(VALUE_MASK, 0), None, "nobody");
    }

    /// The asking thread is runnable, and no processor has that number.
    #[test]
    fn the_kernel_writes_it_like_that() {
        assert_eq!(running(this_thread(), CpuId::MAX), Some(true));
    }
}
