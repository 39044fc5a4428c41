//! The state of a rank: its link to the other ranks, and its locks.
use super::meeting::RankPlace;
use super::views::Views;
use core::cell::Cell;
use foregather_dsm::memory::Call;
use foregather_machine::{Cause, Error, Rank};

/// The data that a rank and its locks share.
pub(super) struct RankState<'a> {
    pub(super) link: Link<'a>,
    /// Whether it is within [`Locked::with`](super::Locked::with).
    locked: Cell<bool>,
    /// All ranks make locks by the same calls, so they agree on the numbers.
    locks: Cell<u32>,
}

/// The link to the other ranks.
#[derive(Clone, Copy)]
pub(super) enum Link<'a> {
    /// In the memory of this process.
    Plain(&'a RankPlace<'a>),
    /// Each rank with its own.
    Views(Views<'a>),
}

/// Its rank has a lock while it lives.
pub(super) struct Alone<'a>(&'a Cell<bool>);

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

impl<'a> RankState<'a> {
    pub(super) fn new(link: Link<'a>) -> Self {
        Self { link, locked: Cell::new(false), locks: Cell::new(0) }
    }

    pub(super) fn rank(&self) -> Rank {
        match &self.link {
            Link::Plain(place) => place.rank(),
            Link::Views(views) => views.rank(),
        }
    }

    /// The number of its next lock.
    pub(super) fn next_lock(&self) -> u32 {
        self.locks.replace(self.locks.get() + 1)
    }

    /// # Errors
    /// [`Cause::Refused`] within another lock.
    pub(super) fn lock(&self) -> Result<Alone<'_>, Error> {
        self.together("`Locked::with`")?;
        self.locked.set(true);
        Ok(Alone(&self.locked))
    }

    /// Checks that it may wait for other ranks.
    pub(super) fn together(&self, what: &str) -> Result<(), Error> {
        if !self.locked.get() {
            return Ok(());
        }
        let why = format!("{what} within `Locked::with`, where other ranks may wait for this one: leave the lock first");
        Err(Cause::Refused { why }.into())
    }

    pub(super) fn meet(&self, what: &str, call: Call) -> Result<(), Error> {
        self.together(what)?;
        match &self.link {
            Link::Plain(place) => place.meet(call),
            Link::Views(views) => views.meet(call),
        }
    }
}
