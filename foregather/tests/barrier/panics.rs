//! Panics, with guards and without.
use crate::{SOON, bounded, panic_quietly};
use foregather::{Barrier, WaitError};
use std::thread;

#[test]
fn a_guard_makes_a_panic_end_the_waits_of_all_for_ever_by_name() {
    bounded(|| {
        let barrier = Barrier::new(3);
        let errors = thread::scope(|threads| {
            let waits: Vec<_> = (0..2).map(|_| threads.spawn(|| barrier.wait().unwrap_err())).collect();
            thread::sleep(SOON);
            let reader = thread::Builder::new().name("reader".to_owned());
            let panics = reader.spawn_scoped(threads, || {
                let _guard = barrier.guard();
                panic_quietly()
            });
            let _ = panics.unwrap().join();
            waits.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        // Later threads get the error, too, even if there are enough of them for an episode.
        let later = thread::scope(|threads| {
            let all: Vec<_> = (0..3).map(|_| threads.spawn(|| barrier.wait().unwrap_err())).collect();
            all.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        for error in errors.into_iter().chain(later) {
            assert!(matches!(error, WaitError::Left(_)), "{error}");
            assert_eq!(error.missing()[0].name.as_deref(), Some("reader"), "{error}");
        }
    });
}

#[test]
fn a_guard_of_a_thread_that_ends_normally_does_nothing() {
    bounded(|| {
        let barrier = Barrier::new(2);
        thread::scope(|threads| {
            threads.spawn(|| drop(barrier.guard())).join().unwrap();
            threads.spawn(|| barrier.wait().unwrap());
            barrier.wait().unwrap();
        });
    });
}

#[test]
fn abort_ends_the_waits_of_all_but_those_that_are_complete() {
    bounded(|| {
        for _ in 0..200 {
            let barrier = Barrier::new(3);
            let ends = thread::scope(|threads| {
                let waits: Vec<_> = (0..2).map(|_| threads.spawn(|| [barrier.wait(), barrier.wait()])).collect();
                // The episode is complete, although the others may not have noticed.
                barrier.wait().unwrap();
                barrier.abort();
                waits.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
            });
            for [complete, aborted] in ends {
                assert!(complete.is_ok() && matches!(aborted, Err(WaitError::Left(_))), "{complete:?}, {aborted:?}");
            }
            assert!(matches!(barrier.wait(), Err(WaitError::Left(_))));
        }
    });
}

#[test]
fn a_panic_of_a_member_names_it() {
    bounded(|| {
        let mut members = Barrier::new(2).members();
        let (mut first, second) = (members.next().unwrap(), members.next().unwrap());
        let panics = thread::spawn(move || {
            let _second = second;
            panic_quietly()
        });
        let error = first.wait().unwrap_err();
        assert!(matches!(&error, WaitError::Left(who) if who.rank == Some(1)), "{error}");
        assert!(panics.join().is_err());
    });
}
