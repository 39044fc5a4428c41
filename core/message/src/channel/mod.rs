//! Sized messages made of words: a [`Port`](foregather_machine::Port) for every world that has memory.
//!
//! Between each two members that talk runs a stream of words through a ring of fixed length, written by one of them and read
//! by the other; a message longer than the ring goes through it in pieces. Each member sleeps and spins on one word, its
//! *bell*, which is rung whenever something changes that it could be waiting for. States, sequence and races: `README.md`.
//!
//! - this file: what the group shares. [`port`](self::port): one member's end. [`stream`](self::stream): one ring.
//! - [`system`](self::system): what a member does for others in every wait.

mod port;
mod stream;
mod system;

pub use port::ChannelPort;

use core::fmt;
use foregather_barrier::{CachePadded, SignalMatrix};
use foregather_machine::{Cause, Cpu, Error, Rank};
use foregather_wait::Policy;
use std::sync::OnceLock;
use stream::Stream;

/// Whoever waits looks at all others, so there are no more members than that.
const SIZE_MAX: u32 = 1_024;
/// Room in a ring, in bytes, if nobody says otherwise: fits the caches of a processor, with room for some other work.
const ROOM: usize = 16 << 10;
/// A ring has at least four pieces of one word, and counts modulo the values that a word can hold.
const ROOM_LIMITS: (usize, usize) = (32, 1 << 30);

/// The channels of a whole group, and its null messages.
pub struct Channels<C: Cpu> {
    flags: SignalMatrix<C>,
    size: u32,
    /// Words of a ring.
    ring: u32,
    /// From each to each; made when the first message goes that way.
    streams: Box<[OnceLock<Box<Stream<C>>>]>,
    bells: Box<[CachePadded<C::Word>]>,
    /// 1 for each member that has left in order.
    left: Box<[CachePadded<C::Word>]>,
    /// One more than the rank of a member that went away in the middle.
    broken: CachePadded<C::Word>,
}

impl<C: Cpu> Channels<C> {
    /// For `size` members with `slots` slots each for null messages.
    ///
    /// # Errors
    /// [`Cause::Size`] for no members, or more than 1024.
    pub fn new(size: u32, slots: u32) -> Result<Self, Error> {
        Self::with_room(size, slots, ROOM)
    }

    /// The same with room for that many bytes between each two members, rounded up to a power of two.
    ///
    /// # Errors
    /// As above; [`Cause::Setting`] unless the room is from 32 bytes to 1 GiB.
    pub fn with_room(size: u32, slots: u32, room_bytes: usize) -> Result<Self, Error> {
        if size == 0 || size > SIZE_MAX {
            return Err(Cause::Size { what: "a group with channels", size, needs: "at least 1 and at most 1024 members" }.into());
        }
        if !(ROOM_LIMITS.0..=ROOM_LIMITS.1).contains(&room_bytes) {
            return Err(Cause::Setting { what: "the room of a channel", needs: "from 32 bytes to 1 GiB" }.into());
        }
        let lines = || (0..size).map(|_| CachePadded::default()).collect();
        Ok(Self {
            flags: SignalMatrix::new(size, slots),
            size,
            ring: (room_bytes.next_power_of_two() / 8) as u32,
            streams: (0..size * size).map(|_| OnceLock::new()).collect(),
            bells: lines(),
            left: lines(),
            broken: CachePadded::default(),
        })
    }

    /// The end of `rank`, which waits as the load demands: by the adaptive policy, with the costs that its world knows.
    ///
    /// # Errors
    /// As [`Channels::port`].
    pub fn join(&self, cpu: C, rank: Rank) -> Result<ChannelPort<'_, C>, Error> {
        let policy = Policy::adaptive(&cpu.costs());
        self.port(cpu, rank, policy)
    }

    /// The end of `rank`. There must be one end per rank, ever: it alone reads what was sent to the rank.
    ///
    /// # Errors
    /// [`Cause::Rank`] if there is no such rank.
    pub fn port(&self, cpu: C, rank: Rank, policy: Policy) -> Result<ChannelPort<'_, C>, Error> {
        self.known(rank)?;
        Ok(ChannelPort::new(self, cpu, rank, policy))
    }

    fn known(&self, rank: Rank) -> Result<(), Error> {
        if rank < self.size { Ok(()) } else { Err(Cause::Rank { rank, size: self.size }.into()) }
    }

    /// What `from` sends to `to`, if it ever has.
    fn stream(&self, from: Rank, to: Rank) -> Option<&Stream<C>> {
        self.streams[(from * self.size + to) as usize].get().map(|stream| &**stream)
    }

    /// The same, made if need be.
    fn stream_for(&self, from: Rank, to: Rank) -> &Stream<C> {
        self.streams[(from * self.size + to) as usize].get_or_init(|| Box::new(Stream::new(self.ring)))
    }

    /// Something has changed for `rank`.
    fn ring_bell(&self, cpu: &C, rank: Rank) {
        cpu.fetch_add(&self.bells[rank as usize], 1);
    }

    fn ring_all(&self, cpu: &C) {
        (0..self.size).for_each(|rank| self.ring_bell(cpu, rank));
    }

    /// Why a wait of `rank` for `peer`, or for anybody, can no longer succeed if it has not yet.
    fn lost(&self, cpu: &C, rank: Rank, peer: Option<Rank>) -> Option<Error> {
        let has_left = |peer: Rank| cpu.load(&self.left[peer as usize]) != 0;
        let by = match (cpu.load(&self.broken), peer) {
            (0, Some(peer)) => has_left(peer).then_some(peer)?,
            (0, None) => {
                let mut others = (0..self.size).filter(|&other| other != rank);
                let first = others.clone().next()?;
                others.all(has_left).then_some(first)?
            }
            (broken, _) => broken - 1,
        };
        Some(Cause::Poisoned { by: Some(by) }.into())
    }
}

impl<C: Cpu> fmt::Debug for Channels<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Channels").field("size", &self.size).field("ring", &self.ring).finish_non_exhaustive()
    }
}
