//! What the ends have in common: their memory, and how they go.
use super::Ring;
use core::ops::Range;
use foregather_host::forks;
use foregather_machine::{Cause, Error, Placement};
use foregather_shm::{Process, Seats, Segment, Watch};
use foregather_thread::own;
use foregather_wait::Policy;
use std::sync::Arc;

/// The memory of a queue.
pub(super) struct Shared {
    pub(super) segment: Arc<Segment>,
    pub(super) seats: Seats,
    pub(super) ring: Ring,
}

/// One end of the ring, and the seat of its process.
pub(super) struct End<H> {
    pub(super) shared: Arc<Shared>,
    /// There until the end goes.
    handle: Option<H>,
    rank: u32,
    /// Ends this side as one that has failed.
    fail: fn(H),
    /// The number of forks at which it was made: a child of a fork has a copy of the parent's end.
    forks: u32,
}

impl<H> End<H> {
    /// Takes the end of `rank` by `make`; its waits end with an error once a process of the ranks `watched`
    /// has died.
    pub(super) fn new(
        shared: &Arc<Shared>,
        rank: u32,
        watched: Range<u32>,
        make: impl FnOnce(&Ring, Process, Policy) -> Result<H, Error>,
        fail: fn(H),
    ) -> Result<Self, Error> {
        let cpu = Watch::seats(&shared.seats, watched).process();
        let policy = Policy::adaptive(&cpu.costs());
        let handle = Some(make(&shared.ring, cpu, policy)?);
        shared.seats.take(rank);
        Ok(Self { shared: shared.clone(), handle, rank, fail, forks: forks::generation() })
    }

    /// Is this a copy in a child of the process that took it?
    pub(super) fn is_copy(&self) -> bool {
        self.forks != forks::generation_now()
    }

    pub(super) fn rank(&self) -> u32 {
        self.rank
    }

    /// The handle, for the process that took it.
    pub(super) fn own(&mut self) -> Result<&mut H, Error> {
        let rank = self.rank;
        let copy = || Cause::Unavailable {
            what: format!("the end of rank {rank} of a broadcast, which is the parent process's,"),
            remedy: "take the child's own end in the child".to_owned(),
        };
        let is_copy = self.is_copy();
        self.handle.as_mut().filter(|_| !is_copy).ok_or_else(|| copy().into())
    }
}

impl<H> Drop for End<H> {
    fn drop(&mut self) {
        let is_copy = self.is_copy();
        let Some(handle) = self.handle.take() else { return };
        if is_copy {
            // The parent still has it.
            return core::mem::forget(handle);
        }
        if own::is_panicking() {
            (self.fail)(handle);
        } else {
            drop(handle);
        }
        self.shared.seats.leave(self.rank);
    }
}
