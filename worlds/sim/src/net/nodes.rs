//! The common state of all nodes, whatever lies between them: time, programs, slots, inboxes, disturbances.
use super::fault::{Drift, Fate, Fates};
use super::noise::Noise;
use super::packet::{NONE, PacketKind, Parcel};
use super::record::Recorder;
use crate::engine::Engine;
use crate::event::{EventPriority, Queue};
use crate::touch::touch;
use foregather_machine::{Nanos, Rank};
use foregather_message::{Inbox, long};
use slab::Slab;
use std::cell::{Cell, OnceCell, RefCell};

/// Events that are no slot. A node's program goes on,
pub(super) const RESUME: u32 = u32::MAX - 1;
/// is looked after, because of a failure,
pub(super) const WAKE: u32 = u32::MAX - 2;
/// or a packet has left; the lower half belongs to the wires.
pub(super) const WIRE: u32 = u32::MAX - 16;
/// A packet arrives; its number is in the lower bits.
pub(super) const PARCEL: u32 = 1 << 31;
/// A packet arrives that was held up: its fate is known.
pub(super) const LATE: u32 = 1 << 29;
/// Slots end here.
pub(super) const SLOTS_MAX: u32 = 1 << 15;

/// A program waits for the message of a slot, counted from 1, or for nothing,
pub(super) const RUNNING: u16 = 0;
/// the end of a computation,
pub(super) const BUSY: u16 = u16::MAX - 1;
/// its packet to leave,
pub(super) const SENDING: u16 = u16::MAX - 2;
/// or something in its inbox.
pub(super) const INBOX: u16 = u16::MAX - 3;

pub(super) struct Nodes<Q> {
    pub(super) engine: Engine<Q>,
    pub(super) size: u32,
    pub(super) slots: u32,
    /// For each node, what its program waits for, and behind that the messages in each slot: side by side,
    /// since a million nodes live in memory and not in a cache.
    states: Box<[Cell<u16>]>,
    inboxes: OnceCell<Box<[RefCell<Inbox<Parcel>>]>>,
    parcels: RefCell<Slab<Parcel>>,
    loads: RefCell<Slab<Box<[u8]>>>,
    /// Whether messages carry their bytes, and not only their lengths.
    pub(super) contents: bool,
    pub(super) noise: Noise,
    pub(super) fates: Option<Fates>,
    pub(super) drifts: Box<[Drift]>,
    pub(super) recorder: Option<Recorder>,
    gone: Cell<Option<Rank>>,
}

impl<Q: Queue> Nodes<Q> {
    pub(super) fn new(size: u32, slots: u32) -> Self {
        Self {
            engine: Engine::default(),
            size,
            slots,
            states: vec![Cell::new(0); size as usize * (slots as usize + 1)].into(),
            inboxes: OnceCell::new(),
            parcels: RefCell::default(),
            loads: RefCell::default(),
            contents: true,
            noise: Noise::default(),
            fates: None,
            drifts: Box::default(),
            recorder: None,
            gone: Cell::new(None),
        }
    }

    #[inline]
    pub(super) fn doing(&self, node: Rank) -> &Cell<u16> {
        &self.states[node as usize * (self.slots as usize + 1)]
    }

    #[inline]
    pub(super) fn slot(&self, node: Rank, slot: u32) -> &Cell<u16> {
        &self.states[node as usize * (self.slots as usize + 1) + 1 + slot as usize]
    }

    /// Fetches the state of that node, which will soon have an event.
    #[inline]
    pub(super) fn touch(&self, node: Rank) {
        let width = self.slots as usize + 1;
        let state = &self.states[node as usize * width..][..width];
        touch(&state[0]);
        touch(&state[width - 1]);
    }

    pub(super) fn inbox(&self, node: Rank) -> &RefCell<Inbox<Parcel>> {
        let make = || (0..self.size).map(|_| RefCell::default()).collect();
        &self.inboxes.get_or_init(make)[node as usize]
    }

    /// Lets the program of `node` go on once it has done `work` from `from` on.
    #[inline]
    pub(super) fn resume_after(&self, node: Rank, from: Nanos, work: Nanos) -> Nanos {
        let done = self.noise.done(node, from, work);
        self.engine.at(done, EventPriority::Resume, node, RESUME);
        done
    }

    /// Keeps a packet until it arrives; returns the number of its event.
    pub(super) fn keep(&self, parcel: Parcel) -> u32 {
        PARCEL | self.parcels.borrow_mut().insert(parcel) as u32
    }

    /// The packet of an event.
    pub(super) fn kept(&self, event: u32) -> Parcel {
        self.parcels.borrow_mut().remove((event & !(PARCEL | LATE)) as usize)
    }

    /// Keeps the contents of a message.
    pub(super) fn load(&self, bytes: &[u8]) -> u32 {
        if self.contents && !bytes.is_empty() { self.loads.borrow_mut().insert(bytes.into()) as u32 } else { NONE }
    }

    /// Copies the contents out.
    pub(super) fn unload(&self, load: u32, into: &mut [u8]) {
        if load != NONE {
            let bytes = self.loads.borrow_mut().remove(load as usize);
            into[..bytes.len()].copy_from_slice(&bytes);
        }
    }

    /// Records the arrival of a null message. Returns whether the program waits for it.
    #[inline]
    pub(super) fn arrives(&self, node: Rank, slot: u32) -> bool {
        let count = self.slot(node, slot);
        count.set(count.get().checked_add(1).expect("no slot holds more than 65535 messages"));
        u32::from(self.doing(node).get()) == slot + 1
    }

    /// The part of a packet that arrives just now: nothing, the packet, or the packet twice. A later part
    /// gets an event of its own.
    #[inline]
    pub(super) fn arriving(&self, parcel: Parcel) -> [Option<Parcel>; 2] {
        match &self.fates {
            None => [Some(parcel), None],
            Some(fates) => self.fated(parcel, fates.draw()),
        }
    }

    fn fated(&self, parcel: Parcel, fate: Fate) -> [Option<Parcel>; 2] {
        let never = || self.recorder.iter().for_each(|recorder| recorder.arrived(parcel.mark, Nanos::MAX));
        match fate {
            Fate::Arrives => [Some(parcel), None],
            Fate::Twice => [Some(parcel), Some(Parcel { load: self.copy(parcel.load), ..parcel })],
            Fate::Lost => {
                never();
                self.forget(parcel.load);
                [None, None]
            }
            Fate::Late(by) => {
                never();
                self.engine.at(self.engine.now() + by, EventPriority::Arrival, parcel.to, LATE | self.keep(parcel));
                [None, None]
            }
        }
    }

    /// A packet reaches its node. Returns whether its program goes on, and the packet that its system sends
    /// back.
    pub(super) fn deliver(&self, parcel: &Parcel) -> (bool, Option<Parcel>) {
        let PacketKind::Packet(packet) = parcel.kind else {
            return (parcel.kind == PacketKind::Null && self.arrives(parcel.to, parcel.tag), None);
        };
        let (mut inbox, key) = (self.inbox(parcel.to).borrow_mut(), (parcel.from, parcel.tag));
        if inbox.admits(packet, key) {
            inbox.arrive(packet, key, *parcel);
        } else {
            self.forget(parcel.load);
        }
        let answer = long::answer(packet).map(|packet| parcel.back(PacketKind::Packet(packet)));
        (self.doing(parcel.to).get() == INBOX, answer)
    }

    fn copy(&self, load: u32) -> u32 {
        let bytes = self.loads.borrow().get(load as usize).cloned();
        bytes.map_or(NONE, |bytes| self.loads.borrow_mut().insert(bytes) as u32)
    }

    fn forget(&self, load: u32) {
        if load != NONE {
            self.loads.borrow_mut().remove(load as usize);
        }
    }

    /// The node that went away half way.
    pub(super) fn gone(&self) -> Option<Rank> {
        self.gone.get()
    }

    /// A wait of `node` was dropped half way: no wait can be relied on any more.
    #[cold]
    pub(super) fn poison(&self, node: Rank) {
        if self.gone.get().is_none() {
            self.gone.set(Some(node));
            for peer in 0..self.size {
                self.engine.at(self.engine.now(), EventPriority::Resume, peer, WAKE);
            }
        }
    }
}
