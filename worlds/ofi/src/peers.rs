//! A lane's state of each other lane: its address, the frames that have come from it and their order, and
//! whether it is still there.
use crate::wire::{CREDITS, SPARE, Tag};
use core::cell::{Cell, OnceCell, RefCell};
use std::collections::VecDeque;

/// A frame that came: its buffer, and the number of bytes without the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arrived {
    pub(crate) slot: u32,
    pub(crate) len: u32,
}

/// One other lane, as seen from here. Frames that wait for an earlier number are in `early`.
#[derive(Debug, Default)]
pub(crate) struct RemoteLane {
    /// Its address in libfabric's address book.
    pub(crate) address: u64,
    /// The proofs of frames to it and from it: computed for the first one.
    pub(crate) proof_there: OnceCell<u64>,
    pub(crate) proof_here: OnceCell<u64>,
    /// The number of the next frame to it, and of the next one from it.
    pub(crate) next_out: Cell<u16>,
    next_in: Cell<u16>,
    early: RefCell<Vec<(Tag, Arrived)>>,
    /// Frames for the layer above, the oldest first.
    pub(crate) frames: RefCell<VecDeque<Arrived>>,
    /// The buffer that is being filled.
    pub(crate) filling: Cell<Option<u32>>,
    /// Frames of our own that wait until there is a connection.
    pub(crate) backlog: Cell<u32>,
    /// Frames have gone between the two, other than goodbyes.
    pub(crate) in_touch: Cell<bool>,
    pub(crate) left: Cell<bool>,
    /// A send to it failed: it has gone, or is leaving.
    pub(crate) broken: Cell<bool>,
}

/// Frames that may arrive before one that was sent earlier: more than are ever on their way.
const WINDOW: u16 = 4_096;

impl RemoteLane {
    pub(crate) fn at(address: u64) -> Self {
        Self { address, ..Self::default() }
    }

    /// Takes in a frame, and makes those available that are in order now. `false`: such a frame is
    /// impossible.
    pub(crate) fn sort(&self, tag: Tag, arrived: Arrived) -> bool {
        let ahead = tag.number.wrapping_sub(self.next_in.get());
        let mut early = self.early.borrow_mut();
        if ahead >= WINDOW || early.iter().any(|(other, _)| other.number == tag.number) {
            return false;
        }
        early.push((tag, arrived));
        true
    }

    /// The next frame in order, if it has come.
    pub(crate) fn next(&self) -> Option<(Tag, Arrived)> {
        let mut early = self.early.borrow_mut();
        let at = early.iter().position(|(tag, _)| tag.number == self.next_in.get())?;
        self.next_in.set(self.next_in.get().wrapping_add(1));
        Some(early.swap_remove(at))
    }

    /// Keeps a frame for the layer above. `false`: more than the peer may send before they are released.
    pub(crate) fn keep(&self, arrived: Arrived) -> bool {
        let mut frames = self.frames.borrow_mut();
        let room = frames.len() < (CREDITS + SPARE) as usize;
        if room {
            frames.push_back(arrived);
        }
        room
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::FrameKind;

    fn tag(number: u16) -> Tag {
        Tag { kind: FrameKind::Frame, from: 0, number }
    }

    fn arrived(slot: u32) -> Arrived {
        Arrived { slot, len: 0 }
    }

    #[test]
    fn frames_come_out_in_the_order_of_their_numbers() {
        let peer = RemoteLane::default();
        peer.next_in.set(u16::MAX - 1);
        let numbers = [0, u16::MAX, 1, u16::MAX - 1, 2];
        let mut out = Vec::new();
        for (slot, number) in numbers.into_iter().enumerate() {
            assert!(peer.sort(tag(number), arrived(slot as u32)));
            out.extend(core::iter::from_fn(|| peer.next()).map(|(tag, _)| tag.number));
        }
        assert_eq!(out, [u16::MAX - 1, u16::MAX, 0, 1, 2]);
    }

    #[test]
    fn what_came_before_and_what_cannot_come_is_refused() {
        let peer = RemoteLane::default();
        assert!(peer.sort(tag(0), arrived(0)) && peer.next().is_some());
        assert!(!peer.sort(tag(0), arrived(1)), "a duplicate");
        assert!(peer.sort(tag(2), arrived(1)));
        assert!(!peer.sort(tag(2), arrived(2)), "a duplicate of what waits");
        assert!(!peer.sort(tag(1 + WINDOW), arrived(2)), "too far ahead");
    }

    #[test]
    fn nobody_sends_more_than_its_credits() {
        let peer = RemoteLane::default();
        assert!((0..CREDITS + SPARE).all(|slot| peer.keep(arrived(slot))));
        assert!(!peer.keep(arrived(99)));
    }
}
