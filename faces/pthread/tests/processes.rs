//! Barriers of several processes: alone in its program, since other tests might hold locks at the fork.
mod common;

use common::{Shared, map, map_as, unmap};
use libc::PTHREAD_BARRIER_SERIAL_THREAD as SERIAL;
use std::thread;

#[test]
fn processes_meet_and_a_child_has_barriers_of_its_own() {
    // What is not for several processes has a copy in each.
    let (shared, private) = (map(), map_as(libc::MAP_PRIVATE));
    assert_eq!([shared.init(2, true), private.init(2, false)], [0, 0]);
    let rounds = |barrier: Shared| (0..1_000).filter(|_| barrier.wait() == SERIAL).count();
    let both = |barrier: Shared| {
        thread::scope(|threads| {
            let other = threads.spawn(move || rounds(barrier));
            rounds(barrier) + other.join().unwrap()
        })
    };
    assert_eq!(both(private), 1_000);
    // SAFETY: the child starts threads and waits only, and ends without destructors.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let met = rounds(shared) <= 1_000 && both(private) == 1_000;
        // SAFETY: it ends this process.
        unsafe { libc::_exit(if met { 7 } else { 1 }) };
    }
    rounds(shared);
    let mut status = 0;
    // SAFETY: the child is this process's own.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 7, "{status:#x}");
    assert_eq!([shared.destroy(), private.destroy()], [0, 0]);
    unmap(shared);
    unmap(private);
}
