//! The head of a connection: a frame to be read in place, a kept frame, or an offer.
use super::Messenger;
use super::frame::{FrameKind, Head, NONE};
use super::piece::{LENGTH, PieceFormat, SHORT};
use super::rendezvous::Offer;
use super::unexpected::Arrived;
use foregather_machine::{Error, Fabric, Rank, WaitContext};
use foregather_wait::{Roster, Wait, WaitFor};

/// What stands at the head of a connection.
pub(super) enum Front {
    Frame(FrameKind),
    Offer(Offer),
    Fetched(Offer),
}

impl<F: Fabric> Messenger<F> {
    /// The part of a wait for `from` that costs no future; it serves no other peer meanwhile.
    #[inline]
    pub(super) fn ready_soon(&self, from: Rank) -> Result<bool, Error> {
        if self.ready(from)? {
            return Ok(true);
        }
        let ready = || self.ready(from).map(|ready| ready.then_some(())).transpose();
        let why = || {
            let whom = WaitFor::Message(Roster::new(self.fabric.roster()), Some(from));
            (WaitContext::new("a message", self.here.rank).of(from), whom)
        };
        match self.waiter.wait(self.fabric.cpu(), self.fabric.bell(), false, why, ready) {
            Wait::Now(found) => found.map(|()| true),
            Wait::Slow(_) => Ok(false),
        }
    }

    /// Reads the frame at the head of `from`, which `ready` has seen; `None` if fetched pieces are there.
    #[inline]
    pub(super) fn read<R>(&self, from: Rank, read: impl FnOnce(Head, &[u8]) -> R) -> Option<R> {
        if self.unexpected.has(from) {
            return self.unexpected.read(from, |arrived| match arrived {
                Arrived::Frame(head, bytes) => Some(read(*head, bytes)),
                Arrived::Fetched(..) | Arrived::Offered(_) => None,
            })?;
        }
        let head = |bits| Head::unpack(bits).unwrap_or(Head { kind: FrameKind::Abort, credits: 0, extra: 0 });
        self.fabric.peek(self.address(from), |bits, bytes| read(head(bits), bytes))
    }

    /// The kind of the frame at the head of the ring from `from`, whatever was taken in before it.
    pub(super) fn head_in_ring(&self, from: Rank) -> Option<FrameKind> {
        self.fabric.peek(self.address(from), |bits, _| Head::unpack(bits).map(|head: Head| head.kind)).flatten()
    }

    #[cold]
    pub(super) fn front(&self, from: Rank) -> Option<Front> {
        let kept = self.unexpected.read(from, |arrived| match arrived {
            Arrived::Fetched(offer, _) => Some(Front::Fetched(offer.clone())),
            Arrived::Offered(offer) => Some(Front::Offer(offer.clone())),
            Arrived::Frame(..) => None,
        });
        if let Some(Some(front)) = kept {
            return Some(front);
        }
        self.read(from, |head, bytes| match head.kind {
            FrameKind::Offer => Offer::read(head, bytes).map(Front::Offer),
            kind => Some(Front::Frame(kind)),
        })?
    }

    /// Releases the head of `from`.
    #[inline]
    pub(super) fn next(&self, from: Rank) {
        let with = self.with(from);
        if !self.unexpected.is_empty()
            && let Some(unpaid) = self.unexpected.pop(from)
        {
            if unpaid {
                with.link.undefer();
                self.owe_credit(from);
            }
            return;
        }
        with.unpacking.held.set(false);
        self.give_back(from, true);
    }
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
pub(super) fn read_shape(head: Head, bytes: &[u8], at: usize, begun: bool) -> ShapeAt {
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
