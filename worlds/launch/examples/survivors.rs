//! Ranks that stay in one state of the protocols until one of them is lost, and print which one and when they
//! detected it: `foregather run -n 4 survivors 8`, with the number of a state. Without a loss they never end.
#[path = "../tests/lost/states.rs"]
pub(crate) mod states;

use foregather_barrier::dissemination;
use foregather_launch::{Job, Lanes};
use foregather_machine::{Cause, Error, Fabric, block_on};
use foregather_message::Messenger;
use states::{State, now};
use std::io::Write;
use std::process::exit;

#[allow(dead_code, reason = "the tests call `survive` in processes of their own")]
fn main() {
    let number: usize = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or_default();
    survive(State::ALL[number % State::ALL.len()]);
}

/// Writes a line in one call, so that lines of several processes are not interleaved.
pub(crate) fn say(line: &str) {
    std::io::stdout().write_all(format!("{line}\n").as_bytes()).unwrap();
}

pub(crate) fn in_that_state<F: Fabric>(job: &Job, lanes: Vec<F>, state: State) -> Result<(), Error> {
    for lane in lanes {
        let messenger = Messenger::new(lane, state.settings())?;
        block_on(dissemination(&messenger))?;
        say(&format!("ready {} {}", job.rank(), std::process::id()));
        block_on(state.program(&messenger, || job.failure_detector().lost().is_none()))?;
    }
    Ok(())
}

/// Stays in one state until a rank is lost, and prints which.
pub(crate) fn survive(state: State) -> ! {
    let job = match Job::join() {
        Ok(job) => job,
        Err(error) => {
            say(&format!("no rank: {error}"));
            exit(1);
        }
    };
    let rank = job.rank();
    let end = job.lanes(1).and_then(|lanes| match lanes {
        Lanes::Shm(lanes) => in_that_state(&job, lanes, state),
        Lanes::Ofi(lanes) => in_that_state(&job, lanes, state),
        Lanes::Mpi(lanes) => in_that_state(&job, lanes, state),
    });
    let (at, error) = (now(), end.unwrap_err());
    match error.cause() {
        Cause::PeerLost { rank: lost, doing, .. } => say(&format!("lost {rank} {} {lost} {doing}", at.0)),
        _ => say(&format!("other {rank} {error:?}")),
    }
    drop(job);
    exit(1);
}
