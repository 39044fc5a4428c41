//! Barriers as C programs use them: in memory of their own, destroyed at once, and made again.
mod common;

use common::{map, unmap};
use core::ffi::{c_int, c_uint};
use foregather_pthread::BarrierObject;
use libc::PTHREAD_BARRIER_SERIAL_THREAD as SERIAL;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::*};
use std::thread;

/// Each round has a barrier of its own, which the first thread that is back destroys and unmaps.
fn destroyed_at_once(shared: bool) {
    const SIZE: usize = 4;
    for round in 0..200 {
        let (barrier, first, serial) = (map(), AtomicUsize::new(0), AtomicU32::new(0));
        assert_eq!(barrier.init(SIZE as c_uint, shared), 0);
        thread::scope(|threads| {
            for _ in 0..SIZE {
                threads.spawn(|| {
                    match barrier.wait() {
                        0 => {}
                        SERIAL => _ = serial.fetch_add(1, Relaxed),
                        error => panic!("{error} in round {round}"),
                    }
                    if first.fetch_add(1, AcqRel) == 0 {
                        assert_eq!(barrier.destroy(), 0);
                        unmap(barrier);
                    }
                });
            }
        });
        assert_eq!(serial.into_inner(), 1, "one thread of each meeting is told so");
    }
}

#[test]
fn the_first_that_is_back_may_destroy_a_barrier_and_unmap_it() {
    destroyed_at_once(false);
    destroyed_at_once(true);
}

#[test]
fn no_thread_leaves_before_all_have_come_and_a_barrier_is_made_again() {
    let barrier = map();
    for (size, shared) in [(1, false), (3, false), (7, true), (2, true)] {
        assert_eq!(barrier.init(size, shared), 0);
        let come = AtomicU32::new(0);
        thread::scope(|threads| {
            for _ in 0..size {
                threads.spawn(|| {
                    for round in 1..=500 {
                        come.fetch_add(1, Relaxed);
                        barrier.wait();
                        assert!(come.load(Relaxed) >= round * size, "a thread left too early");
                        barrier.wait();
                    }
                });
            }
        });
        assert_eq!(barrier.destroy(), 0);
    }
    unmap(barrier);
}

#[test]
fn a_thousand_threads_meet() {
    const SIZE: u32 = 1_023;
    for shared in [false, true] {
        let barrier = map();
        assert_eq!(barrier.init(SIZE, shared), 0);
        let serial = AtomicU32::new(0);
        thread::scope(|threads| {
            for _ in 0..SIZE {
                let body = || {
                    for _ in 0..3 {
                        serial.fetch_add(u32::from(barrier.wait() == SERIAL), Relaxed);
                    }
                };
                thread::Builder::new().stack_size(1 << 16).spawn_scoped(threads, body).unwrap();
            }
        });
        assert_eq!((serial.into_inner(), barrier.destroy()), (3, 0));
        unmap(barrier);
    }
}

#[test]
fn barriers_for_none_and_for_too_many_are_refused() {
    let barrier = map();
    assert_eq!([barrier.init(0, false), barrier.init(u32::MAX, true)], [libc::EINVAL; 2]);
    unmap(barrier);
}

#[test]
fn barriers_of_the_c_library_stay_its_own() {
    let barrier = map();
    // SAFETY: the C library's function of that name initialises memory that has room for a barrier, and that
    // no thread uses yet.
    unsafe {
        let library = libc::dlopen(c"libc.so.6".as_ptr(), libc::RTLD_NOW);
        let init = libc::dlsym(library, c"pthread_barrier_init".as_ptr());
        let init: unsafe extern "C" fn(*mut BarrierObject, *const libc::pthread_barrierattr_t, c_uint) -> c_int =
            core::mem::transmute(init);
        assert_eq!(init(barrier.0, core::ptr::null(), 1), 0);
    }
    assert_eq!((barrier.wait(), barrier.destroy()), (SERIAL, 0));
    unmap(barrier);
}
