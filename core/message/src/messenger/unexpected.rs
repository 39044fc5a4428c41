//! Messages that have come before the program asked for them, as MPI calls them: copied, so that they hide nothing that is to be obeyed.
use super::frame::Head;
use super::rendezvous::Offer;
use core::cell::{Cell, RefCell};
use foregather_machine::Rank;
use std::collections::VecDeque;

/// Something of a message that has come and waits for the program.
pub(super) enum Arrived {
    /// A frame, copied.
    Frame(Head, Vec<u8>),
    /// Offered pieces, fetched already.
    Fetched(Offer, Vec<u8>),
    /// Offered pieces, for which there was no room.
    Offered(Offer),
}

impl Arrived {
    fn bytes(&self) -> usize {
        match self {
            Self::Frame(_, bytes) | Self::Fetched(_, bytes) => bytes.len(),
            Self::Offered(_) => 0,
        }
    }
}

struct Entry {
    arrived: Arrived,
    /// Its credit is owed only when the program has read it.
    unpaid: bool,
}

/// What has come of all ranks, in the order in which it was sent.
pub(super) struct Unexpected {
    of: Box<[RefCell<VecDeque<Entry>>]>,
    entries: Cell<u32>,
    bytes: Cell<usize>,
    most_bytes: usize,
}

impl Unexpected {
    pub(super) fn new(ranks: u32, most_bytes: usize) -> Self {
        let of = (0..ranks).map(|_| RefCell::default()).collect();
        Self { of, entries: Cell::new(0), bytes: Cell::new(0), most_bytes }
    }

    /// Nothing of any rank: the usual case, and one look.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.entries.get() == 0
    }

    /// Is there something of that rank?
    #[inline]
    pub(super) fn has(&self, from: Rank) -> bool {
        !self.is_empty() && !self.of[from as usize].borrow().is_empty()
    }

    /// It takes too much memory: the next frame is the last until its credit is paid.
    pub(super) fn is_full(&self) -> bool {
        self.bytes.get() > self.most_bytes
    }

    pub(super) fn push(&self, from: Rank, arrived: Arrived, unpaid: bool) {
        self.entries.set(self.entries.get() + 1);
        self.bytes.set(self.bytes.get() + arrived.bytes());
        self.of[from as usize].borrow_mut().push_back(Entry { arrived, unpaid });
    }

    /// Reads the oldest of that rank, if there is any.
    pub(super) fn read<R>(&self, from: Rank, read: impl FnOnce(&Arrived) -> R) -> Option<R> {
        self.of[from as usize].borrow().front().map(|entry| read(&entry.arrived))
    }

    /// Lets go of it; is its credit to be paid now?
    pub(super) fn pop(&self, from: Rank) -> Option<bool> {
        let entry = self.of[from as usize].borrow_mut().pop_front()?;
        self.entries.set(self.entries.get() - 1);
        self.bytes.set(self.bytes.get() - entry.arrived.bytes());
        Some(entry.unpaid)
    }
}
