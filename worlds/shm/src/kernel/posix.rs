//! POSIX semaphores: a counter in memory and a futex, from the C library.
use super::Semaphore;
use crate::Segment;
use crate::object::Object;
use crate::os::{last, last_errno, timespec};
use foregather_host::clock;
use foregather_machine::{Cause, Error, Nanos, WaitContext};
use foregather_thread::Scope;
use rustix::time::{ClockId, clock_gettime};
use std::sync::Arc;

const KIND: u32 = 1;

/// A `sem_t` in a segment.
pub(super) struct Posix(Object<libc::sem_t>);

impl Posix {
    pub(super) fn new(segment: &Arc<Segment>, scope: Scope) -> Result<Self, Error> {
        let shared = i32::from(scope == Scope::Shared);
        let object = Object::new(segment, KIND, |sem| {
            // SAFETY: the memory is for a `sem_t` and no other thread uses it yet.
            let refused = unsafe { libc::sem_init(sem, shared, 0) } != 0;
            if refused { Err(last("making a POSIX semaphore", "")) } else { Ok(()) }
        });
        Ok(Self(object?))
    }

    pub(super) fn attach(segment: &Arc<Segment>, number: u32) -> Result<Self, Error> {
        Object::find(segment, KIND, number).map(Self)
    }
}

impl Semaphore for Posix {
    fn post(&self) -> Result<(), Error> {
        // SAFETY: the handle's semaphore is initialised, and its memory stays mapped.
        let refused = unsafe { libc::sem_post(self.0.get()) } != 0;
        if refused { Err(last("posting a POSIX semaphore", "")) } else { Ok(()) }
    }

    fn wait(&self, why: &WaitContext) -> Result<(), Error> {
        loop {
            let refused = if why.deadline == Nanos::MAX {
                // SAFETY: the handle's semaphore is initialised, and its memory stays mapped.
                unsafe { libc::sem_wait(self.0.get()) != 0 }
            } else {
                let until = timespec(wall_clock() + (why.deadline - clock::now()));
                // SAFETY: the handle's semaphore is initialised, and its memory stays mapped; the time
                // outlives the call.
                unsafe { libc::sem_timedwait(self.0.get(), &raw const until) != 0 }
            };
            match refused.then(last_errno) {
                None => return Ok(()),
                Some(libc::EINTR) => {}
                Some(libc::ETIMEDOUT) => return Err(Error::timed_out(why, clock::now())),
                Some(errno) => return Err(Error::from(Cause::Os { what: "waiting on a POSIX semaphore", errno, remedy: "" })),
            }
        }
    }

    fn name(&self) -> String {
        format!("posix:{}", self.0.number())
    }
}

/// Returns the time of the clock that POSIX uses for timeouts of semaphores. Setting it back lengthens a
/// wait.
fn wall_clock() -> Nanos {
    let time = clock_gettime(ClockId::Realtime);
    Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}
