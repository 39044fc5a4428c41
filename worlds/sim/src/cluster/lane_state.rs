//! The state of one lane: its bell, the frames that came, messages on their way from it, memory that it
//! exposes or reads.
use super::cluster_event::Frame;
use crate::SimWord;
use foregather_machine::Nanos;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

/// One lane's state.
#[derive(Default)]
pub(super) struct LaneState {
    pub(super) bell: SimWord,
    /// Whether an interrupt for its sleeper is being served.
    pub(super) interrupted: Cell<bool>,
    pub(super) inbox: RefCell<Inbox>,
    /// The way to each lane.
    pub(super) peers: RefCell<BTreeMap<u32, PeerState>>,
    pub(super) exposed: RefCell<BTreeMap<u64, Exposed>>,
    /// Peers that want to read here, in the order in which they asked.
    pub(super) requests: RefCell<VecDeque<Request>>,
    /// This lane's reads of other lanes, by its tickets.
    pub(super) reads: RefCell<BTreeMap<u64, ReadProgress>>,
    /// The next key or ticket.
    pub(super) next: Cell<u64>,
    /// Messages from here that have not arrived.
    pub(super) flying: Cell<u32>,
    pub(super) leaving: Cell<bool>,
    pub(super) left: Cell<bool>,
    /// For programs that drive the NIC by themselves: receives posted, messages come, descriptors served.
    pub(super) receives: Cell<u32>,
    pub(super) came: Cell<u32>,
}

impl LaneState {
    /// A key or ticket that this lane has not given out yet.
    pub(super) fn number(&self) -> u64 {
        self.next.set(self.next.get() + 1);
        self.next.get()
    }
}

/// The frames that have come and were not released, by the lanes that sent them.
#[derive(Default)]
pub(super) struct Inbox {
    from: BTreeMap<u32, VecDeque<Frame>>,
    /// The lanes with such frames.
    any: BTreeSet<u32>,
}

impl Inbox {
    pub(super) fn unreleased(&self, from: u32) -> u32 {
        self.from.get(&from).map_or(0, |frames| frames.len() as u32)
    }

    pub(super) fn put(&mut self, from: u32, frame: Frame) {
        self.from.entry(from).or_default().push_back(frame);
        self.any.insert(from);
    }

    pub(super) fn first(&self, from: u32) -> Option<&Frame> {
        self.from.get(&from)?.front()
    }

    pub(super) fn take(&mut self, from: u32) -> Option<Frame> {
        let frames = self.from.get_mut(&from)?;
        let frame = frames.pop_front();
        if frames.is_empty() {
            self.any.remove(&from);
        }
        frame
    }

    /// The first lane from that number on with such a frame.
    pub(super) fn next(&self, first: u32) -> Option<u32> {
        self.any.range(first..).next().copied()
    }
}

/// One lane's state of its way to another.
#[derive(Default)]
pub(super) struct PeerState {
    /// Frames sent, less those known here to be released.
    unreleased: u32,
    /// When further releases will be known.
    released: VecDeque<Nanos>,
    /// A frame found no room: the lane that releases one must say so.
    pub(super) refused: bool,
    /// When the last message there arrives; the next one comes no earlier.
    pub(super) last: Nanos,
    /// Messages sent, and the number of the last one that has come.
    pub(super) numbered: u64,
    pub(super) taken: u64,
    /// The static buffer that is being filled.
    pub(super) filling: Vec<u8>,
}

impl PeerState {
    /// Takes room for one frame, if there is any now.
    pub(super) fn admits(&mut self, now: Nanos, room: u32) -> bool {
        while self.released.front().is_some_and(|&at| at <= now) {
            self.released.pop_front();
            self.unreleased -= 1;
        }
        self.refused = self.unreleased >= room;
        self.unreleased += u32::from(!self.refused);
        !self.refused
    }

    /// When the first unknown release will be known.
    pub(super) fn next_release(&self) -> Option<Nanos> {
        self.released.front().copied()
    }

    /// Records that a frame was released, which is known here at `at`. Returns whether a sender waits for it.
    pub(super) fn release(&mut self, at: Nanos) -> bool {
        self.released.push_back(at.max(self.released.back().copied().unwrap_or_default()));
        self.refused
    }
}

/// Memory that peers may read. Its bytes were copied when it was exposed: a simulation reads no program's
/// memory later on.
pub(super) struct Exposed {
    pub(super) bytes: Rc<[u8]>,
    /// The length of each of its pieces.
    pub(super) pieces: Vec<usize>,
}

/// A peer's wish to read.
pub(super) struct Request {
    pub(super) by: u32,
    pub(super) key: u64,
    pub(super) ticket: u64,
    pub(super) pieces: u32,
}

/// How far a read has come.
pub(super) enum ReadProgress {
    Asked,
    Refused,
    Here(Rc<[u8]>),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_comes_back_when_a_release_is_known() {
        let mut peer = PeerState::default();
        let at = Nanos;
        assert!(peer.admits(at(0), 2) && peer.admits(at(0), 2) && !peer.admits(at(0), 2));
        assert!(peer.release(at(10)), "somebody was refused");
        assert!(!peer.admits(at(9), 2) && peer.admits(at(10), 2) && !peer.admits(at(10), 2));
    }

    #[test]
    fn lanes_with_frames_are_found_in_order() {
        let mut inbox = Inbox::default();
        for from in [5, 2, 5] {
            inbox.put(from, Frame { head: 0, bytes: Box::default() });
        }
        assert_eq!((inbox.next(0), inbox.next(3), inbox.next(6)), (Some(2), Some(5), None));
        assert!(inbox.take(5).is_some() && inbox.next(3) == Some(5));
        assert!(inbox.take(5).is_some() && inbox.next(3).is_none() && inbox.take(5).is_none());
    }
}
