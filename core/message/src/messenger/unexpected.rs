//! Unexpected messages, as MPI calls those that have come before the program asked for them: copied, so that
//! they hide no frame that must be obeyed.
use super::frame::{FrameKind, Head};
use super::rendezvous::Offer;
use core::cell::{Cell, RefCell};
use foregather_machine::Rank;
use std::collections::VecDeque;

/// A part of a message that has come and waits for the program.
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

    fn is_end(&self) -> bool {
        match self {
            Self::Frame(head, _) => head.kind == FrameKind::Last,
            Self::Fetched(..) | Self::Offered(_) => true,
        }
    }
}

struct Entry {
    arrived: Arrived,
    /// The frame's credit is owed only when the program has read it.
    unpaid: bool,
}

/// What has come of one rank, in the order in which it was sent.
#[derive(Default)]
struct FromRank {
    entries: VecDeque<Entry>,
    /// How many of them are offers that wait with their sender.
    offered: usize,
    /// How many of them are offers, or end a message.
    ends: usize,
}

/// What has come of all ranks.
pub(super) struct Unexpected {
    of: Box<[RefCell<FromRank>]>,
    entries: Cell<u32>,
    bytes: Cell<usize>,
    most_bytes: usize,
}

impl Unexpected {
    pub(super) fn new(ranks: u32, most_bytes: usize) -> Self {
        let of = (0..ranks).map(|_| RefCell::default()).collect();
        Self { of, entries: Cell::new(0), bytes: Cell::new(0), most_bytes }
    }

    /// Has nothing come of any rank? The usual case, and one look.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.entries.get() == 0
    }

    /// Has anything come of that rank?
    #[inline]
    pub(super) fn has(&self, from: Rank) -> bool {
        !self.is_empty() && !self.of[from as usize].borrow().entries.is_empty()
    }

    /// Returns whether the end of a message of that rank has come, or an offer.
    pub(super) fn has_end(&self, from: Rank) -> bool {
        !self.is_empty() && self.of[from as usize].borrow().ends > 0
    }

    /// The messages take too much memory: the credit of the next frame waits until it is read.
    pub(super) fn is_full(&self) -> bool {
        self.bytes.get() > self.most_bytes
    }

    /// Do offers of that rank wait with it? Then later ones must wait, too: their sender knows by count alone
    /// which were fetched.
    pub(super) fn has_offers(&self, from: Rank) -> bool {
        !self.is_empty() && self.of[from as usize].borrow().offered > 0
    }

    pub(super) fn push(&self, from: Rank, arrived: Arrived, unpaid: bool) {
        self.entries.set(self.entries.get() + 1);
        self.bytes.set(self.bytes.get() + arrived.bytes());
        let mut queue = self.of[from as usize].borrow_mut();
        queue.offered += usize::from(matches!(arrived, Arrived::Offered(_)));
        queue.ends += usize::from(arrived.is_end());
        queue.entries.push_back(Entry { arrived, unpaid });
    }

    /// Reads the oldest part of that rank, if there is any.
    pub(super) fn read<R>(&self, from: Rank, read: impl FnOnce(&Arrived) -> R) -> Option<R> {
        self.of[from as usize].borrow().entries.front().map(|entry| read(&entry.arrived))
    }

    /// Drops the oldest part; is its credit to be paid now?
    pub(super) fn pop(&self, from: Rank) -> Option<bool> {
        let mut queue = self.of[from as usize].borrow_mut();
        let entry = queue.entries.pop_front()?;
        queue.offered -= usize::from(matches!(entry.arrived, Arrived::Offered(_)));
        queue.ends -= usize::from(entry.arrived.is_end());
        self.entries.set(self.entries.get() - 1);
        self.bytes.set(self.bytes.get() - entry.arrived.bytes());
        Some(entry.unpaid)
    }
}
