//! A small process that outlives this one by a moment and ends the processes that this one would leave
//! behind.
//!
//! A program that is killed cannot tidy up, and the kernel's parent death signal reaches direct children
//! only: neither the children of a shell, `time` or `timeout` in between, nor a process that has left its
//! process group. All of these inherit their variables, so one variable is their **mark**. A process that
//! clears its variables, or hides them from its user, is not found.
use foregather_machine::{Cause, Error};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, pidfd_open, pidfd_send_signal, setsid, waitpid};
use std::fs;
use std::io::{self, PipeReader, PipeWriter, Read, pipe};
use std::time::Duration;

/// The pause between two looks. A process that is just starting a program shows no variables for a moment:
/// two looks in a row must find none.
const PAUSE: Duration = Duration::from_millis(5);
/// The most looks: a killed process that is stuck in a driver may stay for longer.
const LOOKS: u32 = 400;
/// How long this process waits for its guardian's end: longer than all looks.
const PATIENCE: Timespec = Timespec { tv_sec: 5, tv_nsec: 0 };

/// A guardian. When it is dropped, and when this process ends in any way, every process that bears the mark
/// is killed.
#[derive(Debug)]
pub struct Guardian {
    /// The end of this pipe is the guardian's sign to act.
    lifeline: Option<PipeWriter>,
    process: Pid,
    pidfd: OwnedFd,
}

impl Guardian {
    /// A guardian over all processes with a variable that begins with `mark`: `NAME=value`, with a value that
    /// no other processes have. This process must not have it. Best called before there are other threads.
    ///
    /// # Errors
    /// If no such process can be made.
    pub fn over(mark: &str) -> Result<Self, Error> {
        let failed = |error: io::Error| {
            let remedy = "raise the limits of processes and open files (ulimit -u, ulimit -n)";
            Error::from(Cause::Os { what: "starting a guardian process", errno: error.raw_os_error().unwrap_or(0), remedy })
        };
        let (reader, lifeline) = pipe().map_err(failed)?;
        // SAFETY: `fork` itself is always allowed. The child runs `guard` alone, which takes no lock of this
        // program; the C library keeps its allocator usable in a child of a process with threads.
        let number = unsafe { libc::fork() };
        if number == 0 {
            guard(reader, mark.as_bytes());
        }
        let process = Pid::from_raw(number).filter(|_| number > 0).ok_or_else(|| failed(io::Error::last_os_error()))?;
        let pidfd = pidfd_open(process, PidfdFlags::empty()).map_err(|errno| failed(errno.into()))?;
        Ok(Self { lifeline: Some(lifeline), process, pidfd })
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        self.lifeline = None;
        while poll(&mut [PollFd::new(&self.pidfd, PollFlags::IN)], Some(&PATIENCE)) == Err(Errno::INTR) {}
        let _ = waitpid(Some(self.process), WaitOptions::NOHANG);
    }
}

/// The guardian's whole life.
fn guard(mut lifeline: PipeReader, mark: &[u8]) -> ! {
    stand_apart(lifeline.as_fd().as_raw_fd());
    // No byte is ever written: the read returns when all other ends are closed.
    while matches!(lifeline.read(&mut [0]), Err(error) if error.kind() == io::ErrorKind::Interrupted) {}
    let mut clean = 0;
    for _ in 0..LOOKS {
        clean = if kill_marked(mark) == 0 { clean + 1 } else { 0 };
        if clean == 2 {
            break;
        }
        std::thread::sleep(PAUSE);
    }
    // SAFETY: `_exit` ends this process without running any handler that its parent has registered.
    unsafe { libc::_exit(0) }
}

/// Keeps away what is meant for the parent: signals of a terminal or by its name, and the ends of files that
/// it has open.
fn stand_apart(lifeline: RawFd) {
    let _ = setsid();
    // SAFETY: the name is a string that ends with 0 and is copied; ignoring a signal needs no handler of
    // ours.
    unsafe {
        libc::prctl(libc::PR_SET_NAME, c"job guardian".as_ptr());
        for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGPIPE, libc::SIGALRM, libc::SIGTERM] {
            libc::signal(signal, libc::SIG_IGN);
        }
    }
    close_all_but(lifeline);
}

/// Its own copy of the parent's end of the lifeline is among them, so none may stay open, even without
/// `/proc`.
fn close_all_but(kept: RawFd) {
    let own = kept as libc::c_uint;
    // SAFETY: this process goes on with `kept` alone; it never uses the other descriptors that it has
    // inherited.
    let closed = unsafe {
        let below = if own == 0 { 0 } else { libc::syscall(libc::SYS_close_range, 0, own - 1, 0) };
        below == 0 && libc::syscall(libc::SYS_close_range, own + 1, libc::c_uint::MAX, 0) == 0
    };
    if closed {
        return;
    }
    // Before Linux 5.9, or under a filter.
    let entries = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let open: Vec<RawFd> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    for fd in open.into_iter().filter(|&fd| fd != kept) {
        // SAFETY: this process goes on with `kept` alone.
        unsafe { libc::close(fd) };
    }
}

/// Kills every process that bears the mark; returns how many there were.
fn kill_marked(mark: &[u8]) -> usize {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let marked = processes.filter(|entry| {
        let Some(process) = entry.file_name().to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw) else {
            return false;
        };
        // Open the descriptor first: the number may become another process's while the variables are read.
        let Ok(pidfd) = pidfd_open(process, PidfdFlags::empty()) else { return false };
        let variables = fs::read(entry.path().join("environ")).unwrap_or_default();
        let found = variables.split(|&byte| byte == 0).any(|variable| variable.starts_with(mark));
        if found {
            let _ = pidfd_send_signal(&pidfd, Signal::KILL);
        }
        found
    });
    marked.count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::child::tests::{exists, this_test};
    use std::io::BufRead;
    use std::process::{Command, Stdio};

    /// Starts a process in a session of its own that is no child of this one; returns its number.
    fn sleeper(variable: &str, value: &str) -> u32 {
        let script = "setsid sleep 1000 >/dev/null 2>&1 & echo $!";
        let output = Command::new("sh").args(["-c", script]).env(variable, value).stderr(Stdio::null()).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
    }

    fn gone(pid: u32) -> bool {
        let dead = || fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains(") Z "));
        (0..1_000).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            !exists(pid) || dead()
        })
    }

    #[test]
    fn what_bears_the_mark_ends_with_the_guardian_and_nothing_else_does() {
        let name = format!("of-{}", std::process::id());
        let (marked, within, other) = (
            sleeper("TEST_GUARD", &format!("{name}/")),
            sleeper("TEST_GUARD", &format!("{name}/x/")),
            sleeper("TEST_GUARD", "y/"),
        );
        let guardian = Guardian::over(&format!("TEST_GUARD={name}/")).unwrap();
        assert!(exists(marked) && exists(within));
        drop(guardian);
        assert!(gone(marked) && gone(within) && exists(other));
        rustix::process::kill_process(Pid::from_raw(other as i32).unwrap(), Signal::KILL).unwrap();
    }

    #[test]
    #[ignore = "runs in a child process of the next test, which kills it"]
    fn guarded() {
        let value = format!("{}/", std::process::id());
        let _guardian = Guardian::over(&format!("TEST_GUARDED={value}")).unwrap();
        println!("sleeper {}", sleeper("TEST_GUARDED", &value));
        std::thread::sleep(Duration::from_secs(1_000));
    }

    #[test]
    fn the_guardian_outlives_a_process_that_is_killed_and_does_its_work() {
        let mut parent = this_test("guardian::tests::guarded");
        let mut lines = io::BufReader::new(parent.streams().stdout.take().unwrap()).lines();
        let sleeper = lines.find_map(|line| line.unwrap().rsplit_once("sleeper ").map(|(_, pid)| pid.parse().unwrap())).unwrap();
        assert!(exists(sleeper));
        drop(parent);
        assert!(gone(sleeper), "process {sleeper} is still there");
        // The guardian does not keep its parent's pipe open.
        assert!(lines.all(|line| line.is_ok()));
    }
}
