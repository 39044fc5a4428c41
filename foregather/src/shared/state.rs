//! The state of a rank: its link to the other ranks, and its locks.
use super::views::Views;
use core::cell::Cell;
use core::time::Duration;
use foregather_dsm::memory::Call;
use foregather_dsm::memory::local::RankPlace;
use foregather_machine::{Cause, Error, Nanos, Rank};

/// The state that a rank and its locks share.
pub(super) struct RankLocks<'a> {
    pub(super) link: Link<'a>,
    /// Whether the rank is inside [`Locked::with`](super::Locked::with).
    locked: Cell<bool>,
    /// The number of locks created so far. All ranks create locks in the same order, so the numbers agree.
    locks: Cell<u32>,
}

/// The link to the other ranks.
#[derive(Clone, Copy)]
pub(super) enum Link<'a> {
    /// In the memory of this process.
    Plain(&'a RankPlace<'a>),
    /// Between ranks with separate memories.
    Views(Views<'a>),
}

/// Marks the rank as holding a lock, until it is dropped.
pub(super) struct LockHeld<'a>(&'a Cell<bool>);

impl Drop for LockHeld<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

impl<'a> RankLocks<'a> {
    pub(super) fn new(link: Link<'a>) -> Self {
        Self { link, locked: Cell::new(false), locks: Cell::new(0) }
    }

    pub(super) fn rank(&self) -> Rank {
        match &self.link {
            Link::Plain(place) => place.rank(),
            Link::Views(views) => views.rank(),
        }
    }

    /// Returns the number of the next lock.
    pub(super) fn next_lock(&self) -> u32 {
        self.locks.replace(self.locks.get() + 1)
    }

    /// # Errors
    /// [`Cause::Refused`] inside another lock.
    pub(super) fn lock(&self) -> Result<LockHeld<'_>, Error> {
        self.together("`Locked::with`")?;
        self.locked.set(true);
        Ok(LockHeld(&self.locked))
    }

    /// Checks that the rank may make a collective call.
    pub(super) fn together(&self, what: &str) -> Result<(), Error> {
        if let Link::Plain(place) = &self.link {
            // Before the rank publishes anything, because a late rank may still read its previous value.
            place.check()?;
        }
        if !self.locked.get() {
            return Ok(());
        }
        let why = format!("{what} within `Locked::with`, where other ranks may wait for this one: leave the lock first");
        Err(Cause::Refused { why }.into())
    }

    /// Makes the call `what`, which waits for other ranks, for at most `timeout`; `act` gets the deadline. A
    /// collective call or a place in a lock's queue cannot be withdrawn, so after a timeout this rank gives
    /// up, and the others are informed.
    pub(super) fn within<R>(
        &self,
        name: &'static str,
        timeout: Option<Duration>,
        act: impl FnOnce(Nanos) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let Some(timeout) = timeout else { return act(Nanos::MAX) };
        let began = self.now();
        let deadline = began + Nanos(u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX));
        self.set_deadline(deadline);
        let end = act(deadline);
        self.set_deadline(Nanos::MAX);
        end.map_err(|error| match *error.cause() {
            Cause::TimedOut { rank, peer, .. } => {
                if let Link::Plain(place) = &self.link {
                    place.give_up();
                }
                Cause::TimedOut { what: name, rank, peer: self.late(peer), waited_ns: (self.now() - began).0 }.into()
            }
            _ => error,
        })
    }

    /// Returns the rank that an error names as late. With separate memories, ranks wait for one another in
    /// turn, so with more than two ranks the awaited rank may itself be waiting for the late one.
    fn late(&self, peer: Option<Rank>) -> Option<Rank> {
        match &self.link {
            Link::Plain(_) => peer,
            Link::Views(views) => peer.filter(|_| views.size() == 2),
        }
    }

    fn now(&self) -> Nanos {
        match &self.link {
            Link::Plain(place) => place.now(),
            Link::Views(views) => views.now(),
        }
    }

    fn set_deadline(&self, deadline: Nanos) {
        match &self.link {
            Link::Plain(place) => place.set_deadline(deadline),
            Link::Views(views) => views.set_deadline(deadline),
        }
    }

    pub(super) fn meet(&self, what: &str, call: Call) -> Result<(), Error> {
        self.together(what)?;
        match &self.link {
            Link::Plain(place) => place.meet(call),
            Link::Views(views) => views.meet(call),
        }
    }
}
