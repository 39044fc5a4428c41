//! What one side knows of its connection with one peer: its link, offers, what came before it was asked for.
use super::chase::Chase;
use super::frame::{Head, STAGE};
use super::piece::PieceFormat;
use crate::link::{Link, Lost, Terms};
use core::cell::{Cell, RefCell};
use foregather_machine::{Key, Packet};
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

pub(super) struct Connection {
    /// Its credits. Those of frames that were kept beyond what may be kept are owed when the program has read them.
    pub(super) link: Link,
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
    pub(super) fn new(terms: Terms) -> Self {
        Self {
            link: Link::new(terms),
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

    /// Is anything still to be sent there that could end a wait, as soon as there is room?
    pub(super) fn is_behind(&self, terms: Terms) -> bool {
        let aborting = self.poisoned.get().is_some() && !self.told.get();
        self.untold.get() > 0 || aborting || !self.requests.borrow().is_empty() || self.link.overdue(terms)
    }
}
