//! A child of a fork, alone in its program: other tests might hold locks at the fork.
#![cfg(not(loom))]

use core::sync::atomic::{AtomicU32, Ordering::*};
use foregather_host::forks;
use foregather_openmp::parallel;
use foregather_openmp::worksharing::barrier;

#[test]
fn a_forked_child_has_threads_of_its_own() {
    let calls = AtomicU32::new(0);
    let region = || {
        parallel(3, &|| {
            calls.fetch_add(1, Relaxed);
            barrier();
        });
    };
    region();
    let child = forks::in_child(|| {
        region();
        region();
        calls.load(Relaxed) as i32
    });
    assert_eq!(child.exit_status(), Some(9));
    region();
    assert_eq!(calls.into_inner(), 6);
}
