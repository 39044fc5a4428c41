//! Threads without ranks.
use crate::{SOON, bounded};
use foregather::{Barrier, WaitError};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};
use std::thread;
use std::time::Duration;

#[test]
fn each_meeting_has_one_leader_and_nobody_leaves_early() {
    for size in [1, 2, 3, 5] {
        bounded(move || {
            let (barrier, come, leaders) = (Barrier::new(size), AtomicU64::new(0), AtomicU64::new(0));
            thread::scope(|threads| {
                for _ in 0..size {
                    threads.spawn(|| {
                        for meeting in 1..=500 {
                            come.fetch_add(1, Relaxed);
                            let met = barrier.wait().unwrap();
                            assert!(come.load(Relaxed) >= meeting * size as u64);
                            leaders.fetch_add(met.is_leader().into(), Relaxed);
                            barrier.wait().unwrap();
                        }
                    });
                }
            });
            assert_eq!(leaders.into_inner(), 500);
        });
    }
}

#[test]
fn none_is_one() {
    let barrier = Barrier::new(0);
    assert!(barrier.wait().unwrap().is_leader());
    assert_eq!(barrier.members().len(), 1);
}

#[test]
#[should_panic(expected = "16,777,216")]
fn too_many_is_a_panic() {
    let _ = Barrier::new(1 << 25);
}

#[test]
fn many_members_take_no_more_memory_than_their_seats() {
    let barrier = Barrier::new(1 << 24);
    let error = barrier.wait_timeout(Duration::from_micros(10)).unwrap_err();
    assert!(error.to_string().starts_with("16777215 did not arrive"), "{error}");
}

#[test]
fn an_arrival_outlasts_its_timeout() {
    bounded(|| {
        let barrier = Arc::new(Barrier::new(2));
        for _ in 0..50 {
            let error = barrier.wait_timeout(Duration::from_micros(100)).unwrap_err();
            assert!(error.is_timed_out());
            let other = {
                let barrier = Arc::clone(&barrier);
                thread::spawn(move || barrier.wait().unwrap().is_leader())
            };
            // One episode: if the arrival did not count after the timeout, this thread would be the second of
            // it, and the other would wait forever.
            assert!(!barrier.wait().unwrap().is_leader());
            assert!(other.join().unwrap(), "the other came last");
        }
    });
}

#[test]
fn a_meeting_that_ended_meanwhile_is_over_at_once() {
    bounded(|| {
        let barrier = Barrier::new(2);
        assert!(barrier.wait_timeout(Duration::ZERO).unwrap_err().is_timed_out());
        thread::scope(|threads| threads.spawn(|| barrier.wait().unwrap()).join().unwrap());
        assert!(barrier.wait_timeout(Duration::ZERO).is_ok());
    });
}

#[test]
fn a_timeout_names_those_who_have_been_here_and_counts_the_others() {
    bounded(|| {
        let barrier = Barrier::new(3);
        thread::scope(|threads| {
            let mayfly = thread::Builder::new().name("mayfly".to_owned());
            let lives_shortly = mayfly.spawn_scoped(threads, || barrier.wait().unwrap()).unwrap();
            let other = threads.spawn(|| barrier.wait().unwrap());
            barrier.wait().unwrap();
            lives_shortly.join().unwrap();
            other.join().unwrap();
        });
        // Joined threads release their slots some time later.
        thread::sleep(SOON);
        let error = barrier.wait_timeout(Duration::from_millis(3)).unwrap_err();
        let WaitError::TimedOut(missing) = &error else { panic!("{error}") };
        assert_eq!(missing.count, 2, "{error}");
        assert!(missing.waited >= Duration::from_millis(3), "{error}");
        let mayfly = missing.who.iter().find(|who| who.name.as_deref() == Some("mayfly")).expect("it is known");
        assert!(mayfly.ended, "{error}");
    });
}

#[test]
fn more_threads_than_members_take_turns() {
    const THREADS: u64 = 9;
    const SIZE: u64 = 3;
    let (meetings, leaders, returns) = bounded(|| {
        let (barrier, leaders, returns) = (Barrier::new(SIZE as usize), AtomicU64::new(0), AtomicU64::new(0));
        let left = AtomicU64::new(2_000 * SIZE);
        thread::scope(|threads| {
            for _ in 0..THREADS {
                threads.spawn(|| {
                    // Each return claims one of the remaining arrivals, so the last episode is complete.
                    while left.fetch_update(AcqRel, Acquire, |left| left.checked_sub(1)).is_ok() {
                        let met = loop {
                            match barrier.wait_timeout(Duration::from_micros(50)) {
                                Ok(met) => break met,
                                Err(error) => assert!(error.is_timed_out(), "{error}"),
                            }
                        };
                        leaders.fetch_add(met.is_leader().into(), Relaxed);
                        returns.fetch_add(1, Relaxed);
                    }
                });
            }
        });
        (2_000, leaders.into_inner(), returns.into_inner())
    });
    assert_eq!((leaders, returns), (meetings, meetings * SIZE));
}

#[test]
fn a_thread_that_ends_is_only_late() {
    bounded(|| {
        let barrier = Barrier::new(2);
        thread::scope(|threads| {
            let waits = threads.spawn(|| barrier.wait().unwrap());
            // It has a slot, and panics without a guard.
            let _ = threads.spawn(|| crate::panic_quietly()).join();
            thread::sleep(SOON);
            assert!(!waits.is_finished());
            threads.spawn(|| barrier.wait().unwrap());
        });
    });
}

#[test]
fn a_wait_within_a_destructor_of_a_thread_local_meets() {
    struct AtEnd(RefCell<Option<Arc<Barrier>>>);
    impl Drop for AtEnd {
        fn drop(&mut self) {
            if let Some(barrier) = self.0.take() {
                barrier.wait().unwrap();
            }
        }
    }
    thread_local! { static AT_END: AtEnd = const { AtEnd(RefCell::new(None)) } }
    bounded(|| {
        for used_before in [false, true] {
            let barrier = Arc::new(Barrier::new(2));
            let other = Arc::clone(&barrier);
            let ends = thread::spawn(move || {
                AT_END.with(|at_end| at_end.0.replace(Some(Arc::clone(&other))));
                if used_before {
                    other.wait().unwrap();
                }
            });
            if used_before {
                barrier.wait().unwrap();
            }
            barrier.wait().unwrap();
            ends.join().unwrap();
        }
    });
}

#[test]
fn seats_of_threads_that_sit_out_are_given_away() {
    // 8 members and 4 pairs of threads that take turns: first all of one half, then all of the other.
    bounded(|| {
        let (barrier, turns) = (Barrier::new(4), AtomicU32::new(0));
        thread::scope(|threads| {
            for half in 0..2 {
                let (barrier, turns) = (&barrier, &turns);
                for _ in 0..4 {
                    threads.spawn(move || {
                        for round in 0..6 {
                            while turns.load(Acquire) / 4 != 2 * round + half {
                                thread::yield_now();
                            }
                            for _ in 0..20 {
                                barrier.wait().unwrap();
                            }
                            turns.fetch_add(1, AcqRel);
                        }
                    });
                }
            }
        });
    });
}
