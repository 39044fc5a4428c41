//! A barrier for as long as wanted, beside busy programs, while the members' processors change at random: no
//! wake-up is lost.
//!
//! An hour of it: `FOREGATHER_SOAK=3600 FOREGATHER_SOAK_THREADS=512 cargo test --release
//! -p foregather-thread --test trouble soak -- --nocapture`.
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::*};
use foregather_barrier::{Algorithm, Group};
use foregather_host::affinity::{self, Mask};
use foregather_host::{clock, usage};
use foregather_machine::{Nanos, Rank, block_on};
use foregather_wait::Policy;
use std::thread;
use std::time::Duration;

/// An episode that takes longer has lost a wake-up: the wait fails with its context.
const LOST: Nanos = Nanos::from_ms(120_000);
const HOGS: usize = 2;
/// The pause between two changes of a member's processors.
const CHANGE: Duration = Duration::from_millis(3);

fn number(name: &str, few: u64) -> u64 {
    std::env::var(name).map_or(few, |text| text.parse().unwrap_or_else(|_| panic!("{name} is a number, not `{text}`")))
}

/// SplitMix64.
fn drawn(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ *state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ mixed >> 27
}

/// The states of the threads: if some are ready to run the machine had no time for them, and no wake-up need
/// be lost.
fn states() -> String {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let stats = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("stat")).ok());
    let (ready, asleep): (Vec<_>, Vec<_>) = stats.partition(|stat| stat.contains(") R "));
    format!("{} threads are ready, {} asleep", ready.len(), asleep.len())
}

/// The totals of a soak.
#[derive(Default)]
struct Soak {
    episodes: u64,
    longest: Nanos,
    changes: u64,
}

fn soak(algorithm: Algorithm, size: u32, span: Nanos) -> Soak {
    let group = Group::new(algorithm, size).unwrap();
    let names: Vec<_> = (0..size).map(|_| AtomicU32::new(0)).collect();
    let (done, last, changes) = (AtomicBool::new(false), AtomicU64::new(u64::MAX), AtomicU64::new(0));
    let until = clock::now() + span;
    let live = |cpu, rank: Rank| {
        let mut member = group.member(cpu, rank, Policy::default()).unwrap();
        names[rank as usize].store(usage::this_thread(), Release);
        let (mut episode, mut longest, mut state) = (0, Nanos::ZERO, u64::from(rank));
        while episode <= last.load(Acquire) {
            // Announced one episode ahead, so that every member knows of it when the last one ends.
            if rank == 0 && last.load(Acquire) == u64::MAX && clock::now() >= until {
                last.store(episode + 1, Release);
            }
            if drawn(&mut state).is_multiple_of(64) {
                thread::sleep(Duration::from_micros(drawn(&mut state) % 2_000));
            }
            let before = clock::now();
            block_on(member.wait_for(LOST))
                .unwrap_or_else(|error| panic!("rank {rank}, episode {episode}: {error}; {}", states()));
            longest = longest.max(clock::now() - before);
            episode += 1;
        }
        names[rank as usize].store(0, Release);
        (episode, longest)
    };
    let ends = thread::scope(|threads| {
        for _ in 0..HOGS {
            threads.spawn(|| {
                while !done.load(Relaxed) {
                    core::hint::spin_loop();
                }
            });
        }
        threads.spawn(|| {
            let (allowed, mut state) = (affinity::allowed(), 7);
            while !done.load(Relaxed) {
                let thread = names[drawn(&mut state) as usize % names.len()].load(Acquire);
                let mut wanted = || Mask::only(allowed[drawn(&mut state) as usize % allowed.len()]);
                // A thread that is not there yet, or has just ended, has no processors to change.
                changes.fetch_add(u64::from(thread != 0 && wanted().is_some_and(|mask| mask.give(Some(thread)))), Relaxed);
                thread::sleep(CHANGE);
            }
        });
        let _done = crate::team::Done(&done);
        foregather_thread::run(size, |_| None, live).unwrap()
    });
    let longest = ends.iter().map(|(_, longest)| *longest).max().unwrap_or_default();
    assert!(ends.iter().all(|(episodes, _)| *episodes == ends[0].0), "members have met different numbers of times");
    Soak { episodes: ends[0].0, longest, changes: changes.into_inner() }
}

#[test]
fn a_soak_beside_hogs_loses_no_wake_up() {
    let seconds = number("FOREGATHER_SOAK", 1);
    let size = number("FOREGATHER_SOAK_THREADS", 32) as u32;
    // Two thirds of the time for the barrier of words, where a sleeper and its waker race; the rest for
    // signals.
    let parts = [(Algorithm::Central, 4), (Algorithm::Dissemination, 1), (Algorithm::Tree, 1)];
    for (algorithm, sixths) in parts {
        let Soak { episodes, longest, changes } = soak(algorithm, size, Nanos::from_ms(seconds * 1_000 * sixths / 6));
        eprintln!(
            "{algorithm:?}, {size} threads, {HOGS} hogs: {episodes} episodes, longest {longest}, {changes} changes of processors"
        );
        assert!(episodes > 1 && changes > 0);
    }
}
