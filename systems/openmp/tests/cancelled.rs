//! Cancellation, which only the environment allows, and is read once: the tests run in a process of their
//! own.
#![cfg(not(loom))]

use core::sync::atomic::{AtomicU32, Ordering::*};
use foregather_openmp::worksharing::{AtEnd, Cancels, barrier, begin, cancel, end, is_cancelled, next};
use foregather_openmp::{IterationSpace, Schedule, ScheduleKind, parallel, settings};
use std::process::Command;

const SIZE: u32 = 4;

#[test]
fn a_process_that_allows_it_cancels() {
    let tests =
        Command::new(std::env::current_exe().unwrap()).args(["--ignored"]).env("OMP_CANCELLATION", "true").output().unwrap();
    assert!(tests.status.success(), "{}", String::from_utf8_lossy(&tests.stdout));
    assert!(String::from_utf8_lossy(&tests.stdout).contains("3 passed"), "{}", String::from_utf8_lossy(&tests.stdout));
}

/// A loop of 10,000 iterations that the one numbered 100 cancels.
fn cancelled_loop(kind: ScheduleKind) {
    assert!(settings().cancellation);
    let (done, after) = (AtomicU32::new(0), AtomicU32::new(0));
    parallel(SIZE, &|| {
        begin(IterationSpace::signed(Schedule::new(kind, 1), 0, 10_000, 1));
        let mut has_cancelled = false;
        'taken: while let Some((from, to)) = next() {
            for number in from..to {
                done.fetch_add(1, Relaxed);
                if number == 100 {
                    has_cancelled = cancel(Cancels::Loop);
                    break 'taken;
                }
                if is_cancelled(Cancels::Loop) {
                    break 'taken;
                }
                std::thread::yield_now();
            }
        }
        // A member that was done before hears nothing.
        assert!(end(AtEnd::Barrier) || !has_cancelled, "the member that cancels hears of it");
        // The region goes on: the next loop is whole.
        begin(IterationSpace::signed(Schedule::new(kind, 1), 0, 100, 1));
        while let Some((from, to)) = next() {
            after.fetch_add((to - from) as u32, Relaxed);
        }
        assert!(!end(AtEnd::Barrier));
    });
    assert!(done.into_inner() < 10_000, "no iterations were left out");
    assert_eq!(after.into_inner(), 100);
}

#[test]
#[ignore = "runs with OMP_CANCELLATION=true only"]
fn a_cancelled_dynamic_loop_ends() {
    (0..100).for_each(|_| cancelled_loop(ScheduleKind::Dynamic));
}

#[test]
#[ignore = "runs with OMP_CANCELLATION=true only"]
fn a_cancelled_static_loop_ends() {
    (0..100).for_each(|_| cancelled_loop(ScheduleKind::Static));
}

#[test]
#[ignore = "runs with OMP_CANCELLATION=true only"]
fn members_that_wait_leave_a_cancelled_region_and_the_next_one_is_whole() {
    for _ in 0..200 {
        let (left, whole) = (AtomicU32::new(0), AtomicU32::new(0));
        parallel(SIZE, &|| {
            // One member never comes to the barrier.
            let is_cancelled = if foregather_openmp::task().rank == 2 { cancel(Cancels::Region) } else { barrier() };
            left.fetch_add(u32::from(is_cancelled), Relaxed);
        });
        assert_eq!(left.into_inner(), SIZE);
        parallel(SIZE, &|| {
            whole.fetch_add(1, Relaxed);
            assert!(!barrier());
            assert_eq!(whole.load(Relaxed), SIZE);
        });
    }
}
