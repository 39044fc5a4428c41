//! Handles that are leaked, and their copies in a forked child.
use crate::bounded;
use foregather::engine::host::forks::in_child;
use foregather::{Barrier, WaitError};
use std::mem::forget;
use std::time::Duration;

#[test]
fn a_member_that_is_forgotten_never_comes_and_a_bounded_wait_names_it() {
    bounded(|| {
        let mut members = Barrier::new(2).members();
        let (mut first, second) = (members.next().unwrap(), members.next().unwrap());
        forget(second);
        for _ in 0..3 {
            let error = first.wait_timeout(Duration::from_millis(2)).unwrap_err();
            assert!(error.is_timed_out() && error.missing()[0].rank == Some(1), "{error}");
        }
    });
}

#[test]
fn a_member_that_is_forgotten_in_the_middle_of_a_meeting_has_arrived() {
    bounded(|| {
        let mut members = Barrier::new(2).members();
        let (mut first, mut second) = (members.next().unwrap(), members.next().unwrap());
        assert!(second.wait_timeout(Duration::ZERO).unwrap_err().is_timed_out());
        forget(second);
        first.wait().unwrap();
        assert!(first.wait_timeout(Duration::from_millis(1)).unwrap_err().is_timed_out(), "the next one is without it");
    });
}

#[test]
fn a_guard_that_is_forgotten_guards_nothing() {
    bounded(|| {
        let barrier = Barrier::new(2);
        std::thread::scope(|threads| {
            let _ = threads
                .spawn(|| {
                    forget(barrier.guard());
                    crate::panic_quietly()
                })
                .join();
        });
        assert!(barrier.wait_timeout(Duration::from_millis(1)).unwrap_err().is_timed_out());
    });
}

#[test]
fn a_barrier_that_is_forgotten_keeps_its_threads_apart_from_others() {
    bounded(|| {
        let barrier = Barrier::new(1);
        barrier.wait().unwrap();
        forget(barrier);
        let next = Barrier::new(1);
        assert!(next.wait().unwrap().is_leader());
    });
}

/// Returns whether `child` returned `true` in a forked child.
fn forked(child: impl FnOnce() -> bool) -> bool {
    in_child(|| i32::from(!child())).exit_status() == Some(0)
}

#[test]
fn a_child_of_a_fork_is_refused_what_its_parent_made() {
    let barrier = Barrier::new(1);
    let mut member = Barrier::new(1).members().next().unwrap();
    barrier.wait().unwrap();
    member.wait().unwrap();
    let refused = |end: Result<_, WaitError>| end.is_err_and(|error| error.to_string().contains("parent process"));
    assert!(forked(|| refused(barrier.wait())), "by &self");
    assert!(forked(|| refused(barrier.wait_timeout(Duration::ZERO))), "bounded");
    assert!(forked(|| refused(member.wait())), "a member");
    assert!(forked(|| Barrier::new(1).wait().is_ok()), "its own");
    barrier.wait().unwrap();
    member.wait().unwrap();
}
