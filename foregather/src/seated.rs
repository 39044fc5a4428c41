//! A rank's handle of a shared object. The rank's process is watched, a forked child has only a copy, and a
//! panic closes the handle as failed.
use core::ops::Range;
use foregather_host::forks;
use foregather_machine::{Cause, Error, Placement};
use foregather_shm::{Process, Seats, Watch};
use foregather_thread::{Word, own};
use foregather_wait::Policy;

/// A handle and the slot of its process. The handle keeps its memory mapped.
pub(crate) struct RankHandle<H> {
    what: &'static str,
    pub(crate) seats: Seats,
    /// `None` only while the end is being closed.
    handle: Option<H>,
    rank: u32,
    /// Closes this end as failed.
    fail: fn(H),
    failed: bool,
    /// The fork count of the process when the handle was created: in a forked child, the handle is a copy of
    /// the parent's end.
    forks: u32,
}

impl<H> RankHandle<H> {
    /// Takes the slot of `rank`, and creates the handle with `make`. With the word of [`Seats::succeed`] it
    /// takes over the slot of a process that has died. Its waits fail if a process in one of the slots
    /// `watched` has died.
    pub(crate) fn new(
        what: &'static str,
        seats: &Seats,
        (rank, succeeds): (u32, Option<&Word>),
        watched: Range<u32>,
        make: impl FnOnce(Process, Policy) -> Result<H, Error>,
        fail: fn(H),
    ) -> Result<Self, Error> {
        let cpu = Watch::seats(seats, watched).process();
        let policy = Policy::adaptive(&cpu.costs());
        let handle = match succeeds {
            Some(lock) => seats.succeed(rank, lock, || make(cpu, policy))?,
            None => {
                let handle = make(cpu, policy)?;
                seats.take(rank);
                handle
            }
        };
        let (handle, seats, forks) = (Some(handle), seats.clone(), forks::generation());
        Ok(Self { what, seats, handle, rank, fail, failed: false, forks })
    }

    /// Closes this end as failed.
    pub(crate) fn fail(mut self) {
        self.failed = true;
    }

    /// Returns whether this is a copy in a forked child of the process that took it.
    pub(crate) fn is_copy(&self) -> bool {
        self.forks != forks::generation_now()
    }

    pub(crate) fn rank(&self) -> u32 {
        self.rank
    }

    /// Ranks, each with the number of its process if one has taken its place.
    pub(crate) fn with_processes(&self, ranks: impl IntoIterator<Item = u32>) -> Vec<(u32, Option<u32>)> {
        ranks.into_iter().map(|rank| (rank, self.seats.process(rank))).collect()
    }

    /// Returns the rank that a timed-out wait was for, with its process.
    pub(crate) fn awaited(&self, error: &Error) -> Vec<(u32, Option<u32>)> {
        match *error.cause() {
            Cause::TimedOut { peer, .. } => self.with_processes(peer),
            _ => Vec::new(),
        }
    }

    /// Returns the handle, if this is the process that took it.
    pub(crate) fn own(&mut self) -> Result<&mut H, Error> {
        let (rank, what) = (self.rank, self.what);
        let copy = || Cause::Unavailable {
            what: format!("rank {rank}'s handle of a {what}, which is the parent process's,"),
            remedy: "let the child take a rank of its own".to_owned(),
        };
        let is_copy = self.is_copy();
        self.handle.as_mut().filter(|_| !is_copy).ok_or_else(|| copy().into())
    }
}

impl<H> Drop for RankHandle<H> {
    fn drop(&mut self) {
        let is_copy = self.is_copy();
        let Some(handle) = self.handle.take() else { return };
        if is_copy {
            // The parent still has it.
            return core::mem::forget(handle);
        }
        if own::is_panicking() || self.failed {
            (self.fail)(handle);
        } else {
            drop(handle);
        }
        self.seats.leave(self.rank);
    }
}
