//! The parts of a lane. All of them belong to the thread that has the turn ([`crate::turn`]): the owner, or
//! the caretaker.
use crate::abi::{RECV, SEND};
use crate::asked::PeerRead;
use crate::cpu::Processor;
use crate::exposure::Exposures;
use crate::peers::RemoteLane;
use crate::proof::Proofs;
use crate::queued::{POSTED, Queued};
use crate::registration::Registrations;
use crate::slots::Slots;
use crate::wire::{CREDITS, SPARE};
use core::cell::{Cell, RefCell};
use foregather_machine::{Address, Clock, Error, FabricCosts, Nanos, Rank, Slope, WordLine};
use foregather_thread::Word;
use std::collections::VecDeque;
use std::sync::Arc;

/// For this long after it has left a lane tries to deliver what was posted,
const SETTLING: Nanos = Nanos::from_ms(2_000);
/// and for this long it waits until the lanes that it was in touch with leave;
const IN_TOUCH: Nanos = Nanos::from_ms(1_000);
/// but for at least this long once it is dropped: it may have left long ago.
const SETTLING_LEAST: Nanos = Nanos::from_ms(200);

/// The rank of these lanes, and their group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaneSet {
    pub(crate) rank: Rank,
    pub(crate) size: u32,
    pub(crate) lanes: u32,
    /// The stamp of this job's frames.
    pub(crate) stamp: u32,
}

/// The endpoint, its buffers, and the state of the other lanes.
pub(crate) struct Inner {
    pub(crate) lane_set: LaneSet,
    pub(crate) lane: u32,
    pub(crate) peers: Box<[RemoteLane]>,
    proofs: Arc<Proofs>,
    /// Frames without a proof, which were dropped.
    pub(crate) unverified_frames: Cell<u64>,
    /// Frames for the layer above that are not released: while there are none, a look need not visit each
    /// peer.
    pub(crate) waiting: Cell<u32>,
    pub(crate) incoming: Slots,
    pub(crate) outgoing: Slots,
    pub(crate) exposures: RefCell<Exposures>,
    pub(crate) registrations: Registrations,
    pub(crate) reading: RefCell<PeerRead>,
    /// Until then the lane makes progress for peers that read from here.
    pub(crate) pushing_until: Cell<Nanos>,
    pub(crate) queue: RefCell<VecDeque<Queued>>,
    pub(crate) progressing: Cell<bool>,
    /// Receives that stand open.
    pub(crate) posted: Cell<u32>,
    /// Bytes that libfabric copies before it returns.
    pub(crate) inject: usize,
    /// Questions whether a peer has left since the last look at the network.
    pub(crate) asked: Cell<u32>,
    /// How many frames are being looked at.
    pub(crate) looking: Cell<u32>,
    /// When it said that it would post no more.
    pub(crate) left_at: Cell<Option<Nanos>>,
    pub(crate) roster: Box<[WordLine<Word>]>,
    /// The last field, since the memory of all others was lent to it.
    pub(crate) cpu: Processor,
}

impl Inner {
    pub(crate) fn start(
        lane_set: LaneSet,
        lane: u32,
        peers: Vec<RemoteLane>,
        proofs: Arc<Proofs>,
        cpu: Processor,
    ) -> Result<Self, Error> {
        let (frames, count) = ((CREDITS + SPARE) as usize, peers.len());
        let made = Self {
            lane_set,
            lane,
            // Beside frames that wait for their release, some buffers always wait for a frame.
            incoming: Slots::new(count * frames + POSTED, RECV),
            // The layer above bounds these by its credits.
            outgoing: Slots::new(usize::MAX, SEND),
            peers: peers.into(),
            proofs,
            unverified_frames: Cell::new(0),
            waiting: Cell::new(0),
            exposures: RefCell::default(),
            registrations: Registrations::default(),
            reading: RefCell::default(),
            pushing_until: Cell::default(),
            queue: RefCell::default(),
            progressing: Cell::new(false),
            posted: Cell::new(0),
            inject: cpu.guard().endpoint.provider().inject_size(),
            asked: Cell::new(0),
            looking: Cell::new(0),
            left_at: Cell::default(),
            roster: (0..=lane_set.size).map(|_| WordLine::default()).collect(),
            cpu,
        };
        made.restock();
        made.cpu.guard().fault().map_or(Ok(made), Err)
    }

    pub(crate) fn index(&self, address: Address) -> Result<usize, Error> {
        address.index_within(self.lane_set.size, self.lane_set.lanes)
    }

    pub(crate) fn known(&self, address: Address) -> Option<&RemoteLane> {
        self.peers.get(self.index(address).ok()?)
    }

    /// The rank of that lane number.
    pub(crate) fn rank_of(&self, index: usize) -> Rank {
        index as u32 / self.lane_set.lanes
    }

    /// The proof of frames from here, as that lane expects it.
    #[inline]
    pub(crate) fn proof_to(&self, to: usize) -> u64 {
        *self.peers[to].proof_there.get_or_init(|| self.proofs.of(self.own_index(), to))
    }

    /// The proof of frames from that lane.
    #[inline]
    pub(crate) fn proof_from(&self, from: usize) -> u64 {
        *self.peers[from].proof_here.get_or_init(|| self.proofs.of(from, self.own_index()))
    }

    pub(crate) fn own_index(&self) -> usize {
        Address { rank: self.lane_set.rank, lane: self.lane }.index(self.lane_set.lanes)
    }

    pub(crate) fn next_ready(&self, first: usize) -> Option<Address> {
        if self.waiting.get() == 0 {
            return None;
        }
        let at = first + self.peers.get(first..)?.iter().position(|peer| !peer.frames.borrow().is_empty())?;
        Some(Address::of_index(at, self.lane_set.lanes))
    }

    /// A table: measured for tcp on one host (README); for the others typical costs of such networks. A
    /// reading takes two round trips.
    pub(crate) fn costs(&self) -> FabricCosts {
        let slope = |fixed, byte_ps| Slope { fixed: Nanos(fixed), byte_ps };
        match self.cpu.guard().endpoint.provider().name().split(';').next() {
            Some("shm") => FabricCosts { buffered: slope(600, 250), direct: slope(4_000, 100) },
            Some("verbs" | "efa") => FabricCosts { buffered: slope(2_000, 250), direct: slope(8_000, 100) },
            _ => FabricCosts { buffered: slope(1_500, 370), direct: slope(45_000, 180) },
        }
    }

    /// Delivers what was posted before it left, and lets the lanes that it was in touch with leave, too:
    /// closing a connection with unread bytes in it takes back what the other side has not read yet. After a
    /// loss no lane waits for that any more.
    ///
    /// Its time counts from the leaving, so that lanes that left together and are dropped one after the other
    /// share it.
    pub(crate) fn settle(&self, left_at: Nanos) {
        for peer in &self.peers {
            // A buffer that was filled and never posted.
            if let Some(slot) = peer.filling.take() {
                self.outgoing.give(slot);
            }
        }
        let least = self.cpu.now() + SETTLING_LEAST;
        let (patient, end) = ((left_at + IN_TOUCH).max(least), (left_at + SETTLING).max(least));
        let own = self.own_index();
        loop {
            let busy = self.progress();
            // A peer that has left reads no more, and may be gone: then there is no way there.
            let all_out = self.outgoing.taken() == 0 && self.queue.borrow().iter().all(|queued| self.peers[queued.to].left.get());
            let alone = || {
                self.peers
                    .iter()
                    .enumerate()
                    .all(|(at, peer)| at == own || !peer.in_touch.get() || peer.left.get() || peer.broken.get())
            };
            let now = self.cpu.now();
            if (all_out && (now >= patient || alone())) || now >= end || self.cpu.guard().is_over() {
                return;
            }
            if !busy {
                self.pause(Nanos::from_ms(1));
            }
        }
    }
}
