//! The symbols as foreign programs declare them: every declaration here is written by hand from the
//! standard's lists, so that a wrong line of the table cannot agree with itself. `.ci/blas` shows that the
//! built library works under real programs.
mod errors;
mod lapack;
mod level1;
mod level2;
mod level3;
mod names;
mod threads;

use std::process::{Command, Output};

/// Runs a test of this program again in a process of its own, where `CHILD` is set.
fn again(test: &str, case: &str, variables: &[(&str, &str)]) -> Output {
    let program = std::env::current_exe().expect("the test knows its program");
    let mut command = Command::new(program);
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]).env(CHILD, case).envs(variables.iter().copied());
    command.output().expect("a test can start itself")
}

/// The case that a test must run in this process, if it is a child.
fn case() -> Option<String> {
    std::env::var(CHILD).ok()
}

const CHILD: &str = "FOREGATHER_BLAS_TEST_CASE";

/// Whole numbers that differ from their neighbours: all sums below are exact.
fn numbers(len: usize) -> Vec<f64> {
    (0..len).map(|at| ((at * 7 + at / 5 * 3) % 13) as f64 - 6.0).collect()
}
