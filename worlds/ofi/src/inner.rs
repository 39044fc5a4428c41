//! What a lane is made of. Everything here belongs to whose turn it is ([`crate::turn`]): the owner's, or the caretaker's.
use crate::abi::{RECV, SEND};
use crate::asked::Reading;
use crate::cpu::Processor;
use crate::exposure::Exposures;
use crate::peers::RemoteLane;
use crate::proof::Proofs;
use crate::queued::{POSTED, Queued};
use crate::registration::Registrations;
use crate::slots::Slots;
use crate::wire::{CREDITS, SPARE};
use core::cell::{Cell, RefCell};
use foregather_machine::{Address, Cause, Clock, Error, FabricCosts, Nanos, Rank, Slope, WordLine};
use foregather_thread::Word;
use std::collections::VecDeque;
use std::sync::Arc;

/// So long after it has left a lane tries to deliver what was posted,
const SETTLING: Nanos = Nanos::from_ms(2_000);
/// and so long it waits for those it was in touch with to leave;
const IN_TOUCH: Nanos = Nanos::from_ms(1_000);
/// but so long at least once it is dropped: it may have left long ago.
const SETTLING_LEAST: Nanos = Nanos::from_ms(200);

/// Whose lanes these are, among whom.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaneSet {
    pub(crate) rank: Rank,
    pub(crate) size: u32,
    pub(crate) lanes: u32,
    /// By what frames of this job are known.
    pub(crate) stamp: u32,
}

/// The endpoint, its buffers, and what is known of the others.
pub(crate) struct Inner {
    pub(crate) seat: LaneSet,
    pub(crate) lane: u32,
    pub(crate) peers: Box<[RemoteLane]>,
    proofs: Arc<Proofs>,
    /// Frames that proved nothing, and were dropped.
    pub(crate) strangers: Cell<u64>,
    /// Frames for the layer above that are not released: while there are none, nobody looks for them peer by peer.
    pub(crate) waiting: Cell<u32>,
    pub(crate) incoming: Slots,
    pub(crate) outgoing: Slots,
    pub(crate) exposures: RefCell<Exposures>,
    pub(crate) registrations: Registrations,
    pub(crate) reading: RefCell<Reading>,
    /// So long those who read from here are pushed for.
    pub(crate) pushing_until: Cell<Nanos>,
    pub(crate) queue: RefCell<VecDeque<Queued>>,
    pub(crate) progressing: Cell<bool>,
    /// Receives that stand open.
    pub(crate) posted: Cell<u32>,
    /// Bytes that libfabric copies before it returns.
    pub(crate) inject: usize,
    /// Questions about who has left since the last look at the network.
    pub(crate) asked: Cell<u32>,
    /// How many frames are being looked at.
    pub(crate) looking: Cell<u32>,
    /// When it said that it posts nothing more.
    pub(crate) left_at: Cell<Option<Nanos>>,
    pub(crate) roster: Box<[WordLine<Word>]>,
    /// Last, since all the others' memory was lent to it.
    pub(crate) cpu: Processor,
}

impl Inner {
    pub(crate) fn start(
        seat: LaneSet,
        lane: u32,
        peers: Vec<RemoteLane>,
        proofs: Arc<Proofs>,
        cpu: Processor,
    ) -> Result<Self, Error> {
        let (frames, count) = ((CREDITS + SPARE) as usize, peers.len());
        let made = Self {
            seat,
            lane,
            // Beside what waits for its release there are always some that wait for a frame.
            incoming: Slots::new(count * frames + POSTED, RECV),
            // The layer above bounds these by its credits.
            outgoing: Slots::new(usize::MAX, SEND),
            peers: peers.into(),
            proofs,
            strangers: Cell::new(0),
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
            roster: (0..=seat.size).map(|_| WordLine::default()).collect(),
            cpu,
        };
        made.restock();
        made.cpu.guard().fault().map_or(Ok(made), Err)
    }

    pub(crate) fn index(&self, address: Address) -> Result<usize, Error> {
        let LaneSet { size, lanes, .. } = self.seat;
        if address.rank >= size {
            return Err(Cause::Rank { rank: address.rank, size }.into());
        }
        if address.lane >= lanes {
            return Err(Cause::Setting { what: "a lane's number", needs: "to be below the number of lanes" }.into());
        }
        Ok((address.rank * lanes + address.lane) as usize)
    }

    pub(crate) fn known(&self, address: Address) -> Option<&RemoteLane> {
        self.peers.get(self.index(address).ok()?)
    }

    /// Whose number that is.
    pub(crate) fn rank_of(&self, index: usize) -> Rank {
        index as u32 / self.seat.lanes
    }

    /// By what frames from here are known there.
    #[inline]
    pub(crate) fn proof_to(&self, to: usize) -> u64 {
        *self.peers[to].proof_there.get_or_init(|| self.proofs.of(self.own_index(), to))
    }

    /// By what frames from there are known here.
    #[inline]
    pub(crate) fn proof_from(&self, from: usize) -> u64 {
        *self.peers[from].proof_here.get_or_init(|| self.proofs.of(from, self.own_index()))
    }

    pub(crate) fn own_index(&self) -> usize {
        (self.seat.rank * self.seat.lanes + self.lane) as usize
    }

    pub(crate) fn next_ready(&self, first: usize) -> Option<Address> {
        if self.waiting.get() == 0 {
            return None;
        }
        let at = first + self.peers.get(first..)?.iter().position(|peer| !peer.frames.borrow().is_empty())?;
        Some(Address { rank: self.rank_of(at), lane: at as u32 % self.seat.lanes })
    }

    /// A table: measured for tcp on one host (README), for the others what such networks typically cost. A reading takes two journeys
    /// there and back.
    pub(crate) fn costs(&self) -> FabricCosts {
        let slope = |fixed, byte_ps| Slope { fixed: Nanos(fixed), byte_ps };
        match self.cpu.guard().endpoint.provider().name().split(';').next() {
            Some("shm") => FabricCosts { buffered: slope(600, 250), direct: slope(4_000, 100) },
            Some("verbs" | "efa") => FabricCosts { buffered: slope(2_000, 250), direct: slope(8_000, 100) },
            _ => FabricCosts { buffered: slope(1_500, 370), direct: slope(45_000, 180) },
        }
    }

    /// Delivers what was posted before it left, and lets those it was in touch with leave, too: who closes a connection with
    /// something unread in it takes back what the other side has not read yet. After a loss nothing waits for that any more.
    ///
    /// Its time counts from the leaving, so that lanes which left together and are dropped one after the other share it.
    pub(crate) fn settle(&self, left_at: Nanos) {
        for peer in &self.peers {
            // What was filled and never posted.
            if let Some(slot) = peer.filling.take() {
                self.outgoing.give(slot);
            }
        }
        let least = self.cpu.now() + SETTLING_LEAST;
        let (patient, end) = ((left_at + IN_TOUCH).max(least), (left_at + SETTLING).max(least));
        let own = self.own_index();
        loop {
            let busy = self.progress();
            // Who has left reads nothing more, and may be gone: then there is no way there.
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
