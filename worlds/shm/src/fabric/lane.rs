//! One lane's view of a fabric: its channels to and from all other lanes.
use super::exposed::Exposed;
use super::outgoing::{IN_BUFFER, OutgoingChannel};
use super::ring::{INLINE, Receiving};
use super::shape::BUFFER;
use super::shm_fabric::ShmFabric;
use super::tolls;
use core::future::Future;
use core::sync::atomic::Ordering::*;
use foregather_machine::{
    Address, Cause, Clock, Cpu, Error, Fabric, FabricCosts, Key, LastingPieces, Limits, Member, Rank, WordLine, ready,
};
use foregather_thread::Word;
use std::sync::Arc;

/// A lane, created by [`ShmFabric::lane`]. Its calls block the thread, so its futures are always ready.
pub struct Lane<C> {
    pub(super) fabric: Arc<ShmFabric>,
    pub(super) cpu: C,
    pub(super) here: Address,
    pub(super) port: usize,
    /// The outgoing channels, by port.
    outgoing: Box<[OutgoingChannel]>,
    incoming: Box<[Receiving]>,
    pub(super) exposed: Exposed,
    limits: Limits,
}

impl ShmFabric {
    /// Creates the lane of address `at`, for the thread that runs on `cpu`. If the ranks are several
    /// processes, `cpu` must be able to wake sleepers of other processes ([`Process`](crate::Process)).
    ///
    /// # Errors
    /// If the address does not exist, is already taken, belongs to a rank of another process, or this is
    /// called before [`ShmFabric::meet`].
    pub fn lane<C: Cpu<Word = Word>>(self: &Arc<Self>, cpu: C, at: Address) -> Result<Lane<C>, Error> {
        let port = self.port_of(at)?;
        let Some(met) = self.attached.get() else {
            return Err(Error::from(Cause::Setting { what: "a lane before all have met", needs: "`Exchange::join` and `meet`" }));
        };
        let ours = met.is_here(at.rank);
        if !ours || self.port(port).state.taken.swap(1, AcqRel) != 0 {
            return Err(Error::from(Cause::Rank { rank: at.rank, size: self.shape().ranks }));
        }
        Ok(Lane::new(Arc::clone(self), cpu, at, port))
    }
}

impl<C: Cpu<Word = Word>> Lane<C> {
    /// Creates the only lane of that port; the fabric has checked that there is no other.
    pub(super) fn new(exchange: Arc<ShmFabric>, cpu: C, here: Address, port: usize) -> Self {
        let layout = exchange.layout;
        Self {
            outgoing: (0..layout.ports).map(|_| OutgoingChannel::new(layout.credits)).collect(),
            incoming: (0..layout.ports).map(|_| Receiving::new()).collect(),
            exposed: Exposed::default(),
            limits: layout.limits(exchange.attached.get().is_some_and(|met| met.refusal.is_none())),
            fabric: exchange,
            cpu,
            here,
            port,
        }
    }

    /// Returns the fabric that it belongs to.
    pub fn fabric(&self) -> &Arc<ShmFabric> {
        &self.fabric
    }

    /// Wakes that port's owner if it sleeps, after a write for it.
    #[inline]
    pub(super) fn ring_bell(&self, port: usize) {
        let bell = &self.fabric.port(port).bell;
        if bell.has_sleepers() {
            self.cpu.fetch_add(bell, 1);
        }
    }

    /// Adds this lane to that port's senders, before the first frame to it.
    #[cold]
    fn introduce(&self, to: usize) {
        self.fabric.port(to).senders[self.port / 64].fetch_or(1 << (self.port % 64), Release);
    }

    #[cold]
    fn garbled(&self, port: usize) -> Error {
        let what = "a count of more released frames than it was sent";
        Error::from(Cause::ProtocolViolation { from: self.fabric.address_of(port).rank, what })
    }

    #[inline]
    fn outgoing_to(&self, to: usize) -> &OutgoingChannel {
        let outgoing_to = &self.outgoing[to];
        if outgoing_to.sending.sent() == 0 {
            self.introduce(to);
        }
        outgoing_to
    }

    #[cold]
    fn too_long(bytes: usize, room: usize) -> Error {
        Error::from(Cause::Length { what: "a frame", bytes, room })
    }
}

foregather_machine::clock_by! { [C: Clock] Lane<C>, |this| this.cpu }

impl<C: Cpu<Word = Word>> Member for Lane<C> {
    fn rank(&self) -> Rank {
        self.here.rank
    }
    fn size(&self) -> u32 {
        self.fabric.layout.shape.ranks
    }
}

impl<C: Cpu<Word = Word>> Fabric for Lane<C> {
    type Cpu = C;

    #[inline]
    fn cpu(&self) -> &C {
        &self.cpu
    }
    #[inline]
    fn bell(&self) -> &Word {
        &self.fabric.port(self.port).bell
    }
    #[inline]
    fn roster(&self) -> &[WordLine<Word>] {
        self.fabric.roster(self.here.lane)
    }
    #[inline]
    fn here(&self) -> Address {
        self.here
    }
    #[inline]
    fn limits(&self) -> Limits {
        self.limits
    }
    fn costs(&self) -> FabricCosts {
        tolls::of_this_process()
    }

    #[inline]
    fn post(&self, to: Address, head: u32, bytes: &[u8]) -> Result<bool, Error> {
        let to = self.fabric.port_of(to)?;
        if bytes.len() > INLINE {
            return Err(Self::too_long(bytes.len(), INLINE));
        }
        let sent = self.outgoing_to(to).send(self.fabric.ring(self.port, to), head, bytes).map_err(|_| self.garbled(to))?;
        if sent {
            self.ring_bell(to);
        }
        Ok(sent)
    }

    /// # Panics
    /// If address `to` does not exist.
    #[inline]
    fn write_with<R>(&self, to: Address, write: impl FnOnce(&mut [u8]) -> R) -> R {
        let to = self.fabric.port_of(to).unwrap_or_else(|error| panic!("{error}"));
        let index = self.outgoing_to(to).filling(self.fabric.ring(self.port, to));
        let buffer = self.fabric.buffer(self.port, to, index.into());
        // A process that broke the rules could change bytes meanwhile, and nothing else.
        // SAFETY: this is the ring's one sender, and a buffer that is being filled is not on its way, so
        // no receiver reads it, and no other lane writes it. `self` is not shared between threads.
        let bytes = unsafe { &mut *buffer.as_ptr() };
        write(bytes)
    }

    #[inline]
    fn post_filled(&self, to: Address, head: u32, len: usize) -> Result<bool, Error> {
        let to = self.fabric.port_of(to)?;
        if len > BUFFER {
            return Err(Self::too_long(len, BUFFER));
        }
        let ring = self.fabric.ring(self.port, to);
        let sent = self.outgoing_to(to).send_filled(ring, self.limits.credits, head, len).map_err(|_| self.garbled(to))?;
        if sent {
            self.ring_bell(to);
        }
        Ok(sent)
    }

    #[inline]
    fn arrived(&self, after: Option<Address>) -> Option<Address> {
        let start = after.map_or(Some(0), |after| self.fabric.port_of(after).ok().map(|port| port + 1))?;
        let ports = self.incoming.len();
        let senders = &self.fabric.port(self.port).senders;
        for group in start / 64..ports.div_ceil(64) {
            let mut some = senders[group].load(Relaxed);
            if group == start / 64 {
                some &= u64::MAX << (start % 64);
            }
            while some != 0 {
                let port = group * 64 + some.trailing_zeros() as usize;
                // A bit beyond the last port can only come from a misbehaving peer.
                if port < ports && self.incoming[port].peek(self.fabric.ring(port, self.port)).is_some() {
                    return Some(self.fabric.address_of(port));
                }
                some &= some - 1;
            }
        }
        None
    }

    #[inline]
    fn peek<R>(&self, from: Address, read: impl FnOnce(u32, &[u8]) -> R) -> Option<R> {
        let from = self.fabric.port_of(from).ok()?;
        let (frame, slot) = self.incoming[from].peek(self.fabric.ring(from, self.port))?;
        let size = usize::from(frame.size & !IN_BUFFER);
        let first = slot.bytes.with(|bytes| {
            if frame.size & IN_BUFFER == 0 {
                return bytes.cast::<u8>();
            }
            // SAFETY: `bytes` points to the slot, which has this byte; any value is valid.
            let index = unsafe { bytes.cast::<u8>().read() };
            self.fabric.buffer(from, self.port, usize::from(index).min(self.limits.credits as usize)).as_ptr().cast()
        });
        let size = size.min(if frame.size & IN_BUFFER == 0 { INLINE } else { BUFFER });
        // A process that broke the rules could change the bytes while they are read, so readers trust none.
        // SAFETY: the slot or the buffer has `size` bytes, of any value. Their sender does not write them
        // again until the frame is released, which takes this lane, whose borrow outlasts the slice's.
        let bytes = unsafe { core::slice::from_raw_parts(first, size) };
        Some(read(frame.head, bytes))
    }

    #[inline]
    fn release(&self, from: Address) {
        let Ok(from) = self.fabric.port_of(from) else { return };
        let (ring, receiving) = (self.fabric.ring(from, self.port), &self.incoming[from]);
        if receiving.peek(ring).is_some() && receiving.release(ring) {
            self.ring_bell(from);
        }
    }

    fn expose(&self, pieces: LastingPieces<'_>) -> Result<Key, Error> {
        self.expose_pieces(pieces.as_slices())
    }
    fn unexpose(&self, key: Key) {
        self.conceal_key(key);
    }
    fn get(&self, from: Address, key: Key, into: &mut [&mut [u8]]) -> impl Future<Output = Result<(), Error>> {
        ready(self.read_from(from, key, into))
    }
    #[inline]
    fn progress(&self) -> bool {
        self.exposed.any() && self.help_getters()
    }

    fn leave(&self) {
        self.fabric.port(self.port).state.left.store(1, Release);
        for port in (0..self.fabric.layout.ports).filter(|&port| port != self.port) {
            self.ring_bell(port);
        }
    }
    #[inline]
    fn has_left(&self, peer: Address) -> bool {
        self.fabric.port_of(peer).is_ok_and(|port| self.fabric.port(port).state.left.load(Acquire) != 0)
    }
}
