//! Frames between lanes, memory that peers may read, and a bell for each lane to wait on: messages and shared
//! pages are made of these.
use crate::{Cause, Cpu, Error, LastingPieces, Member, Nanos, Rank, WordLine, Words};
use core::future::Future;

/// One activity of a rank (its program, a server, one of several threads). A lane has one owner, and rings
/// and a bell of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    /// The rank.
    pub rank: Rank,
    /// Which of its activities, below [`Limits::lanes`].
    pub lane: u32,
}

impl Address {
    /// Returns its number among the lanes of all ranks, each of which has `lanes`.
    #[inline]
    pub const fn index(self, lanes: u32) -> usize {
        (self.rank * lanes + self.lane) as usize
    }

    /// Returns the lane of that number.
    #[inline]
    pub const fn of_index(index: usize, lanes: u32) -> Self {
        Self { rank: index as u32 / lanes, lane: index as u32 % lanes }
    }

    /// Returns its number among the lanes of `size` ranks.
    ///
    /// # Errors
    /// If there is no such lane.
    #[inline]
    pub fn index_within(self, size: u32, lanes: u32) -> Result<usize, Error> {
        if self.rank >= size {
            return Err(Cause::Rank { rank: self.rank, size }.into());
        }
        if self.lane >= lanes {
            return Err(Cause::Setting { what: "a lane's number", needs: "to be below the number of lanes" }.into());
        }
        Ok(self.index(lanes))
    }
}

/// Names exposed memory to the peers that may read it. It crosses the wire unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key(pub u64);

/// What a fabric can carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Lanes of a rank.
    pub lanes: u32,
    /// Bytes that travel with a frame's head ([`Fabric::post`]).
    pub inline: usize,
    /// Bytes of a static buffer ([`Fabric::write_with`]).
    pub buffer: usize,
    /// Static buffers on the way from one lane to another: this many frames may be unreleased beside those of
    /// [`Limits::spare`].
    pub credits: u32,
    /// Further frames for which that way has room, all of them inline: for frames that go without a credit.
    pub spare: u32,
    /// Pieces of memory that one descriptor gathers ([`Fabric::expose`] splits longer lists itself).
    pub gather: usize,
    /// Whether memory can be read directly ([`Fabric::get`]). If it cannot, all data goes through static
    /// buffers.
    pub direct: bool,
}

/// A cost that grows with the number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slope {
    /// The cost of no bytes.
    pub fixed: Nanos,
    /// The cost of each byte, in picoseconds.
    pub byte_ps: u64,
}

impl Slope {
    /// The cost of `bytes` bytes.
    pub const fn of(self, bytes: usize) -> Nanos {
        Nanos(self.fixed.0.saturating_add((bytes as u64).saturating_mul(self.byte_ps) / 1_000))
    }
}

/// What the two ways to move bytes cost: for thresholds ([`Fabric::costs`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FabricCosts {
    /// Through static buffers: one frame, with its copies in and out.
    pub buffered: Slope,
    /// From memory to memory: one [`Fabric::get`], with announcing, registering and all else it takes.
    pub direct: Slope,
}

/// One lane of one rank: it can be sent to another thread, but has one owner at a time and no lock.
///
/// Frames between two lanes arrive once and in the order in which they were posted. **Verbs act at once; only
/// waiting is async**, and there is one way to wait: on [`Fabric::bell`], with a probe that tries all that
/// may have happened. Each change for a lane (a frame arrives or is released, a peer leaves or is lost)
/// changes its bell, or a probe sees it.
///
/// - Flow control is the caller's: [`Limits::credits`] frames and [`Limits::spare`] inline ones always find
///   room.
/// - No caller's buffer is borrowed across a wait, except in [`Fabric::get`].
/// - Nothing writes into a peer's borrowed memory, except within a `get` of that peer.
/// - Waits fail through [`Park::check`](crate::Park::check): any lost rank fails every wait of its job.
pub trait Fabric: Member {
    /// The processor type that waits here.
    type Cpu: Cpu;

    /// The processor that waits here.
    fn cpu(&self) -> &Self::Cpu;
    /// A word that changes whenever something has happened for this lane while its owner was going to sleep.
    fn bell(&self) -> &<Self::Cpu as Words>::Word;
    /// A line for the member that moves, and then one for each rank's lane of this number: words of
    /// `foregather_wait::Roster`.
    fn roster(&self) -> &[WordLine<<Self::Cpu as Words>::Word>];
    /// Which lane this is.
    fn here(&self) -> Address;
    /// What the fabric can carry; the same for all lanes and for as long as it exists.
    fn limits(&self) -> Limits;
    /// What moving bytes costs here; measured once if need be, in a few milliseconds.
    fn costs(&self) -> FabricCosts;

    /// Sends at most [`Limits::inline`] bytes, copied before it returns. `false`: there is no room now;
    /// nothing has happened.
    ///
    /// # Errors
    /// For an address that does not exist, too many bytes, or a peer that is known to be lost.
    fn post(&self, to: Address, head: u32, bytes: &[u8]) -> Result<bool, Error>;
    /// Lends the next static buffer towards `to`; its content stays until it is posted.
    fn write_with<R>(&self, to: Address, write: impl FnOnce(&mut [u8]) -> R) -> R;
    /// Sends the first `len` bytes of that buffer. `false` as for [`Fabric::post`].
    ///
    /// # Errors
    /// As [`Fabric::post`].
    fn post_filled(&self, to: Address, head: u32, len: usize) -> Result<bool, Error>;

    /// The next lane after `after`, in a fixed order, with an unreleased frame for this one; `None` begins
    /// with the first lane.
    fn arrived(&self, after: Option<Address>) -> Option<Address>;
    /// Lends the oldest unreleased frame of `from`, in place. A peer wrote its bytes: trust nothing.
    fn peek<R>(&self, from: Address, read: impl FnOnce(u32, &[u8]) -> R) -> Option<R>;
    /// Gives the buffer of the oldest unreleased frame back.
    fn release(&self, from: Address);

    /// Lets peers read these pieces, one after the other, until [`Fabric::unexpose`].
    /// [`exposing`](crate::exposing) and [`Exposures`](crate::Exposures) are the ways to call it: they keep
    /// the memory in place that long.
    ///
    /// # Errors
    /// If the memory cannot be registered.
    fn expose(&self, pieces: LastingPieces<'_>) -> Result<Key, Error>;
    /// Ends an exposure. Returns when no peer reads there any more, and none writes elsewhere on its behalf.
    fn unexpose(&self, key: Key);
    /// Fills the pieces, one after the other, from the memory that `from` exposes under `key`. Dropped early,
    /// it writes nothing afterwards. A fabric whose network cannot take a receive back leaves it in memory
    /// that the lane owns; if it has received into the pieces themselves and the wait fails, it ends the
    /// process rather than return while the network may still write there. Meanwhile it
    /// [helps](Fabric::progress) lanes that read from here, so two lanes that read from each other both
    /// finish.
    ///
    /// # Errors
    /// [`Cause::Unexposed`](crate::Cause::Unexposed) if the memory is no longer exposed, or is shorter:
    /// nothing in `into` counts then.
    fn get(&self, from: Address, key: Key, into: &mut [&mut [u8]]) -> impl Future<Output = Result<(), Error>>;
    /// Does this side's share of its peers' `get`s, if there is any: a thread that waits while it exposes
    /// memory calls it again and again. `true`: something was done.
    fn progress(&self) -> bool {
        false
    }

    /// Charges this thread for work of `span`: where time is virtual it pays when it next waits, and what it
    /// posts meanwhile goes out when it would have paid. Where time is real it has passed already.
    fn charge(&self, span: Nanos) {
        let _ = span;
    }

    /// Says that this lane will post nothing more.
    fn leave(&self);
    /// Returns whether lane `peer` has left. Everything that it posted before is then visible.
    fn has_left(&self, peer: Address) -> bool;
}
