//! A rank is killed or stopped in any state of any protocol: every other rank names it within the time limit,
//! and nothing is left behind.
//!
//! `FOREGATHER_SOAK=100` makes these tests thorough: that many jobs for each state, signal and fabric.
mod after;
mod job;
mod many;
mod programs;
#[path = "../../examples/ranks.rs"]
mod ranks;
#[path = "../../examples/survivors.rs"]
mod survivors;

use after::Before;
use foregather_machine::SplitMix;
use job::Job;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use survivors::states::State;

/// The number of jobs at a time; each of them mostly waits.
const AT_ONCE: usize = 4;

/// Runs one test at a time, because these tests check time limits and would slow each other down.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the number of jobs for each state and signal; `few` in a plain test.
fn rounds(few: u64) -> u64 {
    std::env::var("FOREGATHER_SOAK").map_or(few, |rounds| rounds.parse().expect("FOREGATHER_SOAK is a number of rounds"))
}

/// Runs that many rounds of every job; reports all failures, and when the last survivor detected the loss.
fn lose(fabric: &str, rounds: u64) {
    let (_alone, before) = (alone(), Before::look());
    let cases: Vec<_> = (0..rounds)
        .flat_map(|round| State::ALL.into_iter().flat_map(move |state| [(round, state, job::KILL), (round, state, job::STOP)]))
        .collect();
    let (next, wrong, latest) = (AtomicUsize::new(0), Mutex::new(Vec::new()), Mutex::new([0; 2]));
    thread::scope(|threads| {
        for _ in 0..AT_ONCE {
            threads.spawn(|| {
                while let Some(&(round, state, signal)) = cases.get(next.fetch_add(1, Relaxed)) {
                    let seed = SplitMix::mix(round << 8 | (state as u64) << 1 | u64::from(signal == job::STOP));
                    match Job::start(fabric, state, job::SHORTEST_MS).and_then(|job| job.lose_one(signal, seed)) {
                        Ok(ms) => {
                            let latest = &mut latest.lock().unwrap()[usize::from(signal == job::STOP)];
                            *latest = ms.max(*latest);
                        }
                        Err(error) => wrong.lock().unwrap().push(format!("{fabric}, {state:?}, {signal:?}: {error}")),
                    }
                }
            });
        }
    });
    let [killed, stopped] = latest.into_inner().unwrap();
    let wrong = wrong.into_inner().unwrap();
    println!("{fabric}: {} jobs; the last survivor knew of a kill after {killed} ms, of a stop after {stopped} ms", cases.len());
    before.nothing_is_left();
    assert!(wrong.is_empty(), "{} of {} jobs:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn two_seconds_are_the_usual_bound() {
    let _alone = alone();
    let job = Job::start("shm", State::Barrier, job::USUAL_MS).unwrap();
    let ms = job.lose_one(job::STOP, 5).unwrap();
    // A much shorter time would have another cause.
    assert!(ms > 2 * job::SHORTEST_MS, "{ms} ms");
}

#[test]
fn a_loss_is_told_although_the_program_waits_for_nothing() {
    let _alone = alone();
    thread::scope(|threads| {
        // Rank 0 may be the lost one: the coordinator is lost with it.
        for seed in 0..AT_ONCE as u64 {
            threads.spawn(move || {
                let job = Job::start_as("deaf", "shm", State::Silence, job::USUAL_MS);
                job.and_then(|job| job.lose_one(job::KILL, seed)).unwrap_or_else(|error| panic!("{seed}: {error}"));
            });
        }
    });
}

#[test]
fn survivors_name_a_rank_that_is_lost_while_libfabric_opens() {
    if let Err(error) = foregather_ofi::Provider::open("tcp", None) {
        assert!(std::env::var("FOREGATHER_REQUIRE_PARTS").is_err(), "{error}");
        eprintln!("skipped: {error}");
        return;
    }
    let (_alone, before) = (alone(), Before::look());
    let lose = |seed| {
        let job = Job::start_as("early", "ofi:tcp", State::Barrier, job::USUAL_MS)?;
        job.lose_one_within(400_000, job::KILL, SplitMix::mix(seed))
    };
    let latest = (0..rounds(6)).map(|seed| lose(seed).unwrap_or_else(|error| panic!("round {seed}: {error}"))).max();
    println!("the last survivor knew after {} ms", latest.unwrap_or(0));
    before.nothing_is_left();
}

#[test]
fn survivors_name_the_lost_rank_over_shared_memory() {
    lose("shm", rounds(2));
}

#[test]
fn survivors_name_the_lost_rank_over_libfabric() {
    match foregather_ofi::Provider::open("tcp", None) {
        Ok(_) => lose("ofi:tcp", rounds(8).div_ceil(8)),
        Err(error) => {
            assert!(std::env::var("FOREGATHER_REQUIRE_PARTS").is_err(), "{error}");
            eprintln!("skipped: {error}");
        }
    }
}
