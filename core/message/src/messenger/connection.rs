//! What one side knows of its connection with one peer: credits, offers, what came before it was asked for.
//!
//! A credit is an empty static buffer at the receiver (Namyst et al. 1999 §4). The receiver owes one for each frame it has taken, and
//! returns what it owes on whatever frame goes that way; only if the sender may soon have none left, they travel alone.
use super::chase::Chase;
use super::frame::{Head, STAGE};
use super::piece::PieceFormat;
use core::cell::{Cell, RefCell};
use foregather_machine::{Cause, Error, Key, Nanos, Packet, Rank};
use std::collections::VecDeque;

/// Something of a message that has come and waits for the program.
pub(super) enum Unexpected {
    /// A frame, copied.
    Frame(Head, Vec<u8>),
    /// Offered pieces, fetched already.
    Fetched(Offer, Vec<u8>),
    /// Offered pieces, for which there was no room.
    Offered(Offer),
}

impl Unexpected {
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Frame(_, bytes) | Self::Fetched(_, bytes) => bytes.len(),
            Self::Offered(_) => 0,
        }
    }
}

/// Pieces in the peer's memory.
#[derive(Clone)]
pub(super) struct Offer {
    pub(super) key: Key,
    pub(super) shapes: Vec<PieceFormat>,
    /// Does its message end with it?
    pub(super) last: bool,
}

impl Offer {
    pub(super) fn bytes(&self) -> usize {
        self.shapes.iter().fold(0, |sum: usize, shape| sum.saturating_add(shape.bytes))
    }
}

/// A sized packet of which not all frames have come.
pub(super) struct Assembling {
    pub(super) packet: Packet,
    pub(super) tag: u32,
    pub(super) bytes: usize,
    /// `None` if nobody wants it.
    pub(super) kept: Option<Vec<u8>>,
    pub(super) come: usize,
}

/// Who made a message end too early.
#[derive(Clone, Copy)]
pub(super) struct Lost {
    pub(super) rank: Rank,
    /// By being lost, and not by giving it up.
    pub(super) lost: bool,
}

impl Lost {
    /// What that means for whoever was `doing` something with it.
    pub(super) fn error(self, since: Nanos, doing: &'static str) -> Error {
        let Self { rank, lost } = self;
        if lost { Cause::PeerLost { rank, since, doing }.into() } else { Cause::Poisoned { by: Some(rank) }.into() }
    }
}

pub(super) struct Connection {
    credits: Cell<u32>,
    owed: Cell<u32>,
    /// Frames that were kept beyond what may be kept: their credits are owed when the program has read them.
    unpaid: Cell<u32>,
    /// Offers of ours that the peer has taken and the program has not asked after.
    pub(super) done: Cell<u32>,
    /// Offers that we have taken and not told yet.
    pub(super) untold: Cell<u32>,
    /// The frame at the head of the ring belongs to a message and was counted already.
    pub(super) held: Cell<bool>,
    /// What has come, and is its credit unpaid?
    pub(super) kept: RefCell<VecDeque<(Unexpected, bool)>>,
    pub(super) assembling: RefCell<Option<Assembling>>,
    /// Answers to PROBEs that are still to be sent, by tag.
    pub(super) requests: RefCell<VecDeque<u32>>,
    /// The bytes of the message being packed, while they are few enough to travel with a head.
    pub(super) stage: RefCell<[u8; STAGE]>,
    pub(super) packing: Cell<bool>,
    pub(super) unpacking: Cell<bool>,
    /// A message was given up, on this side or the other; who is to blame.
    pub(super) poisoned: Cell<Option<Lost>>,
    /// The peer was told so.
    pub(super) told: Cell<bool>,
    /// Frames to and from the peer that can end waits.
    pub(super) sent: Cell<u32>,
    pub(super) taken: Cell<u32>,
    /// A chase of ours is on its way; one of the peer's has come and was not judged; the peer was not told that it has come.
    pub(super) chasing: Cell<bool>,
    pub(super) chase: RefCell<Option<Chase>>,
    pub(super) unheard: Cell<bool>,
}

impl Connection {
    pub(super) fn new(credits: u32) -> Self {
        Self {
            credits: Cell::new(credits),
            owed: Cell::default(),
            unpaid: Cell::default(),
            done: Cell::default(),
            untold: Cell::default(),
            held: Cell::default(),
            kept: RefCell::default(),
            assembling: RefCell::default(),
            requests: RefCell::default(),
            stage: RefCell::new([0; STAGE]),
            packing: Cell::default(),
            unpacking: Cell::default(),
            poisoned: Cell::default(),
            told: Cell::default(),
            sent: Cell::default(),
            taken: Cell::default(),
            chasing: Cell::default(),
            chase: RefCell::default(),
            unheard: Cell::default(),
        }
    }

    /// Takes a credit, if there is one.
    #[inline]
    pub(super) fn take_credit(&self) -> bool {
        let left = self.credits.get();
        if left > 0 {
            self.credits.set(left - 1);
        }
        left > 0
    }

    /// Gives a credit back that was not used after all.
    #[inline]
    pub(super) fn untake_credit(&self) {
        self.credits.set(self.credits.get() + 1);
    }

    /// Credits have come back. `false`: more than there can be.
    #[inline]
    pub(super) fn credited(&self, credits: u8, full: u32) -> bool {
        self.credits.set(self.credits.get().saturating_add(u32::from(credits)));
        self.credits.get() <= full
    }

    /// The credits to send along; they are still owed until [`Connection::repaid`].
    #[inline]
    pub(super) fn owed(&self) -> u8 {
        self.owed.get().min(u32::from(u8::MAX)) as u8
    }
    #[inline]
    pub(super) fn repaid(&self, credits: u8) {
        self.owed.set(self.owed.get() - u32::from(credits));
    }

    /// A frame was taken, so its buffer is empty. `true`: the peer may have too few to wait for a frame that takes them along.
    #[inline]
    pub(super) fn owes_one_more(&self, full: u32, alert: u32) -> bool {
        self.owed.set(self.owed.get() + 1);
        self.overdue(full, alert)
    }
    /// The same, asked again: what had no room has to go when there is.
    #[inline]
    pub(super) fn overdue(&self, full: u32, alert: u32) -> bool {
        self.owed.get() > 0 && full.saturating_sub(self.owed.get() + self.unpaid.get()) <= alert
    }

    /// A frame was kept beyond what may be kept; or the program has read such a one, and its credit is owed from now on.
    pub(super) fn defer_credit(&self) {
        self.unpaid.set(self.unpaid.get() + 1);
    }
    pub(super) fn credit_due(&self) {
        self.unpaid.set(self.unpaid.get().saturating_sub(1));
    }

    /// Is anything still to be sent there that could end a wait, as soon as there is room?
    pub(super) fn is_behind(&self, full: u32, alert: u32) -> bool {
        let aborting = self.poisoned.get().is_some() && !self.told.get();
        self.untold.get() > 0 || aborting || !self.requests.borrow().is_empty() || self.overdue(full, alert)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credits_are_neither_made_nor_lost() {
        let (full, alert) = (4, 1);
        let (sender, receiver) = (Connection::new(full), Connection::new(full));
        let mut in_flight = 0;
        for turn in 0..1_000 {
            if turn % 3 != 2 && sender.take_credit() {
                in_flight += 1;
            } else if in_flight > 0 {
                in_flight -= 1;
                if receiver.owes_one_more(full, alert) {
                    let credits = receiver.owed();
                    receiver.repaid(credits);
                    assert!(sender.credited(credits, full));
                }
            }
            assert_eq!(sender.credits.get() + in_flight + receiver.owed.get(), full);
        }
    }

    #[test]
    fn a_peer_that_returns_too_many_is_noticed() {
        let sender = Connection::new(2);
        assert!(sender.take_credit() && sender.take_credit() && !sender.take_credit());
        assert!(sender.credited(2, 2));
        assert!(!sender.credited(1, 2));
    }
}
