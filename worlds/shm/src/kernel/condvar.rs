//! A semaphore made of a counter, a mutex that guards it, and a condition variable that signals posts.
//!
//! The mutex is robust: if its holder's process dies, the next thread takes it over. The counter is valid
//! then, because one store changes it. POSIX has no robust condition variables. If a process is killed while
//! the C library holds the variable's internal lock, or after the wake-up and before the wait returns, others
//! can hang in it. A program that kills a process that uses a condition variable must not use the variable
//! again.
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

/// A handle to the semaphore in a segment.
pub(super) struct Condvar(Object<CondvarState>);

/// Turns the return value of a pthread function into a result.
fn done(what: &'static str, errno: i32) -> Result<(), Error> {
    if errno == 0 { Ok(()) } else { Err(Error::from(Cause::Os { what, errno, remedy: "" })) }
}

impl Condvar {
    pub(super) fn new(segment: &Arc<Segment>, scope: Scope) -> Result<Self, Error> {
        const WHAT: &str = "making a condition variable";
        let shared = if scope == Scope::Shared { libc::PTHREAD_PROCESS_SHARED } else { libc::PTHREAD_PROCESS_PRIVATE };
        let object = Object::<CondvarState>::new(segment, KIND, |counter| {
            // SAFETY: each attribute object is initialised before it is used, and `counter` points to zeroed
            // memory for a `CondvarState` that no other thread uses yet. glibc's and musl's attribute objects
            // own nothing, so they need no destruction.
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

    fn lock(&self) -> Result<HeldMutex<'_>, Error> {
        // SAFETY: `new` initialised the mutex before `Object` published it, in this or in another process.
        let errno = unsafe { libc::pthread_mutex_lock(&raw mut (*self.0.get()).mutex) };
        self.locked("locking a mutex", errno)
    }

    /// Returns the guard after a call that locked the mutex and returned `errno`. Recovers the mutex if its
    /// former holder's process died.
    fn locked(&self, what: &'static str, errno: i32) -> Result<HeldMutex<'_>, Error> {
        let errno = match errno {
            // SAFETY: `pthread_mutex_consistent` needs a robust mutex that this thread holds: EOWNERDEAD says
            // so.
            libc::EOWNERDEAD => unsafe { libc::pthread_mutex_consistent(&raw mut (*self.0.get()).mutex) },
            errno => errno,
        };
        done(what, errno).map(|()| HeldMutex(self.0.get(), core::marker::PhantomData))
    }
}

/// Proof that this thread holds the mutex. Dropping it unlocks.
struct HeldMutex<'a>(*mut CondvarState, core::marker::PhantomData<&'a Condvar>);

impl Drop for HeldMutex<'_> {
    fn drop(&mut self) {
        // SAFETY: the mutex is initialised, and this thread holds it.
        let errno = unsafe { libc::pthread_mutex_unlock(&raw mut (*self.0).mutex) };
        debug_assert_eq!(errno, 0, "unlocking a mutex");
    }
}

impl Semaphore for Condvar {
    fn post(&self) -> Result<(), Error> {
        let locked = self.lock()?;
        // SAFETY: this thread holds the mutex, which guards the count; `new` initialised the condition
        // variable.
        let errno = unsafe {
            (*locked.0).count += 1;
            libc::pthread_cond_signal(&raw mut (*locked.0).changed)
        };
        done("signalling a condition variable", errno)
    }

    fn wait(&self, why: &WaitContext) -> Result<(), Error> {
        // The condition variable uses CLOCK_MONOTONIC, which has the same origin as the clock of deadlines.
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
            // The call below unlocks the mutex, and locks it again before it returns, also after a timeout.
            // So this guard must not unlock it.
            core::mem::forget(locked);
            // SAFETY: `new` initialised both objects, this thread holds the mutex, and `until` outlives the
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

    /// A thread can stand in for a process, because the kernel handles the robust mutexes of each thread that
    /// exits.
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
