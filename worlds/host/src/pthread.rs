//! What programs have of the C library's threads: their default stack, and its barrier, for measurements
//! beside it.
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use foregather_machine::{Cause, Error};

/// The smallest stack that the C library accepts (`PTHREAD_STACK_MIN`).
pub const LEAST_STACK_BYTES: usize = libc::PTHREAD_STACK_MIN;

/// Returns the size of the stack that the C library gives to a thread whose creator names none: with glibc
/// the limit `ulimit -s`, or 2 MiB (on x86-64) where there is no limit. `None` if it does not say.
pub fn default_stack_bytes() -> Option<usize> {
    let (mut attributes, mut bytes) = (MaybeUninit::<libc::pthread_attr_t>::uninit(), 0);
    // SAFETY: the first call initialises the attributes, which the others read, write `bytes` from, and
    // destroy.
    let is_known = unsafe {
        libc::pthread_attr_init(attributes.as_mut_ptr()) == 0
            && libc::pthread_attr_getstacksize(attributes.as_ptr(), &raw mut bytes) == 0
            && libc::pthread_attr_destroy(attributes.as_mut_ptr()) == 0
    };
    (is_known && bytes > 0).then_some(bytes)
}

/// A `pthread_barrier_t`, at an address that never changes.
pub struct PthreadBarrier(Box<UnsafeCell<MaybeUninit<libc::pthread_barrier_t>>>);

// SAFETY: POSIX lets any thread wait at an initialised barrier; all its state is behind the C library's
// functions.
unsafe impl Sync for PthreadBarrier {}
// SAFETY: POSIX lets a thread destroy a barrier that another one has initialised.
unsafe impl Send for PthreadBarrier {}

impl PthreadBarrier {
    /// A barrier for `count` threads.
    ///
    /// # Errors
    /// The error of `pthread_barrier_init`: it refuses a barrier for 0 threads.
    pub fn new(count: u32) -> Result<Self, Error> {
        let barrier = Box::new(UnsafeCell::new(MaybeUninit::uninit()));
        // SAFETY: the pointer is to memory for one barrier, which does not move in its box; null asks for the
        // default attributes.
        let errno = unsafe { libc::pthread_barrier_init(barrier.get().cast(), core::ptr::null(), count) };
        match errno {
            0 => Ok(Self(barrier)),
            errno => Err(Cause::Os { what: "pthread_barrier_init", errno, remedy: "" }.into()),
        }
    }

    /// Waits until all have come.
    pub fn wait(&self) {
        // SAFETY: `new` has initialised the barrier, which has not moved since, and is not destroyed while it
        // is borrowed.
        let errno = unsafe { libc::pthread_barrier_wait(self.0.get().cast()) };
        debug_assert!(errno == 0 || errno == libc::PTHREAD_BARRIER_SERIAL_THREAD, "pthread_barrier_wait: {errno}");
    }
}

impl Drop for PthreadBarrier {
    fn drop(&mut self) {
        // SAFETY: no thread borrows it any more; the call returns when the last waiter has left.
        unsafe { libc::pthread_barrier_destroy(self.0.get().cast()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_threads_meet_and_none_is_an_error() {
        let barrier = PthreadBarrier::new(2).unwrap();
        std::thread::scope(|threads| {
            threads.spawn(|| barrier.wait());
            barrier.wait();
        });
        assert!(PthreadBarrier::new(0).is_err());
    }
}
