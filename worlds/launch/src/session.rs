//! The one job of a process, used several times: joined at its first use, kept between uses, left when the
//! process ends.
//!
//! A launcher's descriptors are taken once, so a job that was left cannot be joined again. Nor can a process
//! know which use was its last before it ends. So a use gives the job back, and a function in the C library's
//! list (`atexit`) leaves it: the others see no loss, however `main` returned. A process that dies in any
//! other way is lost to them, as ever.
use crate::Job;
use foregather_machine::{Cause, Error};
use std::ops::Deref;
use std::process;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

enum Kept {
    /// It was not joined yet.
    Absent,
    /// No session uses it.
    Idle(Job),
    Used,
    /// It could not be joined; a second try would not be another rank.
    Failed(Error),
}

static KEPT: Mutex<Kept> = Mutex::new(Kept::Absent);

/// Also locked while a thread joins: a thread that comes meanwhile learns the result.
fn kept() -> MutexGuard<'static, Kept> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One use of this process's [`Job`]; there is one at a time. All ranks begin theirs in the same order.
#[derive(Debug)]
#[must_use = "a session that is dropped is over"]
pub struct Session(Option<Job>);

impl Session {
    /// Begins a session: the first of a process joins the job, as [`Job::join`] does, and later ones go on
    /// with it.
    ///
    /// # Errors
    /// As [`Job::join`]; [`Cause::Refused`] while another session of this process goes on;
    /// [`Cause::PeerLost`] if a rank was lost in an earlier one.
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
        // A child of a fork has this function in its list, too, and is no rank.
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
        // Then the others take the end of this process for a loss, which is the worst possible result.
        debug_assert!(full == 0, "the list of functions at exit is full");
    });
}
