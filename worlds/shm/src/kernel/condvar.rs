//! A counter under a mutex, and a condition variable that tells of its changes: the textbook's semaphore.
//!
//! The mutex is robust: if its holder's process dies, the next thread takes it over, for a counter is never
//! half changed. POSIX knows no robust condition variables. If a process is killed in the few instructions in
//! which the C library holds the variable's internal lock, or between being woken and leaving, others can
//! hang in it: a program that kills a user of a condition variable should not use it again.
use super::Semaphore;
use crate::Segment;
use crate::object::Object;
use crate::os::timespec;
use foregather_host::clock;
use foregather_machine::{Cause, Error, Nanos, WaitContext};
use foregather_thread::Scope;
use std::sync::Arc;

const KIND: u32 = 2;

/// The object in the segment.
#[repr(C)]
struct CondvarState {
    mutex: libc::pthread_mutex_t,
    changed: libc::pthread_cond_t,
    /// Guarded by the mutex.
    count: u32,
}

/// A semaphore made of mutex and condition variable, in a segment.
pub(super) struct Condvar(Object<CondvarState>);

/// The return value of a pthread function, as a result.
fn done(what: &'static str, errno: i32) -> Result<(), Error> {
    if errno == 0 { Ok(()) } else { Err(Error::from(Cause::Os { what, errno, remedy: "" })) }
}

impl Condvar {
    pub(super) fn new(segment: &Arc<Segment>, scope: Scope) -> Result<Self, Error> {
        const WHAT: &str = "making a condition variable";
        let shared = if scope == Scope::Shared { libc::PTHREAD_PROCESS_SHARED } else { libc::PTHREAD_PROCESS_PRIVATE };
        let object = Object::<CondvarState>::new(segment, KIND, |counter| {
            // SAFETY: the attributes are initialised before use and the objects are in memory that no other
            // thread uses yet. Glibc's and musl's attributes hold nothing to be destroyed.
            unsafe {
                let mut mutex: libc::pthread_mutexattr_t = core::mem::zeroed();
                done(WHAT, libc::pthread_mutexattr_init(&raw mut mutex))?;
                done(WHAT, libc::pthread_mutexattr_setpshared(&raw mut mutex, shared))?;
                done(WHAT, libc::pthread_mutexattr_setrobust(&raw mut mutex, libc::PTHREAD_MUTEX_ROBUST))?;
                done(WHAT, libc::pthread_mutex_init(&raw mut (*counter).mutex, &raw const mutex))?;
                let mut condition: libc::pthread_condattr_t = core::mem::zeroed();
                done(WHAT, libc::pthread_condattr_init(&raw mut condition))?;
                done(WHAT, libc::pthread_condattr_setpshared(&raw mut condition, shared))?;
                done(WHAT, libc::pthread_condattr_setclock(&raw mut condition, libc::CLOCK_MONOTONIC))?;
                done(WHAT, libc::pthread_cond_init(&raw mut (*counter).changed, &raw const condition))
            }
        });
        Ok(Self(object?))
    }

    pub(super) fn attach(segment: &Arc<Segment>, number: u32) -> Result<Self, Error> {
        Object::find(segment, KIND, number).map(Self)
    }

    fn lock(&self) -> Result<Locked<'_>, Error> {
        // SAFETY: `new` has initialised the mutex.
        let errno = unsafe { libc::pthread_mutex_lock(&raw mut (*self.0.get()).mutex) };
        self.locked("locking a mutex", errno)
    }

    /// The mutex after a call that took it: also if its former holder's process died.
    fn locked(&self, what: &'static str, errno: i32) -> Result<Locked<'_>, Error> {
        let errno = match errno {
            // SAFETY: EOWNERDEAD means that this thread holds the mutex.
            libc::EOWNERDEAD => unsafe { libc::pthread_mutex_consistent(&raw mut (*self.0.get()).mutex) },
            errno => errno,
        };
        done(what, errno).map(|()| Locked(self.0.get(), core::marker::PhantomData))
    }
}

/// The mutex, held by this thread.
struct Locked<'a>(*mut CondvarState, core::marker::PhantomData<&'a Condvar>);

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        // SAFETY: the mutex is initialised, and this thread holds it.
        let errno = unsafe { libc::pthread_mutex_unlock(&raw mut (*self.0).mutex) };
        debug_assert_eq!(errno, 0, "unlocking a mutex");
    }
}

impl Semaphore for Condvar {
    fn post(&self) -> Result<(), Error> {
        let locked = self.lock()?;
        // SAFETY: the count is changed under the mutex; the condition variable is initialised.
        let errno = unsafe {
            (*locked.0).count += 1;
            libc::pthread_cond_signal(&raw mut (*locked.0).changed)
        };
        done("signalling a condition variable", errno)
    }

    fn wait(&self, why: &WaitContext) -> Result<(), Error> {
        // The clock of this project counts from the same moment as CLOCK_MONOTONIC.
        let until = (why.deadline < Nanos::MAX).then(|| timespec(why.deadline));
        let mut locked = self.lock()?;
        loop {
            let counter = locked.0;
            // SAFETY: this thread holds the mutex, which guards the count.
            let count = unsafe { &mut (*counter).count };
            if *count > 0 {
                *count -= 1;
                return Ok(());
            }
            // The call releases the mutex and takes it again, whatever it returns: this handle must not
            // unlock twice.
            core::mem::forget(locked);
            // SAFETY: both objects are initialised, this thread holds the mutex, and the time outlives the
            // call.
            let errno = unsafe {
                let (changed, mutex) = (&raw mut (*counter).changed, &raw mut (*counter).mutex);
                match &until {
                    Some(until) => libc::pthread_cond_timedwait(changed, mutex, until),
                    None => libc::pthread_cond_wait(changed, mutex),
                }
            };
            let late = errno == libc::ETIMEDOUT;
            locked = self.locked("waiting on a condition variable", if late { 0 } else { errno })?;
            // SAFETY: this thread holds the mutex again, which guards the count.
            if late && unsafe { (*counter).count } == 0 {
                return Err(Error::timed_out(why, clock::now()));
            }
        }
    }

    fn name(&self) -> String {
        format!("condvar:{}", self.0.number())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel treats a thread's end like a process's.
    #[test]
    fn a_mutex_whose_holder_died_is_taken_over() {
        let segment = Arc::new(Segment::new(0, 1).unwrap());
        let semaphore = Condvar::new(&segment, Scope::Shared).unwrap();
        std::thread::scope(|threads| {
            threads.spawn(|| core::mem::forget(semaphore.lock().unwrap()));
        });
        semaphore.post().unwrap();
        semaphore.wait(&WaitContext::new("test", 0)).unwrap();
    }
}
