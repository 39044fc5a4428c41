//! The kinds of frames of messages, and the heads before their bytes.
use crate::link::{FrameHead, Kinds};

/// This many bytes of a message are gathered before they go, so that a short one travels with its head.
pub(super) const STAGE: usize = 120;
/// The first shape of a message without pieces: no mode has it.
pub(super) const NONE: u16 = 3;

/// The kind of a frame. Kinds of the first group cost a credit, those of the second go into the spare room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrameKind {
    /// Part of a message; more frames of it follow. In the first one the extra bits describe its first piece.
    Data,
    /// The last part of a message.
    Last,
    /// Pieces that wait in the sender's memory: a key, and their shapes.
    Offer,
    /// A null message; the extra bits are its slot.
    Signal,
    /// Part of a sized packet; the extra bits are its kind and whether more follows.
    Packet,
    /// A sized packet that waits in the sender's memory: its tag, a key, its length.
    Lent,
    /// How many offers were taken (extra bits); the highest bit: the lent packet was taken.
    Done,
    /// Credits and nothing else.
    Credit,
    /// The sender gives up the connection; the bytes name the rank that is to blame.
    Abort,
    /// The sender waits for this rank, and the ranks that the bytes name each wait for the next one.
    Chase,
    /// The last chase has come: another may follow.
    Heard,
    /// The ranks that the bytes name wait for each other.
    Deadlock,
}

/// A frame's head.
pub(super) type Head = FrameHead<FrameKind>;

impl Kinds for FrameKind {
    const ALL: &'static [Self] = &[
        Self::Data,
        Self::Last,
        Self::Offer,
        Self::Signal,
        Self::Packet,
        Self::Lent,
        Self::Done,
        Self::Credit,
        Self::Abort,
        Self::Chase,
        Self::Heard,
        Self::Deadlock,
    ];
    const CREDIT: Self = Self::Credit;
    const ABORT: Self = Self::Abort;

    #[inline]
    fn number(self) -> u8 {
        self as u8
    }

    #[inline]
    fn carries(self) -> bool {
        self.may_release()
    }
}

impl FrameKind {
    /// Returns whether a frame of this kind uses a static buffer of the receiver, which is returned as a
    /// credit.
    #[inline]
    pub(super) const fn costs(self) -> bool {
        !matches!(self, Self::Done | Self::Credit | Self::Abort) && self.may_release()
    }

    /// Returns whether a frame of this kind can end a wait of its receiver. Frames of a chase cannot, and
    /// carry no credits.
    #[inline]
    pub(super) const fn may_release(self) -> bool {
        !matches!(self, Self::Chase | Self::Heard | Self::Deadlock)
    }

    /// Returns whether a frame of this kind is part of a message that the program unpacks.
    #[inline]
    pub(super) const fn is_message(self) -> bool {
        matches!(self, Self::Data | Self::Last | Self::Offer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_keeps_what_it_was_told() {
        for &kind in FrameKind::ALL {
            for (credits, extra) in [(0, 0), (255, 0), (0, u16::MAX), (77, 0x1234)] {
                let head = Head { kind, credits, extra };
                assert_eq!(Head::unpack(head.pack()), Some(head));
            }
        }
    }

    #[test]
    fn bits_that_no_head_has_are_refused() {
        assert_eq!(Head::unpack(FrameKind::ALL.len() as u32), None);
        assert_eq!(Head::unpack(1 << 12), None);
    }
}
