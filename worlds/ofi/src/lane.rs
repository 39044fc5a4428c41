//! One lane of a rank: an endpoint, its buffers, and what it knows of the others.
use crate::abi::{RECV, SEND};
use crate::asked::Reading;
use crate::cpu::Processor;
use crate::exposure::Exposures;
use crate::peers::Peer;
use crate::queued::{POSTED, Queued};
use crate::registration::Registrations;
use crate::slots::Slots;
use crate::wire::{BUFFER, CREDITS, HEAD, INLINE, Kind, SPARE};
use core::cell::{Cell, RefCell};
use core::future::Future;
use foregather_machine::{Address, Cause, Clock, Error, Fabric, Key, Limits, Member, Nanos, Quad, Rank, Slope, Tolls, done};
use foregather_thread::Word;
use std::collections::VecDeque;

/// Whose lanes these are, among whom.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seat {
    pub(crate) rank: Rank,
    pub(crate) size: u32,
    pub(crate) lanes: u32,
    /// By what frames of this job are known.
    pub(crate) stamp: u32,
}

/// One lane: a [`Fabric`] over libfabric. It makes progress in its owner's calls only.
///
/// Dropping it ends all it has lent; if it has left ([`Fabric::leave`]), what it posted is delivered first, for two seconds at most.
pub struct Lane {
    pub(crate) seat: Seat,
    pub(crate) lane: u32,
    pub(crate) peers: Box<[Peer]>,
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
    asked: Cell<u32>,
    /// How many frames are being looked at.
    looking: Cell<u32>,
    said_bye: Cell<bool>,
    roster: Box<[Quad<Word>]>,
    /// Last, since all the others' memory was lent to it.
    pub(crate) cpu: Processor,
}

impl Lane {
    pub(crate) fn start(seat: Seat, lane: u32, peers: Vec<Peer>, cpu: Processor) -> Result<Self, Error> {
        let (frames, count) = ((CREDITS + SPARE) as usize, peers.len());
        let made = Self {
            seat,
            lane,
            // Beside what waits for its release there are always some that wait for a frame.
            incoming: Slots::new(count * frames + POSTED, RECV),
            // The layer above bounds these by its credits.
            outgoing: Slots::new(usize::MAX, SEND),
            peers: peers.into(),
            waiting: Cell::new(0),
            exposures: RefCell::default(),
            registrations: Registrations::default(),
            reading: RefCell::default(),
            pushing_until: Cell::default(),
            queue: RefCell::default(),
            progressing: Cell::new(false),
            posted: Cell::new(0),
            inject: cpu.endpoint.provider().inject_size(),
            asked: Cell::new(0),
            looking: Cell::new(0),
            said_bye: Cell::new(false),
            roster: (0..=seat.size).map(|_| Quad::default()).collect(),
            cpu,
        };
        made.restock();
        made.cpu.fault().map_or(Ok(made), Err)
    }

    pub(crate) fn index(&self, address: Address) -> Result<usize, Error> {
        let Seat { size, lanes, .. } = self.seat;
        if address.rank >= size {
            return Err(Cause::Rank { rank: address.rank, size }.into());
        }
        if address.lane >= lanes {
            return Err(Cause::Setting { what: "a lane's number", needs: "to be below the number of lanes" }.into());
        }
        Ok((address.rank * lanes + address.lane) as usize)
    }

    fn known(&self, address: Address) -> Option<&Peer> {
        self.peers.get(self.index(address).ok()?)
    }

    /// Whose number that is.
    pub(crate) fn rank_of(&self, index: usize) -> Rank {
        index as u32 / self.seat.lanes
    }

    pub(crate) fn own_index(&self) -> usize {
        (self.seat.rank * self.seat.lanes + self.lane) as usize
    }

    fn next_ready(&self, first: usize) -> Option<Address> {
        if self.waiting.get() == 0 {
            return None;
        }
        let at = first + self.peers.get(first..)?.iter().position(|peer| !peer.frames.borrow().is_empty())?;
        Some(Address { rank: self.rank_of(at), lane: at as u32 % self.seat.lanes })
    }

    /// Delivers what was posted before it left, and lets those it was in touch with leave, too: who closes a connection with
    /// something unread in it takes back what the other side has not read yet.
    fn linger(&self) {
        let end = self.cpu.now() + Nanos::from_ms(2_000);
        let patient = self.cpu.now() + Nanos::from_ms(1_000);
        let own = self.own_index();
        loop {
            let busy = self.progress();
            let all_out = self.queue.borrow().is_empty() && self.outgoing.taken() == 0;
            let alone = || {
                self.peers
                    .iter()
                    .enumerate()
                    .all(|(at, peer)| at == own || !peer.in_touch.get() || peer.left.get() || peer.broken.get())
            };
            let now = self.cpu.now();
            if (all_out && (now >= patient || alone())) || now >= end || self.cpu.fault().is_some() {
                return;
            }
            if !busy {
                self.pause(Nanos::from_ms(1));
            }
        }
    }
}

/// While there is one, a frame is being read in place.
struct Looking<'a>(&'a Cell<u32>);

impl<'a> Looking<'a> {
    fn at(count: &'a Cell<u32>) -> Self {
        count.set(count.get() + 1);
        Self(count)
    }
}

impl Drop for Looking<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        if self.said_bye.get() && !std::thread::panicking() {
            for peer in &self.peers {
                // What was filled and never posted.
                if let Some(slot) = peer.filling.take() {
                    self.outgoing.give(slot);
                }
            }
            self.linger();
        }
        self.cpu.endpoint.silence();
    }
}

impl Clock for Lane {
    #[inline]
    fn now(&self) -> Nanos {
        self.cpu.now()
    }
    fn delay(&self, span: Nanos) -> impl Future<Output = ()> {
        self.cpu.delay(span)
    }
}

impl Member for Lane {
    #[inline]
    fn rank(&self) -> Rank {
        self.seat.rank
    }
    #[inline]
    fn size(&self) -> u32 {
        self.seat.size
    }
}

impl Fabric for Lane {
    type Cpu = Processor;

    #[inline]
    fn cpu(&self) -> &Processor {
        &self.cpu
    }
    #[inline]
    fn bell(&self) -> &Word {
        &self.cpu.bell
    }
    #[inline]
    fn roster(&self) -> &[Quad<Word>] {
        &self.roster
    }
    #[inline]
    fn here(&self) -> Address {
        Address { rank: self.seat.rank, lane: self.lane }
    }
    fn limits(&self) -> Limits {
        Limits {
            lanes: self.seat.lanes,
            inline: INLINE,
            buffer: BUFFER,
            credits: CREDITS,
            spare: SPARE,
            gather: self.cpu.endpoint.provider().pieces(),
            direct: self.cpu.endpoint.provider().reads(),
        }
    }
    /// A table: measured for tcp on one host (README), for the others what such networks typically cost. A reading takes two journeys
    /// there and back.
    fn tolls(&self) -> Tolls {
        let slope = |fixed, byte_ps| Slope { fixed: Nanos(fixed), byte_ps };
        match self.cpu.endpoint.provider().name().split(';').next() {
            Some("shm") => Tolls { buffered: slope(600, 250), direct: slope(4_000, 100) },
            Some("verbs" | "efa") => Tolls { buffered: slope(2_000, 250), direct: slope(8_000, 100) },
            _ => Tolls { buffered: slope(1_500, 370), direct: slope(45_000, 180) },
        }
    }

    #[inline]
    fn post(&self, to: Address, head: u32, bytes: &[u8]) -> Result<bool, Error> {
        if bytes.len() > INLINE {
            return Err(Cause::Length { what: "an inline frame", bytes: bytes.len(), room: INLINE }.into());
        }
        self.send(self.index(to)?, head, bytes)
    }

    fn fill<R>(&self, to: Address, write: impl FnOnce(&mut [u8]) -> R) -> R {
        let Some(peer) = self.known(to) else { return write(&mut vec![0; BUFFER]) };
        // Taken away meanwhile: whatever `write` does, nobody else gets this buffer.
        let Some(slot) = peer.filling.take().or_else(|| self.buffer_for(self.index(to).ok()?)) else {
            return write(&mut vec![0; BUFFER]);
        };
        let bytes = self.outgoing.bytes(slot);
        // SAFETY: the slot is taken and not lent to libfabric, and nobody else has its number now.
        let written = write(unsafe { &mut (&mut *bytes)[HEAD..] });
        if let Some(other) = peer.filling.replace(Some(slot)) {
            self.outgoing.give(other);
        }
        written
    }

    fn post_filled(&self, to: Address, head: u32, len: usize) -> Result<bool, Error> {
        if len > BUFFER {
            return Err(Cause::Length { what: "a frame", bytes: len, room: BUFFER }.into());
        }
        self.send_filled(self.index(to)?, head, len)
    }

    #[inline]
    fn arrived(&self, after: Option<Address>) -> Option<Address> {
        let first = match after {
            None => 0,
            Some(after) => self.index(after).ok()? + 1,
        };
        // Whoever goes through all of them looks at the network once, at the beginning.
        if after.is_none() {
            self.progress();
            self.asked.set(0);
        }
        self.next_ready(first)
    }

    #[inline]
    fn look<R>(&self, from: Address, read: impl FnOnce(u32, &[u8]) -> R) -> Option<R> {
        let peer = self.known(from)?;
        if peer.frames.borrow().is_empty() {
            self.progress();
            self.asked.set(0);
        }
        let frame = *peer.frames.borrow().front()?;
        let bytes = self.incoming.bytes(frame.slot);
        let _looking = Looking::at(&self.looking);
        // SAFETY: the slot holds a frame that has come, so it is not lent to libfabric, and `release` lends nothing meanwhile.
        let (head, rest) = unsafe { (&*bytes).split_at(HEAD) };
        let head = head.first_chunk().map_or(0, |head| u32::from_le_bytes(*head));
        Some(read(head, &rest[..frame.len as usize]))
    }

    #[inline]
    fn release(&self, from: Address) {
        assert_eq!(self.looking.get(), 0, "a frame is released while one is looked at");
        let Some(frame) = self.known(from).and_then(|peer| peer.frames.borrow_mut().pop_front()) else { return };
        self.waiting.set(self.waiting.get() - 1);
        self.incoming.give(frame.slot);
    }

    fn expose(&self, pieces: &[&[u8]]) -> Result<Key, Error> {
        self.lend(pieces)
    }
    fn conceal(&self, key: Key) {
        self.take_back(key);
    }
    fn get(&self, from: Address, key: Key, into: &mut [&mut [u8]]) -> impl Future<Output = Result<(), Error>> {
        done(self.fetch(from, key, into))
    }
    fn help(&self) -> bool {
        self.serve_readers()
    }

    fn leave(&self) {
        if self.said_bye.replace(true) {
            return;
        }
        self.peers[self.own_index()].left.set(true);
        // Those first that have a connection: the others may have gone by the time it would be made.
        for in_touch in [true, false] {
            for (at, peer) in self.peers.iter().enumerate() {
                if at != self.own_index() && peer.in_touch.get() == in_touch {
                    self.enqueue(at, Kind::Bye, 0, Vec::new());
                }
            }
        }
        self.progress();
    }

    fn has_left(&self, peer: Address) -> bool {
        let Some(known) = self.known(peer) else { return false };
        // Who asks this and nothing else would wait for ever if nobody looked at the network; who does both pays once.
        if !known.left.get() && self.asked.replace(self.asked.get() + 1) > 2 * self.seat.size * self.seat.lanes {
            self.asked.set(0);
            self.progress();
        }
        known.left.get()
    }
}

impl core::fmt::Debug for Lane {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Lane").field("here", &self.here()).field("seat", &self.seat).finish_non_exhaustive()
    }
}
