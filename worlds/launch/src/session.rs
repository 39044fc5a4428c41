//! The only job of a process, used several times: joined at its first use, kept between uses, and left when
//! the process exits.
//!
//! A launcher's descriptors can be used only once, so a process cannot join again after it has left, and it
//! does not know which use is its last. So each use returns the job, and a function registered with `atexit`
//! leaves it: the other ranks see no loss, however `main` returned. A process that dies in any other way is
//! reported lost as usual.
use crate::Job;
use foregather_machine::{Cause, Error};
use std::ops::Deref;
use std::process;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

enum Kept {
    /// Not joined yet.
    Absent,
    /// No session uses it.
    Idle(Job),
    Used,
    /// Joining failed; a second attempt would fail as well.
    Failed(Error),
}

static KEPT: Mutex<Kept> = Mutex::new(Kept::Absent);

/// Locks the job. It is also locked while a thread joins, so a thread that calls this meanwhile waits and
/// gets the result.
fn kept() -> MutexGuard<'static, Kept> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One use of this process's [`Job`]. There is at most one at a time, and all ranks must start theirs in the
/// same order.
#[derive(Debug)]
#[must_use = "a session that is dropped is over"]
pub struct Session(Option<Job>);

impl Session {
    /// Starts a session. The first session of a process joins the job, as [`Job::join`] does, and later ones
    /// continue it.
    ///
    /// # Errors
    /// As for [`Job::join`]; [`Cause::Refused`] while another session of this process is running;
    /// [`Cause::PeerLost`] if a rank was lost in an earlier session.
    pub fn begin() -> Result<Self, Error> {
        let mut kept = kept();
        let (after, end) = match std::mem::replace(&mut *kept, Kept::Used) {
            Kept::Used => {
                let why = "this process uses its job already: end that job first".to_owned();
                (Kept::Used, Err(Error::from(Cause::Refused { why })))
            }
            Kept::Idle(job) => match job.failure_detector().lost() {
                Some(rank) => (Kept::Idle(job), Err(Error::lost(rank))),
                None => (Kept::Used, Ok(job)),
            },
            Kept::Absent => match Job::join() {
                Ok(job) => (Kept::Used, Ok(job)),
                Err(error) => (Kept::Failed(error.clone()), Err(error)),
            },
            Kept::Failed(error) => (Kept::Failed(error.clone()), Err(error)),
        };
        *kept = after;
        let job = end?;
        leave_at_exit();
        Ok(Self(Some(job)))
    }
}

impl Deref for Session {
    type Target = Job;
    fn deref(&self) -> &Job {
        self.0.as_ref().expect("it is taken by `drop` alone")
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(job) = self.0.take() {
            *kept() = Kept::Idle(job);
        }
    }
}

fn leave_at_exit() {
    static ONCE: Once = Once::new();
    static OWNER: Mutex<u32> = Mutex::new(0);

    extern "C" fn leave() {
        // A forked child inherits this registration, and is not a rank.
        if OWNER.try_lock().is_ok_and(|owner| *owner == process::id())
            && let Ok(mut kept) = KEPT.try_lock()
            && let Kept::Idle(job) = std::mem::replace(&mut *kept, Kept::Absent)
        {
            let _ = job.leave();
        }
    }

    ONCE.call_once(|| {
        *OWNER.lock().unwrap_or_else(PoisonError::into_inner) = process::id();
        // SAFETY: `leave` lives forever and does not unwind: it only tries to lock, and `Job::leave` returns
        // its errors.
        let full = unsafe { libc::atexit(leave) };
        // Then the other ranks report this process lost when it exits, which is the worst that can happen.
        debug_assert!(full == 0, "the list of functions at exit is full");
    });
}
