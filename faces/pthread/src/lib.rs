//! `libforegather_pthread.so`: the barriers of POSIX threads, which wait as all of this project do.
//!
//! [`object`] is a barrier in the program's 32 bytes; [`next`] is the C library's own, for a program that
//! wants it (`FOREGATHER=off`), and for barriers that were made there. `README.md` says how to put the
//! library under a program.
//!
//! A panic here is an error of this library: it ends the process with its message, as in every `extern "C"`
//! function.

mod next;
mod object;

pub use object::BarrierObject;

use core::ffi::{c_int, c_uint};
use libc::pthread_barrierattr_t;

/// `pthread_barrier_init`.
///
/// # Safety
/// `barrier` points to memory for a barrier that no thread uses; `attributes` is null or points to attributes
/// that were initialised.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_barrier_init(
    barrier: *mut BarrierObject,
    attributes: *const pthread_barrierattr_t,
    size: c_uint,
) -> c_int {
    if next::stands_aside() {
        // SAFETY: the caller's promise is that of the C library's function.
        return next::of().map_or(libc::ENOSYS, |next| unsafe { (next.init)(barrier, attributes, size) });
    }
    let mut shared = libc::PTHREAD_PROCESS_PRIVATE;
    if !attributes.is_null() {
        // SAFETY: by this function's contract they were initialised; the number is this call's own.
        match unsafe { libc::pthread_barrierattr_getpshared(attributes, &raw mut shared) } {
            0 => {}
            error => return error,
        }
    }
    match BarrierObject::new(size, shared == libc::PTHREAD_PROCESS_SHARED) {
        Some(object) => {
            // SAFETY: by this function's contract no thread uses that memory, and it has room for a barrier.
            unsafe { barrier.write(object) };
            0
        }
        None => libc::EINVAL,
    }
}

/// `pthread_barrier_wait`.
///
/// # Safety `barrier` points to a barrier that was initialised, and that is not destroyed before this wait
/// has ended in some thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_barrier_wait(barrier: *mut BarrierObject) -> c_int {
    // SAFETY: by this function's contract the barrier lives until this thread has counted itself out of it,
    // after which the object is not touched.
    match unsafe { &*barrier }.wait() {
        Some(true) => libc::PTHREAD_BARRIER_SERIAL_THREAD,
        Some(false) => 0,
        // SAFETY: the caller's promise is that of the C library's function.
        None => next::of().map_or(libc::EINVAL, |next| unsafe { (next.wait)(barrier) }),
    }
}

/// `pthread_barrier_destroy`.
///
/// # Safety
/// `barrier` points to a barrier that was initialised, and at which no thread begins to wait.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_barrier_destroy(barrier: *mut BarrierObject) -> c_int {
    // SAFETY: by this function's contract the barrier lives.
    match unsafe { &*barrier }.destroy() {
        Some(true) => 0,
        Some(false) => libc::EBUSY,
        // SAFETY: the caller's promise is that of the C library's function.
        None => next::of().map_or(libc::EINVAL, |next| unsafe { (next.destroy)(barrier) }),
    }
}
