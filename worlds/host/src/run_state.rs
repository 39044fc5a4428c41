//! The state of a thread, of this process or of another one, as `/proc` tells it (proc(5)).
//!
//! The processor clock of another process is brought up to date by the scheduler's tick alone, so two
//! readings a microsecond apart are equal even while it runs. There remains this state: a thread that is not
//! runnable does not run, nor does one whose processor is the asker's own. A thread that is runnable
//! elsewhere runs, as long as its processor is not crowded: a waiter's spin is bounded anyway.
use foregather_machine::{CpuId, ThreadId};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::read;
use rustix::process::geteuid;
use std::fs::{metadata, read_dir, read_to_string};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// Fields after the name of the program: the state, when it was started, and the processor it last ran on.
const STATE: usize = 0;
const PARENT: usize = 1;
const FLAGS: usize = 6;
const BEGAN: usize = 19;
const PROCESSOR: usize = 36;
const EXIT_CODE: usize = 49;
/// The flag of a process that the kernel is taking down (`PF_EXITING`).
const EXITING: u32 = 4;

/// The state of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunState {
    /// Whether it is running or ready to run.
    pub is_runnable: bool,
    /// The processor on which it was last.
    pub cpu: CpuId,
}

impl RunState {
    /// `None` if there is no such thread, or the system hides it. Takes a few microseconds.
    pub fn of(thread: ThreadId) -> Option<Self> {
        Self::parse(&read_stat(thread)?)
    }

    fn parse(stat: &[u8]) -> Option<Self> {
        let fields = fields(stat)?;
        let cpu = fields.get(PROCESSOR)?.parse().ok()?;
        Some(Self { is_runnable: fields[STATE] == "R", cpu })
    }
}

/// When a process was started, in the system's ticks since it was booted: with the number it names a process
/// forever. `None` if there is none of that number, or the system hides it.
pub fn started(process: u32) -> Option<u64> {
    fields(&read_stat(process)?)?.get(BEGAN)?.parse().ok()
}

/// Returns whether `/proc` is there and numbers processes as this one's pid namespace does.
pub(crate) fn proc_is_ours() -> bool {
    let own = std::process::id().to_string();
    rustix::fs::readlink("/proc/self", Vec::new()).is_ok_and(|number| number.as_bytes() == own.as_bytes())
}

/// The parent of a process. `None` if there is no such process, or the system hides it.
pub fn parent(process: u32) -> Option<u32> {
    fields(&read_stat(process)?)?.get(PARENT)?.parse().ok()
}

/// Returns this process's group. `None` if the group's leader is outside of this pid namespace.
pub fn own_group() -> Option<u32> {
    // SAFETY: a plain call (getpgrp(2)). That of `rustix` takes 0 for a number that cannot come.
    let group = unsafe { libc::getpgrp() };
    u32::try_from(group).ok().filter(|&group| group > 0)
}

/// Returns whether the kernel is taking the process down and has not finished, or will do so once the process
/// gets a processor: each of its threads is exiting, or has been sent SIGKILL.
pub fn is_ending(process: u32) -> bool {
    let Ok(threads) = read_dir(format!("/proc/{process}/task")) else { return false };
    let mut threads = threads.flatten().filter_map(|thread| thread.file_name().to_str()?.parse().ok()).peekable();
    threads.peek().is_some() && proc_is_ours() && threads.all(is_ending_thread)
}

/// Returns whether that thread exits, has been sent SIGKILL, or has exited.
fn is_ending_thread(thread: ThreadId) -> bool {
    let Some(stat) = read_stat(thread) else { return true };
    let flags = fields(&stat).and_then(|fields| fields.get(FLAGS)?.parse::<u32>().ok());
    let killed = |line| status_line(thread, line).and_then(|mask| u64::from_str_radix(&mask, 16).ok());
    let is_killed = |line| killed(line).is_some_and(|mask| mask >> (libc::SIGKILL - 1) & 1 == 1);
    flags.is_some_and(|flags| flags & EXITING != 0) || is_killed("SigPnd:") || is_killed("ShdPnd:")
}

/// Returns the exit status of a process whose end is certain, before it can be reaped: its first thread has
/// exited, and the others will. One of the idle class may need seconds for that on a busy machine, and one
/// that a debugger traces exits once the debugger allows it. `None` for all other processes, and if the
/// system does not show the status to this user.
pub fn coming_status(process: u32) -> Option<ExitStatus> {
    unreaped_status(process).filter(|_| is_ending(process))
}

/// Returns whether the process has crashed and the kernel is writing its core dump.
pub fn is_dumping_core(process: u32) -> bool {
    status_line(process, "CoreDumping:").is_some_and(|value| value == "1")
}

/// The process that traces another one (a debugger, strace), and so is the only one that can reap it.
pub fn tracer(process: u32) -> Option<u32> {
    status_line(process, "TracerPid:")?.parse().ok().filter(|&tracer| tracer > 0)
}

/// The exit status of a process whose first thread has exited, and that is not reaped. `None` if the system
/// does not show it to this user.
pub fn unreaped_status(process: u32) -> Option<ExitStatus> {
    let stat = read_stat(process).filter(|_| proc_is_ours())?;
    let fields = fields(&stat)?;
    let code: i32 = fields.get(EXIT_CODE)?.parse().ok()?;
    // The kernel writes 0 for a process of another user.
    let is_shown = || metadata(format!("/proc/{process}")).is_ok_and(|about| about.uid() == geteuid().as_raw());
    (fields[STATE] == "Z" && (code != 0 || is_shown())).then(|| ExitStatus::from_raw(code))
}

fn status_line(process: u32, key: &str) -> Option<String> {
    let text = read_to_string(format!("/proc/{process}/status")).ok().filter(|_| proc_is_ours())?;
    text.lines().find_map(|line| line.strip_prefix(key)).map(|value| value.trim().to_owned())
}

/// Reads the `stat` file of a process or thread by one call.
pub(crate) fn read_stat(thread: ThreadId) -> Option<Vec<u8>> {
    let file = openat(CWD, format!("/proc/{thread}/stat"), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let mut text = vec![0; 1_024];
    let length = read(&file, &mut text[..]).ok()?;
    text.truncate(length);
    Some(text)
}

/// The fields after the name, which stands in parentheses and may itself contain any character.
pub(crate) fn fields(stat: &[u8]) -> Option<Vec<&str>> {
    let name_ends = stat.iter().rposition(|&byte| byte == b')')?;
    Some(str::from_utf8(stat.get(name_ends + 1..)?).ok()?.split_ascii_whitespace().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usage::this_thread;
    use foregather_machine::VALUE_MASK;

    fn stat(name: &str, state: &str, processor: &str) -> Vec<u8> {
        let between = "1 ".repeat(PROCESSOR - 1);
        format!("77 ({name}) {state} {between}{processor} 0 0\n").into_bytes()
    }

    #[test]
    fn who_is_runnable_is_told_from_the_others() {
        for (state, is_runnable) in [("R", true), ("S", false), ("T", false), ("Z", false)] {
            assert_eq!(RunState::parse(&stat("a", state, "3")), Some(RunState { is_runnable, cpu: 3 }), "{state}");
        }
        let named = RunState::parse(&stat(") R (b) S", "R", "3"));
        assert_eq!(named, Some(RunState { is_runnable: true, cpu: 3 }), "whatever the program is called");
    }

    #[test]
    fn what_cannot_be_read_is_not_known() {
        let cut = &stat("a", "R", "3")[..40];
        for text in [&b""[..], b"77 (a", b"77 (a) R 1 2", cut, &stat("a", "R", "x")] {
            assert_eq!(RunState::parse(text), None, "{:?}", str::from_utf8(text));
        }
        assert_eq!(RunState::of(VALUE_MASK), None, "nobody");
    }

    #[test]
    fn an_unreaped_child_shows_its_status_and_its_parent() {
        for (script, code, signal) in [("exit 7", Some(7), None), ("exit 0", Some(0), None), ("kill -9 $$", None, Some(9))] {
            let mut child = std::process::Command::new("sh").args(["-c", script]).spawn().unwrap();
            while unreaped_status(child.id()).is_none() {
                std::thread::yield_now();
            }
            let status = unreaped_status(child.id()).unwrap();
            assert_eq!((status.code(), status.signal()), (code, signal), "{script}");
            assert_eq!(coming_status(child.id()), Some(status), "{script}");
            assert_eq!((parent(child.id()), tracer(child.id())), (Some(std::process::id()), None));
            assert!(is_ending(child.id()) && !is_dumping_core(child.id()));
            child.wait().unwrap();
            assert_eq!(unreaped_status(child.id()), None, "reaped");
        }
        let here = std::process::id();
        assert!(unreaped_status(here).is_none() && !is_ending(here) && !is_dumping_core(here));
    }

    /// The first thread of a process may exit before its other threads, and the process goes on.
    #[test]
    fn a_process_is_not_ending_while_one_of_its_threads_goes_on() {
        let program = "import ctypes, threading, time\n\
                       threading.Thread(target=time.sleep, args=(1000,)).start()\n\
                       ctypes.CDLL(None).pthread_exit(None)";
        let Ok(mut child) = std::process::Command::new("python3").args(["-c", program]).spawn() else {
            return eprintln!("skipped: python3 is missing");
        };
        while unreaped_status(child.id()).is_none() && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        let seen = (is_ending(child.id()), coming_status(child.id()));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(seen, (false, None));
    }

    #[test]
    fn the_kernel_writes_it_like_that() {
        assert!(RunState::of(this_thread()).is_some_and(|state| state.is_runnable));
        let (here, first) = (started(std::process::id()), started(1));
        assert!(here.is_some() && here > first, "{here:?} after {first:?}");
    }
}
