//! Other people's simulators beside ours, in the same run: a speed means something only next to another one.
//!
//! [`plan`] is what was asked for, [`contest`] who takes part and how often, [`outcome`] the figures and their table.
mod contest;
mod outcome;
mod plan;

use plan::Plan;
use std::process::ExitCode;

pub(crate) const HELP: &str = "\
cargo xtask peers simgrid [--nodes N,N..] [--skew-us S] [--rounds R] [--ours COMMAND]

Runs a butterfly barrier of N nodes that begin within S us of each other, in alternation: SimGrid's (peers/simgrid), ours
without contention as SimGrid's (free), and ours with the ports and interrupts of the iPSC/860 (ports), which SimGrid has not.
Prints medians of R rounds and ratios to SimGrid, whose time leaves out its set-up. Defaults: 1024,16384 nodes, 100 us,
3 rounds. COMMAND is given N, S and `free` or `ports`, and prints a line of JSON.";

/// Why there is no table.
#[derive(Debug)]
enum Trouble {
    Usage(String),
    /// Software that this machine lacks, and how to get it.
    Missing(String),
    Failed(anyhow::Error),
}

impl From<anyhow::Error> for Trouble {
    fn from(error: anyhow::Error) -> Self {
        Self::Failed(error)
    }
}

/// What follows `cargo xtask peers`.
pub(crate) fn run(arguments: &[&str]) -> ExitCode {
    let (words, code) = match Plan::parse(arguments).and_then(|plan| contest::hold(&plan)) {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Trouble::Usage(what)) => (format!("{what}\n\n{HELP}"), 2),
        Err(Trouble::Missing(what)) => (what, 3),
        Err(Trouble::Failed(error)) => (format!("{error:#}"), 1),
    };
    eprintln!("xtask peers: {words}");
    ExitCode::from(code)
}
