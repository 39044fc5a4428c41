//! What all nodes share, whatever lies between them: time, programs, slots, inboxes, disturbances.
use super::fault::{Drift, Fate, Fates};
use super::inbox::Inbox;
use super::noise::Noise;
use super::parcel::{Kind, NONE, Parcel};
use super::record::Recorder;
use crate::engine::Engine;
use crate::event::{Class, Queue};
use crate::touch::touch;
use foregather_machine::{Nanos, Packet, Rank};
use foregather_message::long;
use slab::Slab;
use std::cell::{Cell, OnceCell, RefCell};

/// Events that are no slot. A node's program goes on,
pub(super) const RESUME: u32 = u32::MAX - 1;
/// is looked after, because something failed,
pub(super) const WAKE: u32 = u32::MAX - 2;
/// or a packet has left; the lower half is the wires'.
pub(super) const WIRE: u32 = u32::MAX - 16;
/// A packet arrives; its number is in the lower bits.
pub(super) const PARCEL: u32 = 1 << 31;
/// Slots end here.
pub(super) const SLOTS_MAX: u32 = 1 << 15;

/// What a program waits for, if not for the message of a slot, which is counted from 1: nothing,
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
    /// Of each node, what its program waits for, and behind that the messages in each slot: side by side, since a
    /// million nodes live in memory and not in a cache.
    states: Box<[Cell<u16>]>,
    inboxes: OnceCell<Box<[RefCell<Inbox>]>>,
    parcels: RefCell<Slab<Parcel>>,
    loads: RefCell<Slab<Box<[u8]>>>,
    /// Do messages carry their bytes, or only their lengths?
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

    /// An event of that node will happen soon.
    #[inline]
    pub(super) fn touch(&self, node: Rank) {
        let width = self.slots as usize + 1;
        let state = &self.states[node as usize * width..][..width];
        touch(&state[0]);
        touch(&state[width - 1]);
    }

    pub(super) fn inbox(&self, node: Rank) -> &RefCell<Inbox> {
        let make = || (0..self.size).map(|_| RefCell::default()).collect();
        &self.inboxes.get_or_init(make)[node as usize]
    }

    /// Lets the program of `node` go on once it has done `work` from `from` on.
    #[inline]
    pub(super) fn resume_after(&self, node: Rank, from: Nanos, work: Nanos) -> Nanos {
        let done = self.noise.done(node, from, work);
        self.engine.at(done, Class::Resume, node, RESUME);
        done
    }

    /// Keeps a packet until it arrives; what its event is called.
    pub(super) fn keep(&self, parcel: Parcel) -> u32 {
        PARCEL | self.parcels.borrow_mut().insert(parcel) as u32
    }

    /// The packet of an event.
    pub(super) fn kept(&self, event: u32) -> Parcel {
        self.parcels.borrow_mut().remove((event & !PARCEL) as usize)
    }

    /// Keeps the contents of a message.
    pub(super) fn load(&self, bytes: &[u8]) -> u32 {
        if self.contents && !bytes.is_empty() { self.loads.borrow_mut().insert(bytes.into()) as u32 } else { NONE }
    }

    /// Gives them out.
    pub(super) fn unload(&self, load: u32, into: &mut [u8]) {
        if load != NONE {
            let bytes = self.loads.borrow_mut().remove(load as usize);
            into[..bytes.len()].copy_from_slice(&bytes);
        }
    }

    /// A null message is there; does somebody wait for it?
    #[inline]
    pub(super) fn arrives(&self, node: Rank, slot: u32) -> bool {
        let count = self.slot(node, slot);
        count.set(count.get().checked_add(1).expect("no slot holds more than 65535 messages"));
        u32::from(self.doing(node).get()) == slot + 1
    }

    /// What becomes of the packet that arrives just now; those that come later get an event of their own.
    #[inline]
    pub(super) fn fate(&self, parcel: impl FnOnce() -> Parcel, late: impl FnOnce(&Self, Nanos, Parcel)) -> Fate {
        let Some(fates) = &self.fates else { return Fate::Arrives };
        let fate = fates.draw();
        match (fate, &self.recorder) {
            (Fate::Late(by), _) => late(self, self.engine.now() + by, parcel()),
            (Fate::Lost, Some(recorder)) => recorder.arrived(parcel().mark, Nanos::MAX),
            _ => {}
        }
        fate
    }

    /// A packet reaches its node: does its program go on, and what does its system send back?
    pub(super) fn deliver(&self, parcel: &Parcel) -> (bool, Option<Parcel>) {
        let Kind::Packet(packet) = parcel.kind else {
            return (parcel.kind == Kind::Null && self.arrives(parcel.to, parcel.tag), None);
        };
        let mut inbox = self.inbox(parcel.to).borrow_mut();
        match packet {
            Packet::Probe => {}
            Packet::Request => inbox.requests.push((parcel.from, parcel.tag)),
            Packet::Forced | Packet::Data | Packet::Short => {
                let posted = inbox.take_post(parcel.from, parcel.tag);
                if posted || packet != Packet::Forced {
                    inbox.arrived.push_back(*parcel);
                } else {
                    inbox.unposted.push((parcel.from, parcel.tag));
                    self.forget(parcel.load);
                }
            }
        }
        let answer = long::answer(packet).map(|packet| parcel.back(Kind::Packet(packet)));
        (self.doing(parcel.to).get() == INBOX, answer)
    }

    fn forget(&self, load: u32) {
        if load != NONE {
            self.loads.borrow_mut().remove(load as usize);
        }
    }

    /// Who went away in the middle.
    pub(super) fn gone(&self) -> Option<Rank> {
        self.gone.get()
    }

    /// A wait of `node` was dropped in the middle: nobody's wait can be relied on any more.
    #[cold]
    pub(super) fn poison(&self, node: Rank) {
        if self.gone.get().is_none() {
            self.gone.set(Some(node));
            for peer in 0..self.size {
                self.engine.at(self.engine.now(), Class::Resume, peer, WAKE);
            }
        }
    }
}
