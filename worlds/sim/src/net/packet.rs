//! One packet on its way.
use foregather_machine::{Packet, Rank};

/// The kind of a packet: a null message, a packet of a protocol, or the system's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PacketKind {
    /// A null message to a slot.
    Null,
    /// A packet of a protocol.
    Packet(Packet),
    /// Gives header buffers back that no other message has returned.
    Release,
}

impl PacketKind {
    /// The name in traces.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Packet(packet) => packet.name(),
            Self::Release => "release",
        }
    }

    /// Returns whether the node's program sends it and waits until it has left. The system sends the rest.
    pub(super) const fn of_program(self) -> bool {
        !matches!(self, Self::Release | Self::Packet(Packet::Request))
    }

    /// Returns whether it takes a header buffer at its receiver (Seidel & Davis 1992 §2.4).
    pub(super) const fn takes_header(self) -> bool {
        matches!(self, Self::Null | Self::Packet(Packet::Short | Packet::Probe))
    }
}

/// No contents, or no number in the record.
pub(super) const NONE: u32 = u32::MAX;

/// A packet with all the data that its way depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parcel {
    pub(super) from: Rank,
    pub(super) to: Rank,
    pub(super) kind: PacketKind,
    /// How many header buffers it gives back.
    pub(super) returns: u16,
    /// The slot of a null message, the tag of the others.
    pub(super) tag: u32,
    /// Bytes of contents.
    pub(super) bytes: u32,
    /// Where the contents are kept.
    pub(super) load: u32,
    /// Its number in the record.
    pub(super) mark: u32,
}

impl Parcel {
    pub(super) const fn null(from: Rank, to: Rank, slot: u32) -> Self {
        Self { from, to, kind: PacketKind::Null, returns: 0, tag: slot, bytes: 0, load: NONE, mark: NONE }
    }

    /// A packet that goes back the same way.
    pub(super) const fn back(&self, kind: PacketKind) -> Self {
        Self { kind, ..Self::null(self.to, self.from, self.tag) }
    }
}
