//! The messenger: the owners that it is composed of, and what a program asks of it besides messages.
use super::connections::{Connections, Traffic};
use super::deadlock::DeadlockDetection;
use super::incoming::IncomingMessages;
use super::packets::Packets;
use super::receive::Unpacking;
use super::rendezvous::{ExposedMemory, Rendezvous};
use super::send::Packing;
use super::settings::Settings;
use core::cell::Cell;
use core::fmt;
use foregather_machine::{Error, Fabric, Nanos, Placement, Rank};
use foregather_wait::{Policy, Roster, Snapshot, Waiter};

/// One lane's end of a channel that all ranks share: lane *i* of each rank talks to lane *i* of the others.
///
/// Messages between two ends arrive in the order in which they were ended. A rank that wants several threads
/// to send and receive at once gives each a lane, and a messenger: messages of different lanes have no order
/// among them. A messenger can be sent to another thread, but one thread uses it at a time. A rank that is
/// done calls [`Messenger::leave`]; if an end is dropped without that, peers that wait for it get an error.
pub struct Messenger<F: Fabric> {
    pub(super) connections: Connections<F>,
    packing: Box<[Packing]>,
    unpacking: Box<[Unpacking]>,
    pub(super) incoming: IncomingMessages,
    pub(super) rendezvous: Rendezvous,
    pub(super) exposed: ExposedMemory,
    pub(super) deadlock: DeadlockDetection,
    pub(super) packets: Packets,
    pub(super) waiter: Waiter,
    deadline: Cell<Nanos>,
    leaves: bool,
}

impl<F: Fabric> Messenger<F> {
    /// The messenger of that lane. Make one per lane, ever.
    ///
    /// # Errors
    /// [`Cause::Setting`](foregather_machine::Cause::Setting) if the settings contradict themselves or the
    /// fabric.
    pub fn new(fabric: F, settings: Settings) -> Result<Self, Error> {
        let (here, size) = (fabric.here(), fabric.size());
        let rules = settings.rules(&fabric.limits(), || fabric.costs())?;
        let policy = settings.policy.unwrap_or_else(|| Policy::adaptive(&fabric.cpu().costs()));
        Roster::<F::Cpu>::new(fabric.roster()).enroll(fabric.cpu(), here.rank);
        let connections = Connections::new(fabric, rules);
        Ok(Self {
            packing: (0..size).map(|_| Packing::default()).collect(),
            unpacking: (0..size).map(|_| Unpacking::default()).collect(),
            incoming: IncomingMessages::new(&connections),
            rendezvous: Rendezvous::new(size),
            exposed: ExposedMemory::default(),
            deadlock: DeadlockDetection::new(size),
            packets: Packets::new(size, settings.slots),
            waiter: Waiter::new(policy, here.rank),
            deadline: Cell::new(Nanos::MAX),
            leaves: false,
            connections,
        })
    }

    #[inline]
    pub(super) fn packing(&self, to: Rank) -> &Packing {
        &self.packing[to as usize]
    }

    #[inline]
    pub(super) fn unpacking(&self, from: Rank) -> &Unpacking {
        &self.unpacking[from as usize]
    }

    /// From how many bytes on a CHEAPER piece is not copied through static buffers; `usize::MAX` if every
    /// piece is.
    pub fn direct_at(&self) -> usize {
        self.connections.rules.direct_at
    }

    /// The fabric below.
    pub fn fabric(&self) -> &F {
        &self.connections.fabric
    }

    /// Bounds every wait from now on by `deadline`, with
    /// [`Cause::TimedOut`](foregather_machine::Cause::TimedOut); [`Nanos::MAX`] for never.
    pub fn set_deadline(&self, deadline: Nanos) {
        self.deadline.set(deadline);
    }

    pub(super) fn deadline(&self) -> Nanos {
        self.deadline.get()
    }

    /// How its waits ended, and by which rules.
    pub fn account(&self) -> Snapshot {
        self.waiter.account().snapshot()
    }

    /// Counts of what went through it.
    pub fn traffic(&self) -> Traffic {
        self.connections.traffic.snapshot()
    }

    /// Leaves in order: messages that were sent can still be received, and only peers that wait for more are
    /// told. Owned memory that was sent must have been fetched ([`Messenger::settle`]).
    pub fn leave(mut self) {
        // An end that was abandoned has nothing in order.
        self.leaves = !self.connections.fails();
        self.connections.fabric.leave();
    }

    /// Ends this end, which cannot go on because of an error elsewhere: from then on all waits of its peers
    /// fail, for null messages, too, and blame the rank that `error` blames.
    pub fn fail(self, error: &Error) {
        self.connections.fail(error);
    }

    /// Ends all messages with all peers, which learn that this rank gives up. Its further calls fail, too.
    /// For a rank that cannot go on, but has not come to its end yet ([`Messenger::fail`]).
    pub fn abandon(&self) {
        self.connections.abandon();
    }
}

/// Peers that wait for an end that did not leave get an error.
impl<F: Fabric> Drop for Messenger<F> {
    fn drop(&mut self) {
        if !self.leaves {
            self.connections.go_away();
        }
    }
}

impl<F: Fabric> fmt::Debug for Messenger<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Connections { here, size, .. } = &self.connections;
        f.debug_struct("Messenger").field("here", here).field("size", size).finish_non_exhaustive()
    }
}
