//! The kernel's blocking primitives, each as a counting semaphore in a file of its own.
//!
//! One process creates a semaphore ([`WaitMethod::create`]) and passes its [`Semaphore::name`] to others,
//! which open it ([`attach`]). Semaphores with file descriptors must be inherited with the same numbers
//! ([`Semaphore::descriptors`]).
//!
//! # Timeouts
//! A wait on a POSIX or System V semaphore or a condition variable ends at its deadline. A wait on an eventfd
//! or a pipe ends only with a post: polling first would double the system calls, and a non-blocking read does
//! not wait. A program that waits on these needs a watchdog that posts when the deadline passes or the peer
//! has died.
mod condvar;
mod eventfd;
mod pipe;
mod posix;
mod sysv;

use crate::Segment;
use foregather_machine::{Cause, Error, WaitContext};
use foregather_thread::Scope;
use rustix::fd::BorrowedFd;
use std::sync::Arc;

/// A counting semaphore that starts at 0.
pub trait Semaphore: Send + Sync {
    /// Adds one, and wakes a sleeper if there is one.
    ///
    /// # Errors
    /// If the kernel refuses, for example because the semaphore was removed.
    fn post(&self) -> Result<(), Error>;
    /// Waits until the count is positive, and takes one. For timeouts, see the [module](self).
    ///
    /// # Errors
    /// If the deadline of `why` passes first, or the kernel refuses.
    fn wait(&self, why: &WaitContext) -> Result<(), Error>;
    /// Returns its name for other processes: `posix:0`, `sysv:32769`, `pipe:5:6`.
    fn name(&self) -> String;
    /// Returns the descriptors that another process must inherit to open it.
    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        Vec::new()
    }
}

foregather_machine::named! {
    /// The kernel's blocking primitives.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum WaitMethod {
        /// `sem_t`: a futex in the segment.
        Posix = "posix",
        /// A System V semaphore set.
        Sysv = "sysv",
        /// A counter behind a descriptor.
        Eventfd = "eventfd",
        /// Bytes in a pipe.
        Pipe = "pipe",
        /// A mutex, a condition variable and a counter in the segment.
        Condvar = "condvar",
    }
}

impl WaitMethod {
    /// Returns how many objects of a segment one semaphore needs.
    pub const fn objects(self) -> u32 {
        matches!(self, Self::Posix | Self::Condvar) as u32
    }

    /// Creates a semaphore with count 0, in the segment if it needs memory. `scope` says whether other
    /// processes will use it.
    ///
    /// # Errors
    /// If the segment has no room for it, or the kernel refuses.
    pub fn create(self, segment: &Arc<Segment>, scope: Scope) -> Result<Box<dyn Semaphore>, Error> {
        Ok(match self {
            Self::Posix => Box::new(posix::Posix::new(segment, scope)?),
            Self::Sysv => Box::new(sysv::Sysv::new()?),
            Self::Eventfd => Box::new(eventfd::Eventfd::new()?),
            Self::Pipe => Box::new(pipe::Pipe::new()?),
            Self::Condvar => Box::new(condvar::Condvar::new(segment, scope)?),
        })
    }
}

/// Opens the semaphore that another process created, by its name.
///
/// # Errors
/// If there is no such semaphore.
pub fn attach(name: &str, segment: &Arc<Segment>) -> Result<Box<dyn Semaphore>, Error> {
    let unknown = || {
        Error::from(Cause::Unavailable {
            what: format!("the semaphore `{name}`"),
            remedy: "attach by the name that `Semaphore::name` gave".to_owned(),
        })
    };
    let (kind, numbers) = name.split_once(':').ok_or_else(unknown)?;
    let kind = WaitMethod::named(kind).ok_or_else(unknown)?;
    let numbers: Result<Vec<i32>, _> = numbers.split(':').map(str::parse).collect();
    Ok(match (kind, &numbers.map_err(|_| unknown())?[..]) {
        (WaitMethod::Posix, &[number]) => Box::new(posix::Posix::attach(segment, number as u32)?),
        (WaitMethod::Condvar, &[number]) => Box::new(condvar::Condvar::attach(segment, number as u32)?),
        (WaitMethod::Sysv, &[id]) => Box::new(sysv::Sysv::attach(id)),
        (WaitMethod::Eventfd, &[fd]) => Box::new(eventfd::Eventfd::attach(fd)?),
        (WaitMethod::Pipe, &[reader, writer]) => Box::new(pipe::Pipe::attach(reader, writer)?),
        _ => return Err(unknown()),
    })
}
