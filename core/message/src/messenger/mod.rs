//! Messages built piece by piece: Madeleine's contract (Namyst et al. 1999), over any [`Fabric`].
//!
//! Small pieces are copied into static buffers of the fabric, which travel as frames under credits; large
//! lasting pieces stay where they are, and the receiver fetches them. A waiting rank takes in what has come
//! for it, so two sides that only send never wait for each other. States, order and races: `README.md`.
//!
//! - this file: the messenger. [`send`], [`receive`]: a message on its way out and in; [`owned`]: one from
//!   memory that the messenger owns. [`progress`]: the one wait, and what it does for others meanwhile.
//! - below them: [`connection`], one with each peer; [`rendezvous`]: pieces that wait to be fetched;
//!   [`unexpected`]: what came before it was asked for; [`front`]: the head of a connection. [`piece`],
//!   [`frame`]: the pieces and frames on the wire.
//! - [`chase`]: which ranks wait for which, and whether that goes round.
//! - [`bounded`]: waits that may end before their event.
//! - [`port`]: null messages and sized packets over the same frames; [`loan`]: long packets that stay where
//!   they are. [`settings`]: thresholds.

mod bounded;
mod chase;
mod connection;
mod frame;
mod front;
mod loan;
mod owned;
mod piece;
mod port;
mod progress;
mod receive;
mod rendezvous;
mod send;
mod settings;
mod unexpected;

pub use owned::Pending;
pub use piece::{Cheaper, Later, Mode, Piece, Receive, Safer, WireValue};
pub use receive::Incoming;
pub use rendezvous::MessageScope;
pub use send::Outgoing;
pub use settings::{Path, Settings, direct_from};

use crate::inbox::Inbox;
use crate::link::Lost;
use chase::Circles;
use connection::Connection;
use core::cell::{Cell, RefCell};
use core::fmt;
use foregather_machine::{Address, Cause, Error, Exposures, Fabric, Nanos, Placement, Rank};
use foregather_wait::{Policy, Roster, Snapshot, Waiter};
use progress::Waiting;
use rendezvous::Posted;
use settings::Rules;
use unexpected::Unexpected;

/// One lane's end of a channel that all ranks share: lane *i* of each rank talks to lane *i* of the others.
///
/// Messages between two ends arrive in the order in which they were ended. A rank that wants several threads
/// to send and receive at once gives each a lane, and a messenger: messages of different lanes have no order
/// among them. A messenger can be sent to another thread, but one thread uses it at a time. A rank that is
/// done calls [`Messenger::leave`]; an end that is dropped without that has gone away, and peers that wait
/// for it are told.
pub struct Messenger<F: Fabric> {
    fabric: Exposures<F>,
    here: Address,
    size: u32,
    inline: usize,
    buffer: usize,
    gather: usize,
    rules: Rules,
    connections: Box<[Connection]>,
    signals: Box<[Cell<u32>]>,
    inbox: RefCell<Inbox<Vec<u8>>>,
    waiter: Waiter,
    deadline: Cell<Nanos>,
    unexpected: Unexpected,
    /// A frame could not be sent for want of room.
    backlog: Cell<bool>,
    /// How many memories of ours peers may read: while there are any, each wait helps the readers.
    exposed: Cell<u32>,
    /// Packets that peers lend, and that no wait has fetched yet.
    loans: Cell<u32>,
    /// Offers of owned memory, and whether their handles were dropped.
    owned: RefCell<Vec<(Posted, bool)>>,
    /// The rank that comes first when a message from any rank is wanted.
    turn: Cell<Rank>,
    /// The rank to blame for what is given up here: this rank until a wait fails.
    culprit: Cell<Lost>,
    /// This end ends since it cannot go on; `failed`: a peer did, because of that rank.
    fails: Cell<bool>,
    failed: Cell<Option<Lost>>,
    circles: Circles,
    traffic: Traffic<Cell<u64>>,
    leaves: bool,
}

/// Counts of what went through a messenger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic<N = u64> {
    /// Messages that were sent and ended.
    pub messages: N,
    /// Frames that were sent, of all kinds.
    pub frames: N,
    /// Frames that returned credits and nothing else: the explicit acknowledgements.
    pub acknowledgements: N,
    /// Bytes that were fetched from a peer's memory.
    pub direct_bytes: N,
}

#[inline]
fn count(of: &Cell<u64>, n: u64) {
    of.set(of.get() + n);
}

/// The rest of a verb that has acted: nothing, an error, or a wait.
#[inline]
async fn settled(rest: Result<Option<impl Future<Output = Result<(), Error>>>, Error>) -> Result<(), Error> {
    match rest? {
        None => Ok(()),
        Some(rest) => rest.await,
    }
}

impl<F: Fabric> Messenger<F> {
    /// The messenger of that lane. Make one per lane, ever.
    ///
    /// # Errors
    /// [`Cause::Setting`] if the settings contradict themselves or the fabric.
    pub fn new(fabric: F, settings: Settings) -> Result<Self, Error> {
        let (limits, here, size) = (fabric.limits(), fabric.here(), fabric.size());
        let rules = settings.rules(&limits, || fabric.costs())?;
        let policy = settings.policy.unwrap_or_else(|| Policy::adaptive(&fabric.cpu().costs()));
        Roster::<F::Cpu>::new(fabric.roster()).enroll(fabric.cpu(), here.rank);
        Ok(Self {
            here,
            size,
            inline: limits.inline.min(frame::STAGE),
            buffer: limits.buffer,
            gather: limits.gather.clamp(1, (limits.buffer - 8) / 10),
            rules,
            connections: (0..size).map(|_| Connection::new(rules.terms)).collect(),
            signals: (0..settings.slots).map(|_| Cell::new(0)).collect(),
            inbox: RefCell::default(),
            waiter: Waiter::new(policy, here.rank),
            deadline: Cell::new(Nanos::MAX),
            unexpected: Unexpected::new(size, rules.kept_bytes),
            backlog: Cell::new(false),
            exposed: Cell::new(0),
            loans: Cell::new(0),
            owned: RefCell::default(),
            turn: Cell::new((here.rank + 1) % size.max(1)),
            culprit: Cell::new(Lost::on(here.rank)),
            fails: Cell::new(false),
            failed: Cell::new(None),
            circles: Circles::default(),
            traffic: Traffic::default(),
            leaves: false,
            fabric: Exposures::new(fabric),
        })
    }

    /// From how many bytes on a CHEAPER piece is not copied through static buffers; `usize::MAX` if every
    /// piece is.
    pub fn direct_at(&self) -> usize {
        self.rules.direct_at
    }

    /// The fabric below.
    pub fn fabric(&self) -> &F {
        &self.fabric
    }

    /// Bounds every wait from now on by `deadline`, with [`Cause::TimedOut`]; [`Nanos::MAX`] for never.
    pub fn set_deadline(&self, deadline: Nanos) {
        self.deadline.set(deadline);
    }

    /// How its waits ended, and by which rules.
    pub fn account(&self) -> Snapshot {
        self.waiter.account().snapshot()
    }

    /// Counts of what went through it.
    pub fn traffic(&self) -> Traffic {
        let of = &self.traffic;
        Traffic {
            messages: of.messages.get(),
            frames: of.frames.get(),
            acknowledgements: of.acknowledgements.get(),
            direct_bytes: of.direct_bytes.get(),
        }
    }

    /// Leaves in order: messages that were sent can still be received, and only peers that wait for more are
    /// told. Owned memory that was sent must have been fetched ([`Messenger::settle`]).
    pub fn leave(mut self) {
        // An end that was abandoned has nothing in order.
        self.leaves = !self.fails.get();
        self.fabric.leave();
    }

    /// Ends this end, which cannot go on because of an error elsewhere: from then on all waits of its peers
    /// fail, for null messages, too, and blame the rank that `error` blames.
    pub fn fail(self, error: &Error) {
        self.blamed(error.clone());
        self.fails.set(true);
    }

    #[inline]
    fn with(&self, peer: Rank) -> &Connection {
        &self.connections[peer as usize]
    }

    #[inline]
    const fn address(&self, rank: Rank) -> Address {
        Address { rank, lane: self.here.lane }
    }

    #[inline]
    fn known(&self, rank: Rank) -> Result<(), Error> {
        if rank < self.size { Ok(()) } else { Err(Cause::Rank { rank, size: self.size }.into()) }
    }
}

/// An end that did not leave has gone away half way: peers that wait for it are told.
impl<F: Fabric> Drop for Messenger<F> {
    fn drop(&mut self) {
        if !self.leaves {
            (0..self.size).filter(|&peer| peer != self.here.rank).for_each(|peer| self.go_away(peer));
        }
    }
}

impl<F: Fabric> fmt::Debug for Messenger<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Messenger").field("here", &self.here).field("size", &self.size).finish_non_exhaustive()
    }
}
