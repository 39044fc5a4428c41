//! A rank is killed or stopped while it owns minipages, holds a lock, or is waited for: every other rank
//! names it within a time limit.
//!
//! A call that waits returns an error. A load or store cannot: it prints why and ends the process.
mod job;
mod programs;

use job::lose_one;
use programs::State;
use rustix::process::Signal;

#[test]
fn survivors_name_a_rank_that_was_killed() {
    for (seed, state) in State::ALL.into_iter().enumerate() {
        lose_one("shm", state, Signal::KILL, seed as u64).unwrap_or_else(|error| panic!("{state:?}: {error}"));
    }
}

#[test]
fn survivors_name_a_rank_that_was_stopped() {
    for (seed, state) in State::ALL.into_iter().enumerate() {
        lose_one("shm", state, Signal::STOP, 100 + seed as u64).unwrap_or_else(|error| panic!("{state:?}: {error}"));
    }
}

#[test]
fn survivors_name_a_rank_that_was_killed_over_libfabric() {
    let provider = foregather_ofi::Provider::open("tcp", None);
    if let Err(error) = provider {
        assert!(std::env::var("FOREGATHER_REQUIRE_PARTS").is_err(), "{error}");
        eprintln!("skipped: {error}");
        return;
    }
    for (seed, state) in [State::Faults, State::Holds].into_iter().enumerate() {
        lose_one("ofi:tcp", state, Signal::KILL, 200 + seed as u64).unwrap_or_else(|error| panic!("{state:?}: {error}"));
    }
}
