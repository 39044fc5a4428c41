//! Messages that come in: the frame at hand, and unexpected messages, as MPI calls those that have come
//! before the program asked for them. They are copied, so that they hide no frame that must be obeyed.
use super::connections::Connections;
use super::frame::{FrameKind, Head, NONE};
use super::piece::{LENGTH, PieceFormat, SHORT};
use super::rendezvous::Offer;
use core::cell::{Cell, RefCell};
use foregather_machine::{Fabric, Rank};
use std::collections::VecDeque;

/// A part of a message that has come and waits for the program.
pub(super) enum UnexpectedMessage {
    /// A frame, copied.
    Frame(Head, Vec<u8>),
    /// Offered pieces, fetched already.
    Fetched(Offer, Vec<u8>),
    /// Offered pieces, for which there was no room.
    Offered(Offer),
}

impl UnexpectedMessage {
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

struct IncomingEntry {
    arrived: UnexpectedMessage,
    /// The frame's credit is owed only when the program has read it.
    unpaid: bool,
}

/// What has come of one rank, in the order in which it was sent.
#[derive(Default)]
struct Unexpected {
    entries: VecDeque<IncomingEntry>,
    /// How many of them are offers that wait with their sender.
    offered: usize,
    /// How many of them are offers, or end a message.
    ends: usize,
}

#[derive(Default)]
struct FromRank {
    /// The frame at the head of the ring belongs to a message and was counted already.
    held: Cell<bool>,
    unexpected: RefCell<Unexpected>,
}

/// Messages that come in, of all ranks.
pub(super) struct IncomingMessages {
    peers: Box<[FromRank]>,
    /// Unexpected parts of messages, and their bytes.
    entries: Cell<u32>,
    bytes: Cell<usize>,
    most_bytes: usize,
    /// The rank that comes first when a message from any rank is wanted.
    turn: Cell<Rank>,
}

impl IncomingMessages {
    pub(super) fn new<F: Fabric>(connections: &Connections<F>) -> Self {
        Self {
            peers: (0..connections.size).map(|_| FromRank::default()).collect(),
            entries: Cell::new(0),
            bytes: Cell::new(0),
            most_bytes: connections.rules.kept_bytes,
            turn: Cell::new((connections.here.rank + 1) % connections.size.max(1)),
        }
    }

    #[inline]
    fn with(&self, from: Rank) -> &FromRank {
        &self.peers[from as usize]
    }

    #[inline]
    pub(super) fn is_held(&self, from: Rank) -> bool {
        self.with(from).held.get()
    }

    /// Records whether the frame at the head of the ring belongs to a message and was counted; returns
    /// whether it was known to be.
    #[inline]
    pub(super) fn set_held(&self, from: Rank, held: bool) -> bool {
        self.with(from).held.replace(held)
    }

    /// The first rank that is ready, from the one after that served last.
    pub(super) fn find<T>(&self, ready: impl FnMut(Rank) -> Option<T>) -> Option<T> {
        let first = self.turn.get();
        (first..self.peers.len() as u32).chain(0..first).find_map(ready)
    }

    /// That rank was served.
    pub(super) fn served(&self, rank: Rank) {
        self.turn.set((rank + 1) % self.peers.len() as u32);
    }

    /// Returns whether anything unexpected has come of that rank.
    #[inline]
    pub(super) fn has(&self, from: Rank) -> bool {
        self.entries.get() > 0 && !self.with(from).unexpected.borrow().entries.is_empty()
    }

    /// Returns whether the end of a message of that rank has come, or an offer.
    pub(super) fn has_end(&self, from: Rank) -> bool {
        self.with(from).unexpected.borrow().ends > 0
    }

    /// Returns whether the messages take too much memory: the credit of the next frame waits until it is
    /// read.
    pub(super) fn is_full(&self) -> bool {
        self.bytes.get() > self.most_bytes
    }

    /// Returns whether offers of that rank wait with it. Then later ones must wait, too: their sender knows
    /// by count alone which were fetched.
    pub(super) fn has_offers(&self, from: Rank) -> bool {
        self.with(from).unexpected.borrow().offered > 0
    }

    pub(super) fn push(&self, from: Rank, arrived: UnexpectedMessage, unpaid: bool) {
        self.entries.set(self.entries.get() + 1);
        self.bytes.set(self.bytes.get() + arrived.bytes());
        let mut unexpected = self.with(from).unexpected.borrow_mut();
        unexpected.offered += usize::from(matches!(arrived, UnexpectedMessage::Offered(_)));
        unexpected.ends += usize::from(arrived.is_end());
        unexpected.entries.push_back(IncomingEntry { arrived, unpaid });
    }

    /// Drops the oldest part; returns whether its credit is to be paid now.
    fn pop(&self, from: Rank) -> Option<bool> {
        let mut unexpected = self.with(from).unexpected.borrow_mut();
        let entry = unexpected.entries.pop_front()?;
        unexpected.offered -= usize::from(matches!(entry.arrived, UnexpectedMessage::Offered(_)));
        unexpected.ends -= usize::from(entry.arrived.is_end());
        self.entries.set(self.entries.get() - 1);
        self.bytes.set(self.bytes.get() - entry.arrived.bytes());
        Some(entry.unpaid)
    }

    /// Reads the oldest unexpected part of that rank, if there is any.
    fn read_unexpected<R>(&self, from: Rank, read: impl FnOnce(&UnexpectedMessage) -> R) -> Option<R> {
        self.with(from).unexpected.borrow().entries.front().map(|entry| read(&entry.arrived))
    }

    /// Copies fetched pieces. `false`: they are still with their sender.
    pub(super) fn take_fetched(&self, from: Rank, into: &mut [&mut [u8]]) -> bool {
        let fetched = self.read_unexpected(from, |arrived| {
            let UnexpectedMessage::Fetched(_, bytes) = arrived else { return false };
            let mut rest = &bytes[..];
            for piece in into {
                let (now, later) = rest.split_at(piece.len());
                piece.copy_from_slice(now);
                rest = later;
            }
            true
        });
        fetched == Some(true)
    }

    /// Reads the frame at the head of `from`; `None` if fetched pieces are there.
    #[inline]
    pub(super) fn read<F: Fabric, R>(
        &self,
        connections: &Connections<F>,
        from: Rank,
        read: impl FnOnce(Head, &[u8]) -> R,
    ) -> Option<R> {
        if self.has(from) {
            return self.read_unexpected(from, |arrived| match arrived {
                UnexpectedMessage::Frame(head, bytes) => Some(read(*head, bytes)),
                UnexpectedMessage::Fetched(..) | UnexpectedMessage::Offered(_) => None,
            })?;
        }
        let head = |bits| Head::unpack(bits).unwrap_or(Head { kind: FrameKind::Abort, credits: 0, extra: 0 });
        connections.fabric.peek(connections.address(from), |bits, bytes| read(head(bits), bytes))
    }

    /// Returns whether the head of the ring from `from` ends a message or offers pieces, whatever was taken
    /// in before it.
    pub(super) fn is_end_in_ring<F: Fabric>(&self, connections: &Connections<F>, from: Rank) -> bool {
        let kind = |bits, _: &[u8]| Head::unpack(bits).map(|head: Head| head.kind);
        let kind = connections.fabric.peek(connections.address(from), kind).flatten();
        matches!(kind, Some(FrameKind::Last | FrameKind::Offer))
    }

    /// What stands at the head of `from`; `None` for an offer of nothing.
    #[cold]
    pub(super) fn front<F: Fabric>(&self, connections: &Connections<F>, from: Rank) -> Option<Front> {
        let kept = self.read_unexpected(from, |arrived| match arrived {
            UnexpectedMessage::Fetched(offer, _) | UnexpectedMessage::Offered(offer) => Some(Front::Offer(offer.clone())),
            UnexpectedMessage::Frame(..) => None,
        });
        if let Some(Some(front)) = kept {
            return Some(front);
        }
        self.read(connections, from, |head, bytes| match head.kind {
            FrameKind::Offer => Offer::read(head, bytes).map(Front::Offer),
            kind => Some(Front::Frame(kind)),
        })?
    }

    /// Releases the head of `from`.
    #[inline]
    pub(super) fn next<F: Fabric>(&self, connections: &Connections<F>, from: Rank) {
        if self.entries.get() > 0
            && let Some(unpaid) = self.pop(from)
        {
            if unpaid {
                connections.link(from).undefer();
                connections.owe_credit(from);
            }
            return;
        }
        self.set_held(from, false);
        connections.release(from, true);
    }
}

/// What stands at the head of a connection: a frame, or pieces that were offered and may have been fetched.
pub(super) enum Front {
    Frame(FrameKind),
    Offer(Offer),
}

/// Where the shape of the next piece is.
pub(super) enum ShapeAt {
    /// Here, with its bytes behind it.
    At(PieceFormat, usize),
    /// In a later frame.
    NotHere,
    /// The message has ended.
    Nowhere,
    Malformed,
}

#[inline]
pub(super) fn read_shape(head: Head, bytes: &[u8], (at, begun): (usize, bool)) -> ShapeAt {
    let (short, at) = match (head.kind, begun) {
        (FrameKind::Offer, _) => return ShapeAt::NotHere,
        (_, false) if head.extra == NONE => return ShapeAt::Nowhere,
        (_, false) => (head.extra, 0),
        (kind, true) if at == bytes.len() => return if kind == FrameKind::Last { ShapeAt::Nowhere } else { ShapeAt::NotHere },
        (_, true) => match bytes.get(at..).and_then(|rest| rest.first_chunk::<SHORT>()) {
            Some(short) => (u16::from_le_bytes(*short), at + SHORT),
            None => return ShapeAt::Malformed,
        },
    };
    let length = || bytes.get(at..).and_then(|rest| rest.first_chunk::<LENGTH>()).copied();
    match PieceFormat::read(short, length) {
        Some(shape) => ShapeAt::At(shape, at + if short >> 3 == 0x1fff { LENGTH } else { 0 }),
        None => ShapeAt::Malformed,
    }
}
