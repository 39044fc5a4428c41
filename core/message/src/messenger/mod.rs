//! Messages built piece by piece: Madeleine's contract (Namyst et al. 1999), over any [`Fabric`].
//!
//! Small pieces are copied into static buffers of the fabric, which travel as frames under credits; large lasting pieces stay where
//! they are, and the receiver fetches them. Whoever waits takes in what has come for it, so two sides that only send never wait for
//! each other. States, order and races: `README.md`.
//!
//! - this file: the one wait there is. [`intake`]: what is done for others meanwhile. [`connection`]: credits and what was kept.
//! - [`outgoing`], [`incoming`]: a message on its way out and in; [`head`]: what of it is there. [`piece`], [`frame`]: what crosses the wire.
//! - [`chase`]: who waits for whom, and whether that goes round.
//! - [`port`]: null messages and sized packets over the same frames. [`settings`]: thresholds.

mod chase;
mod connection;
mod frame;
mod head;
mod incoming;
mod intake;
mod outgoing;
mod piece;
mod port;
mod settings;

pub use incoming::Incoming;
pub use outgoing::Outgoing;
pub use piece::{Cheaper, Later, Mode, Piece, Receive, Safer, WireValue};
pub use settings::{Path, Settings, direct_from};

use crate::inbox::Inbox;
use crate::link::Lost;
use connection::{Connection, Offer};
use core::cell::{Cell, RefCell};
use core::fmt;
use foregather_machine::{Address, Cause, Error, Fabric, Nanos, Placement, Rank, WaitContext};
use foregather_wait::{Policy, Roster, Snapshot, Waiter};
use frame::FrameKind;
use intake::Served;
use settings::Rules;

/// One lane's end of a channel that all ranks share: lane *i* of each rank talks to lane *i* of the others.
///
/// Messages between two ends arrive in the order in which they were ended. A rank that wants several threads to send and receive at
/// once gives each a lane, and a messenger: messages of different lanes have no order among them. A messenger can be sent to another
/// thread, but is used by one at a time. Whoever is done says so by [`Messenger::leave`]; an end that is dropped without that has gone away,
/// and whoever waits for it is told.
pub struct Messenger<F: Fabric> {
    fabric: F,
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
    /// Things and bytes of messages that nobody has asked for yet.
    kept: Cell<u32>,
    kept_bytes: Cell<usize>,
    /// Something could not be sent for want of room.
    backlog: Cell<bool>,
    /// Offers of ours that are not taken yet: while there are any, whoever waits helps.
    exposed: Cell<u32>,
    /// Who comes first when a message from anybody is wanted.
    turn: Cell<Rank>,
    /// Who is to blame for what is given up here: this rank until a wait fails.
    culprit: Cell<Lost>,
    /// It ends since it cannot go on; and a peer did, because of that one.
    fails: Cell<bool>,
    failed: Cell<Option<Lost>>,
    /// The number of the wait that goes on, or was the last; is there anything of a chase to be looked at, now or in the next wait;
    /// what one came to.
    wait: Cell<u32>,
    chased: Cell<bool>,
    deferred: Cell<bool>,
    deadlock: RefCell<Option<(u32, Vec<Rank>)>>,
    traffic: Traffic<Cell<u64>>,
    leaves: bool,
}

/// What went through a messenger.
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

/// Takes so many from a counter that has as many.
#[inline]
fn take(from: &Cell<u32>, many: u32) -> Option<()> {
    from.set(from.get().checked_sub(many)?);
    Some(())
}

/// What a wait is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waiting {
    /// A message of that rank, read in place.
    From(Rank),
    /// A message of anybody.
    Any,
    /// That rank's taking something.
    To(Rank),
    /// Room towards that rank, which the fabric itself may make.
    Room(Rank),
    /// A null message, of that rank if the caller knows whose.
    Signal(Option<Rank>),
    /// A packet of that rank.
    Packet(Rank),
    /// Nothing: it only looks, and must not be given anything that takes time.
    Nothing,
}

impl Waiting {
    fn peer(self) -> Option<Rank> {
        match self {
            Self::From(peer) | Self::To(peer) | Self::Room(peer) | Self::Packet(peer) => Some(peer),
            Self::Signal(peer) => peer,
            Self::Any | Self::Nothing => None,
        }
    }
}

/// How a look ended.
enum PeekResult<T> {
    End(Result<T, Error>),
    /// First something has to be fetched for somebody who cannot go on before.
    Fetch(Rank, Offer),
}

impl<F: Fabric> Messenger<F> {
    /// The messenger of that lane. There must be one per lane, ever.
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
            kept: Cell::new(0),
            kept_bytes: Cell::new(0),
            backlog: Cell::new(false),
            exposed: Cell::new(0),
            turn: Cell::new((here.rank + 1) % size.max(1)),
            culprit: Cell::new(Lost::on(here.rank)),
            fails: Cell::new(false),
            failed: Cell::new(None),
            wait: Cell::new(0),
            chased: Cell::new(false),
            deferred: Cell::new(false),
            deadlock: RefCell::default(),
            traffic: Traffic::default(),
            leaves: false,
            fabric,
        })
    }

    /// From how many bytes on a CHEAPER piece is not copied through static buffers; `usize::MAX` if all are.
    pub fn direct_at(&self) -> usize {
        self.rules.direct_at
    }

    /// The fabric below.
    pub fn fabric(&self) -> &F {
        &self.fabric
    }

    /// From now on every wait ends at `deadline`, by [`Cause::TimedOut`]; [`Nanos::MAX`] for never.
    pub fn set_deadline(&self, deadline: Nanos) {
        self.deadline.set(deadline);
    }

    /// How its waits ended, and by which rules.
    pub fn account(&self) -> Snapshot {
        self.waiter.account().snapshot()
    }

    /// What went through it.
    pub fn traffic(&self) -> Traffic {
        let of = &self.traffic;
        Traffic {
            messages: of.messages.get(),
            frames: of.frames.get(),
            acknowledgements: of.acknowledgements.get(),
            direct_bytes: of.direct_bytes.get(),
        }
    }

    /// Leaves in order: what was sent can still be received, and only who waits for more is told.
    pub fn leave(mut self) {
        self.leaves = true;
        self.fabric.leave();
    }

    /// This end cannot go on, because of what happened elsewhere: from its end on all waits of its peers fail, for null messages, too,
    /// and blame whom that error blames.
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

    /// Posts an inline frame with the credits that are owed. Without room nothing has changed.
    #[inline]
    fn post(&self, to: Rank, kind: FrameKind, extra: u16, bytes: &[u8]) -> Result<bool, Error> {
        let sent = self.with(to).link.post(&self.fabric, self.address(to), kind, extra, bytes);
        self.posted(to, sent)
    }

    /// The same with what was filled into a static buffer.
    #[inline]
    fn post_filled(&self, to: Rank, kind: FrameKind, extra: u16, len: usize) -> Result<bool, Error> {
        let sent = self.with(to).link.post_filled(&self.fabric, self.address(to), kind, extra, len);
        self.posted(to, sent)
    }

    #[inline]
    fn posted(&self, to: Rank, sent: Result<bool, Error>) -> Result<bool, Error> {
        let sent = sent.map_err(|error| self.blamed(error))?;
        if sent {
            let with = self.with(to);
            with.sent.set(with.sent.get().wrapping_add(1));
            count(&self.traffic.frames, 1);
        }
        Ok(sent)
    }

    /// Has whoever could bring what is awaited left?
    #[inline]
    fn left(&self, waiting: Waiting) -> bool {
        match waiting.peer() {
            Some(peer) => self.fabric.has_left(self.address(peer)),
            None => {
                let mut others = (0..self.size).filter(|&other| other != self.here.rank);
                self.size > 1 && others.all(|other| self.fabric.has_left(self.address(other)))
            }
        }
    }

    /// Was a message given up that matters to this wait?
    #[inline]
    fn poisoned(&self, waiting: Waiting) -> Option<Lost> {
        match waiting {
            Waiting::Any => self.connections.iter().find_map(|with| with.poisoned.get()),
            // Null messages go on when messages were given up; and whoever failed may have kept another one from its own.
            Waiting::Signal(_) => self.failed.get(),
            _ => waiting.peer().and_then(|peer| self.with(peer).poisoned.get()),
        }
    }

    /// One look of a wait: is it there, and if not, what can be done for others?
    #[inline]
    fn look<T>(
        &self,
        what: &'static str,
        waiting: Waiting,
        found: &mut impl FnMut() -> Option<Result<T, Error>>,
    ) -> Option<PeekResult<T>> {
        // What a peer did before it left is seen below: so this comes first.
        let left = self.left(waiting);
        if let Some(end) = found() {
            return Some(PeekResult::End(end));
        }
        match self.serve(waiting) {
            Err(error) => return Some(PeekResult::End(Err(error))),
            Ok(Served::Offered(from, offer)) => return Some(PeekResult::Fetch(from, offer)),
            // What was served may be what is waited for; its bell has rung already.
            Ok(Served::Something) => {
                if let Some(end) = found() {
                    return Some(PeekResult::End(end));
                }
            }
            Ok(Served::Nothing) => {}
        }
        // Before who gave up because of it.
        if self.chased.get()
            && let Err(circle) = self.chase(what, waiting)
        {
            return Some(PeekResult::End(Err(circle)));
        }
        // Giving up comes as a frame, so it is known by now.
        if let Some(blame) = self.poisoned(waiting) {
            return Some(PeekResult::End(Err(self.accused(blame, what))));
        }
        left.then(|| PeekResult::End(Err(Cause::Closed { peer: waiting.peer() }.into())))
    }

    /// The one wait there is. Only how it begins is the caller's: by a look of its own that found nothing.
    async fn until<T>(
        &self,
        what: &'static str,
        waiting: Waiting,
        mut found: impl FnMut() -> Option<Result<T, Error>>,
    ) -> Result<T, Error> {
        let mut why = WaitContext { peer: waiting.peer(), ..WaitContext::new(what, self.here.rank).until(self.deadline.get()) };
        self.wait.set(self.wait.get().wrapping_add(1));
        self.chased.set(self.chased.get() || self.deferred.take());
        let mut patience = self.patience(waiting);
        loop {
            let look = || self.look(what, waiting, &mut found);
            let waited = self.waiter.on_lane_for(&self.fabric, why, waiting.peer(), patience, look).await;
            match waited.map_err(|error| self.blamed(error))? {
                Some(PeekResult::End(end)) => return end.map_err(|error| self.blamed(error)),
                Some(PeekResult::Fetch(from, offer)) => self.fetch_aside(from, offer).await?,
                None => {
                    if why.since == Nanos::ZERO {
                        why = why.since(self.fabric.now() - patience);
                    }
                    self.begin_chase(waiting);
                    patience = patience * 2;
                }
            }
        }
    }

    /// What a message that was given up before means for whoever was `doing` something with it.
    #[cold]
    fn accused(&self, blame: Lost, doing: &'static str) -> Error {
        self.blamed(blame.error(self.fabric.now(), doing))
    }

    /// Remembers who is to blame for whatever is given up because of this. A loss explains what comes after it.
    #[cold]
    fn blamed(&self, error: Error) -> Error {
        let Some(blame) = Lost::of(&error) else { return error };
        if blame.lost || !self.culprit.get().lost {
            self.culprit.set(blame);
        }
        error
    }

    /// The connection is lost: its message will never be whole. The peer is told, now or as soon as there is room.
    #[cold]
    fn give_up(&self, peer: Rank) {
        let with = self.with(peer);
        if with.poisoned.get().is_none() {
            with.poisoned.set(Some(self.culprit.get()));
            self.tell_abort(peer);
        }
    }

    fn tell_abort(&self, peer: Rank) {
        let with = self.with(peer);
        let blame = with.poisoned.get().unwrap_or_else(|| self.culprit.get());
        match self.post(peer, FrameKind::Abort, u16::from(self.fails.get()), &blame.pack()) {
            Ok(false) => self.backlog.set(true),
            Ok(true) | Err(_) => with.told.set(true),
        }
    }
}

/// An end that did not leave has gone away in the middle: whoever waits for it is told.
impl<F: Fabric> Drop for Messenger<F> {
    fn drop(&mut self) {
        if !self.leaves {
            (0..self.size).filter(|&peer| peer != self.here.rank).for_each(|peer| self.give_up(peer));
        }
    }
}

impl<F: Fabric> fmt::Debug for Messenger<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Messenger").field("here", &self.here).field("size", &self.size).finish_non_exhaustive()
    }
}
