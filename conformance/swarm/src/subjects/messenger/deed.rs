//! What ranks do together, one deed after the other; every rank knows its part of each.
use crate::draw::Draw;
use crate::worlds::us;
use foregather_machine::{Nanos, Rank};
use foregather_message::{Mode, Protocol, Receive};

/// A piece: how it is sent, how it is received, how long it is.
pub(super) type PieceShape = (Mode, Receive, usize);

/// One deed.
#[derive(Clone, Debug)]
pub(super) enum Deed {
    /// A message.
    Message { from: Rank, to: Rank, shapes: Vec<PieceShape> },
    /// Two messages that cross: both ranks send before they receive.
    Cross { ranks: [Rank; 2], shapes: Vec<PieceShape>, times: u32 },
    /// Several messages are open both ways at a time.
    Open { ranks: [Rank; 2], shapes: Vec<PieceShape>, times: u32 },
    /// Messages from memory that the messenger keeps; whole ones if they are short.
    Owned { from: Rank, to: Rank, bytes: usize, times: u32 },
    /// A null message.
    Signal { from: Rank, to: Rank },
    /// A packet.
    Packet { from: Rank, to: Rank, bytes: usize, protocol: Protocol },
    /// All ranks meet.
    Barrier,
    /// All take part in a collective operation of that many bytes.
    Collective { which: u64, root: Rank, bytes: usize },
    /// A rank computes.
    Computes { rank: Rank, span: Nanos },
}

impl Deed {
    pub(super) fn draw(draw: &mut Draw, size: u32) -> Self {
        let from = draw.within(0..=size - 1);
        let to = (from + draw.within(1..=size - 1)) % size;
        match draw.below(20) {
            0..=4 => Self::Message { from, to, shapes: shapes(draw) },
            5 | 6 => Self::Cross { ranks: [from, to], shapes: shapes(draw), times: draw.within(1..=4) },
            7 | 8 => Self::Signal { from, to },
            9 => Self::Packet { from, to, bytes: draw.bytes(96), protocol: Protocol::Short },
            10 => Self::Packet { from, to, bytes: draw.bytes(9_000), protocol: Protocol::Long },
            11 => Self::Packet { from, to, bytes: draw.bytes(9_000), protocol: Protocol::Forced },
            12 => Self::Barrier,
            13 | 14 => Self::Collective { which: draw.below(6), root: from, bytes: draw.bytes(5_000) },
            15 | 16 => Self::Open { ranks: [from, to], shapes: shapes(draw), times: draw.within(1..=40) },
            17 | 18 => Self::Owned { from, to, bytes: draw.bytes(12_000), times: draw.within(1..=4) },
            _ => Self::Computes { rank: from, span: draw.span(us(600)) },
        }
    }

    /// Whether two ranks both send in it before they receive.
    pub(super) fn crosses(&self) -> bool {
        matches!(self, Self::Cross { .. } | Self::Open { .. } | Self::Collective { .. })
    }

    /// The sender, if only one rank sends.
    pub(super) fn sender(&self) -> Option<Rank> {
        match *self {
            Self::Message { from, .. } => Some(from),
            _ => None,
        }
    }
}

fn shapes(draw: &mut Draw) -> Vec<PieceShape> {
    let mut piece = |_| {
        let mode = draw.pick(&[Mode::Safer, Mode::Later, Mode::Cheaper, Mode::Cheaper]);
        let receive = if draw.one_in(3) { Receive::Express } else { Receive::Cheaper };
        (mode, receive, draw.bytes(12_000))
    };
    let count = 1 + (piece(0).2 % 4);
    (0..count).map(&mut piece).collect()
}
