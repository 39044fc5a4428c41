//! Test programs that must die: runs this test executable again with a single test, which then runs the
//! child's part.
use super::Backend;
use std::env;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

const PART: &str = "FOREGATHER_DSM_TEST_PART";

/// How a child has exited.
#[derive(Debug)]
pub(super) struct End {
    pub(super) signal: Option<i32>,
    pub(super) code: Option<i32>,
    pub(super) said: String,
}

/// Inside a child: returns its part and its backend.
pub(super) fn part() -> Option<(String, Backend)> {
    let part = env::var(PART).ok()?;
    let (part, backend) = part.split_once(' ')?;
    Some((part.to_owned(), Backend::by_name(backend)?))
}

/// Runs this test (by its path within the crate) again, in a child that runs `part`.
pub(super) fn run(test: &str, part: &str, backend: Backend) -> End {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(PART, format!("{part} {}", backend.name()));
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    End { signal: output.status.signal(), code: output.status.code(), said }
}
