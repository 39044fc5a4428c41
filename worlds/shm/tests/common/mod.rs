//! The common parts of tests with several processes.
#![allow(dead_code, reason = "each test program uses its part")]
use foregather_host::child::Child;
use foregather_machine::Nanos;
use foregather_shm::{Segment, ShmFabric};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::process::{Command, Stdio};

/// Returns whether the system refuses to let ranks read each other's memory, as in some containers, and
/// prints it.
pub(crate) fn copies_are_refused(fabric: &ShmFabric) -> bool {
    let why = fabric.direct_refused();
    if let Some(why) = &why {
        assert!(std::env::var_os("FOREGATHER_REQUIRE_PARTS").is_none(), "a part is missing: {why}");
        println!("not run: {why}");
    }
    why.is_some()
}

pub(crate) const LONG: Nanos = Nanos::from_ms(60_000);
const ARGUMENT: &str = "FOREGATHER_TEST_CHILD";

/// Returns a command that runs this test program again with one ignored test.
pub(crate) fn command(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Starts [`command`] as a child that inherits these descriptors and gets the segment and `more` from
/// [`arguments`].
pub(crate) fn child(test: &str, segment: &Segment, more: &[String], keep: &[BorrowedFd<'_>]) -> Child {
    child_with(test, segment.fd(), more, keep)
}

/// Starts a [`child`] with any descriptor, which it gets from [`inherited`].
pub(crate) fn child_with(test: &str, memory: BorrowedFd<'_>, more: &[String], keep: &[BorrowedFd<'_>]) -> Child {
    let mut command = command(test);
    command.env(ARGUMENT, format!("{} {}", memory.as_raw_fd(), more.join(" ")));
    let keep: Vec<_> = keep.iter().copied().chain([memory]).collect();
    Child::spawn(command, &keep).unwrap()
}

/// Starts a [`child_with`] through another program, which gets the command as its last arguments.
pub(crate) fn child_in(wrapper: &[&str], test: &str, memory: BorrowedFd<'_>, more: &[String]) -> Child {
    let inner = command(test);
    let mut command = match wrapper {
        [] => inner,
        [program, rest @ ..] => {
            let mut command = Command::new(program);
            command.args(rest).arg(inner.get_program()).args(inner.get_args());
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
            command
        }
    };
    command.env(ARGUMENT, format!("{} {}", memory.as_raw_fd(), more.join(" ")));
    Child::spawn(command, &[memory]).unwrap()
}

/// In the child: returns the segment and the other arguments. `None` if the ignored tests are run by hand.
pub(crate) fn arguments() -> Option<(Segment, Vec<String>)> {
    inherited().map(|(number, told)| (Segment::inherited(number).unwrap(), told))
}

/// In the child: returns the descriptor's number and the other arguments.
pub(crate) fn inherited() -> Option<(i32, Vec<String>)> {
    let line = std::env::var(ARGUMENT).ok()?;
    let mut words = line.split_whitespace().map(str::to_owned);
    Some((words.next().unwrap().parse().unwrap(), words.collect()))
}

/// Kills this program if it hangs.
pub(crate) fn watchdog() {
    std::thread::spawn(|| {
        std::thread::sleep(std::time::Duration::from_secs(100));
        eprintln!("hung");
        std::process::abort();
    });
}
