//! Barriers as C programs use them: in memory of their own, destroyed at once, made again, shared by
//! processes.
use core::ffi::{c_int, c_uint};
use core::mem::MaybeUninit;
use foregather_pthread::{BarrierObject, pthread_barrier_destroy, pthread_barrier_init, pthread_barrier_wait};
use libc::PTHREAD_BARRIER_SERIAL_THREAD as SERIAL;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::*};
use std::thread;

/// A pointer that threads may share.
#[derive(Clone, Copy)]
struct Shared(*mut BarrierObject);

// SAFETY: a barrier may be used by any thread.
unsafe impl Send for Shared {}
// SAFETY: any thread may use a barrier at the same time as others.
unsafe impl Sync for Shared {}

impl Shared {
    fn init(self, size: c_uint, shared: bool) -> c_int {
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: the attributes are initialised before they are used; the memory has room for a barrier,
        // which no thread uses yet.
        unsafe {
            assert_eq!(libc::pthread_barrierattr_init(attributes.as_mut_ptr()), 0);
            let kind = if shared { libc::PTHREAD_PROCESS_SHARED } else { libc::PTHREAD_PROCESS_PRIVATE };
            assert_eq!(libc::pthread_barrierattr_setpshared(attributes.as_mut_ptr(), kind), 0);
            pthread_barrier_init(self.0, attributes.as_ptr(), size)
        }
    }
    fn wait(self) -> c_int {
        // SAFETY: tests wait at barriers that live.
        unsafe { pthread_barrier_wait(self.0) }
    }
    fn destroy(self) -> c_int {
        // SAFETY: tests destroy barriers that live, once.
        unsafe { pthread_barrier_destroy(self.0) }
    }
}

/// Memory that faults once it was given back.
fn map() -> Shared {
    // SAFETY: a mapping of its own, which processes share.
    let at = unsafe {
        libc::mmap(core::ptr::null_mut(), 4096, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1, 0)
    };
    assert_ne!(at, libc::MAP_FAILED);
    Shared(at.cast())
}

fn unmap(at: Shared) {
    // SAFETY: `map` has mapped it, and the caller gives it back once.
    assert_eq!(unsafe { libc::munmap(at.0.cast(), 4096) }, 0);
}

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
fn processes_meet_and_a_child_has_barriers_of_its_own() {
    let (shared, private) = (map(), map());
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
