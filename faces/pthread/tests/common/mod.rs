//! A barrier as C programs have it, and memory for one.
use core::ffi::{c_int, c_uint};
use core::mem::MaybeUninit;
use foregather_pthread::{BarrierObject, pthread_barrier_destroy, pthread_barrier_init, pthread_barrier_wait};

/// A pointer that threads may share.
#[derive(Clone, Copy)]
pub(crate) struct Shared(pub(crate) *mut BarrierObject);

// SAFETY: a barrier may be used by any thread.
unsafe impl Send for Shared {}
// SAFETY: any thread may use a barrier at the same time as others.
unsafe impl Sync for Shared {}

impl Shared {
    pub(crate) fn init(self, size: c_uint, shared: bool) -> c_int {
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
    pub(crate) fn wait(self) -> c_int {
        // SAFETY: tests wait at barriers that live.
        unsafe { pthread_barrier_wait(self.0) }
    }
    pub(crate) fn destroy(self) -> c_int {
        // SAFETY: tests destroy barriers that live, once.
        unsafe { pthread_barrier_destroy(self.0) }
    }
}

/// Memory that faults once it was given back, and that processes share.
pub(crate) fn map() -> Shared {
    map_as(libc::MAP_SHARED)
}

pub(crate) fn map_as(kind: c_int) -> Shared {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a mapping of its own.
    let at = unsafe { libc::mmap(core::ptr::null_mut(), 4096, protection, kind | libc::MAP_ANONYMOUS, -1, 0) };
    assert_ne!(at, libc::MAP_FAILED);
    Shared(at.cast())
}

pub(crate) fn unmap(at: Shared) {
    // SAFETY: `map` has mapped it, and the caller gives it back once.
    assert_eq!(unsafe { libc::munmap(at.0.cast(), 4096) }, 0);
}
