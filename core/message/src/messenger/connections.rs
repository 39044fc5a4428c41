//! The connections with all peers: frames and credits both ways, frames that wait for room, and why a
//! connection has ended.
use super::frame::FrameKind;
use super::settings::CheckedSettings;
use crate::link::{Link, Lost};
use core::cell::Cell;
use foregather_machine::{Address, Cause, Error, Exposures, Fabric, Rank, reached};

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

impl Traffic<Cell<u64>> {
    pub(super) fn snapshot(&self) -> Traffic {
        Traffic {
            messages: self.messages.get(),
            frames: self.frames.get(),
            acknowledgements: self.acknowledgements.get(),
            direct_bytes: self.direct_bytes.get(),
        }
    }
}

#[inline]
pub(super) fn count(of: &Cell<u64>, n: u64) {
    of.set(of.get() + n);
}

#[cold]
pub(super) fn garbled(from: Rank, what: &'static str) -> Error {
    Cause::ProtocolViolation { from, what }.into()
}

/// Bits of an Abort: its sender fails altogether; its sender goes away.
const FAILS: u16 = 1;
const GONE: u16 = 2;

/// One side of the connection with a peer.
struct Connection {
    link: Link,
    /// The peer's messenger has gone away without leaving.
    gone: Cell<bool>,
}

/// The fabric, and this side of all connections.
pub(super) struct Connections<F: Fabric> {
    pub(super) fabric: Exposures<F>,
    pub(super) here: Address,
    pub(super) size: u32,
    pub(super) rules: CheckedSettings,
    peers: Box<[Connection]>,
    /// A frame could not be sent for want of room.
    backlog: Cell<bool>,
    /// The rank to blame for what is given up here: this rank until a wait fails.
    culprit: Cell<Lost>,
    /// This end ends since it cannot go on; `failed`: a peer did, because of that rank.
    fails: Cell<bool>,
    failed: Cell<Option<Lost>>,
    pub(super) traffic: Traffic<Cell<u64>>,
}

impl<F: Fabric> Connections<F> {
    pub(super) fn new(fabric: F, rules: CheckedSettings) -> Self {
        let (here, size) = (fabric.here(), fabric.size());
        Self {
            here,
            size,
            rules,
            peers: (0..size).map(|_| Connection { link: Link::new(rules.terms), gone: Cell::new(false) }).collect(),
            backlog: Cell::new(false),
            culprit: Cell::new(Lost::on(here.rank)),
            fails: Cell::new(false),
            failed: Cell::new(None),
            traffic: Traffic::default(),
            fabric: Exposures::new(fabric),
        }
    }

    #[inline]
    pub(super) fn link(&self, peer: Rank) -> &Link {
        &self.peers[peer as usize].link
    }

    #[inline]
    pub(super) const fn address(&self, rank: Rank) -> Address {
        Address { rank, lane: self.here.lane }
    }

    #[inline]
    pub(super) fn known(&self, rank: Rank) -> Result<(), Error> {
        if rank < self.size { Ok(()) } else { Err(Cause::Rank { rank, size: self.size }.into()) }
    }

    pub(super) fn others(&self) -> impl Iterator<Item = Rank> + use<F> {
        let here = self.here.rank;
        (0..self.size).filter(move |&peer| peer != here)
    }

    /// Posts an inline frame with the credits that are owed. Without room nothing changes.
    #[inline]
    pub(super) fn post(&self, to: Rank, kind: FrameKind, extra: u16, bytes: &[u8]) -> Result<bool, Error> {
        self.posted(self.link(to).post(&*self.fabric, self.address(to), kind, extra, bytes))
    }

    /// Posts the filled part of a static buffer with the credits that are owed, like [`Self::post`].
    #[inline]
    pub(super) fn post_filled(&self, to: Rank, kind: FrameKind, extra: u16, len: usize) -> Result<bool, Error> {
        self.posted(self.link(to).post_filled(&*self.fabric, self.address(to), kind, extra, len))
    }

    /// Posts a frame of any length that costs a credit, which was taken; it is returned if there is no room.
    #[inline(always)]
    pub(super) fn post_paid(&self, to: Rank, kind: FrameKind, extra: u16, bytes: &[u8]) -> Result<bool, Error> {
        let sent = if bytes.len() <= self.rules.inline {
            self.post(to, kind, extra, bytes)
        } else {
            self.fabric.write_with(self.address(to), |buffer| buffer[..bytes.len()].copy_from_slice(bytes));
            self.post_filled(to, kind, extra, bytes.len())
        };
        if sent != Ok(true) {
            self.link(to).untake_credit();
        }
        sent
    }

    #[inline]
    fn posted(&self, sent: Result<bool, Error>) -> Result<bool, Error> {
        let sent = sent.map_err(|error| self.blamed(error))?;
        count(&self.traffic.frames, u64::from(sent));
        Ok(sent)
    }

    /// Posts a frame that carries no credits, since it must not end a wait. The wait itself names a peer that
    /// is lost.
    pub(super) fn post_uncounted(&self, to: Rank, kind: FrameKind, bytes: &[u8]) -> bool {
        let sent = self.link(to).post(&*self.fabric, self.address(to), kind, 0, bytes).unwrap_or(false);
        count(&self.traffic.frames, u64::from(sent));
        sent
    }

    /// A frame must be sent as soon as there is room.
    pub(super) fn retry_later(&self) {
        self.backlog.set(true);
    }

    /// Returns whether frames wait for room; they are to be tried again now.
    #[inline]
    pub(super) fn take_backlog(&self) -> bool {
        self.backlog.get() && self.backlog.take()
    }

    /// Releases the frame at the head of the ring.
    #[inline]
    pub(super) fn release(&self, from: Rank, costs: bool) {
        self.fabric.release(self.address(from));
        if costs {
            self.owe_credit(from);
        }
    }

    #[inline]
    pub(super) fn owe_credit(&self, from: Rank) {
        if self.link(from).owes_one_more(self.rules.terms) {
            self.acknowledge(from);
        }
    }

    /// Returns credits alone, if the peer may wait for them.
    pub(super) fn retry_credits(&self, peer: Rank) {
        if self.link(peer).overdue(self.rules.terms) {
            self.acknowledge(peer);
        }
    }

    #[cold]
    fn acknowledge(&self, to: Rank) {
        match self.link(to).grant::<FrameKind>(&*self.fabric, self.address(to)) {
            Ok(true) => {
                count(&self.traffic.frames, 1);
                count(&self.traffic.acknowledgements, 1);
            }
            Ok(false) => self.retry_later(),
            // A peer that is lost needs no credits; the wait reports the loss.
            Err(error) => drop(self.blamed(error)),
        }
    }

    /// Returns whether that rank has left, or all others if none is named.
    #[inline]
    pub(super) fn has_left(&self, peer: Option<Rank>) -> bool {
        match peer {
            Some(peer) => self.fabric.has_left(self.address(peer)),
            None => self.size > 1 && self.others().all(|other| self.fabric.has_left(self.address(other))),
        }
    }

    /// Why the connection with that rank has ended, or any if none is named.
    #[inline]
    pub(super) fn ended(&self, peer: Option<Rank>) -> Option<Lost> {
        match peer {
            Some(peer) => self.link(peer).ended(),
            None => self.peers.iter().find_map(|with| with.link.ended()),
        }
    }

    /// Why no null message of that rank comes any more, or of any. They go on when messages were given up,
    /// unless a rank fails altogether, since it may keep other ranks from theirs, or has gone away.
    #[inline]
    pub(super) fn ended_for_signals(&self, peer: Option<Rank>) -> Option<Lost> {
        let why = |with: &Connection| with.link.ended().filter(|_| with.gone.get());
        self.failed.get().or_else(|| match peer {
            Some(peer) => why(&self.peers[peer as usize]),
            None => self.peers.iter().find_map(why),
        })
    }

    /// The error for a caller that was `doing` something with a message that was given up before.
    #[cold]
    pub(super) fn accused(&self, blame: Lost, doing: &'static str) -> Error {
        self.blamed(blame.error(self.fabric.now(), doing))
    }

    /// Remembers the rank to blame for all that is given up because of this error. A loss explains what comes
    /// after it.
    #[cold]
    pub(super) fn blamed(&self, error: Error) -> Error {
        let Some(blame) = Lost::of(&error) else { return error };
        if blame.lost || !self.culprit.get().lost {
            self.culprit.set(blame);
        }
        error
    }

    /// Gives up the connection: its message will never be whole. The peer is notified now, or as soon as
    /// there is room.
    #[cold]
    pub(super) fn give_up(&self, peer: Rank) {
        if self.link(peer).end(self.culprit.get()) {
            self.report_end(peer);
        }
    }

    fn report_end(&self, peer: Rank) {
        if !self.abort(peer, if self.fails.get() { FAILS } else { 0 }) {
            self.retry_later();
        }
    }

    /// Reports an end that found no room before.
    pub(super) fn retry_end(&self, peer: Rank) {
        if self.link(peer).is_untold() {
            self.report_end(peer);
        }
    }

    fn abort(&self, peer: Rank, extra: u16) -> bool {
        let told = self.link(peer).abort::<FrameKind>(&*self.fabric, self.address(peer), extra);
        count(&self.traffic.frames, u64::from(told));
        told
    }

    /// This end fails altogether because of the rank that `error` blames.
    pub(super) fn fail(&self, error: &Error) {
        self.blamed(error.clone());
        self.fails.set(true);
    }

    pub(super) fn fails(&self) -> bool {
        self.fails.get()
    }

    /// Gives up all connections: this rank fails.
    pub(super) fn abandon(&self) {
        self.fails.set(true);
        self.failed.set(self.failed.get().or(Some(Lost::on(self.here.rank))));
        self.others().for_each(|peer| self.give_up(peer));
    }

    /// Goes away without leaving. A peer that knows why their connection has ended must hear that, too: it
    /// may wait for null messages, which go on after an end.
    pub(super) fn go_away(&self) {
        for peer in self.others() {
            self.link(peer).end(self.culprit.get());
            self.abort(peer, if self.fails.get() { FAILS | GONE } else { GONE });
        }
    }

    /// Records that `from` has given up, by the content of its Abort.
    pub(super) fn take_abort(&self, from: Rank, extra: u16, bytes: &[u8]) {
        let with = &self.peers[from as usize];
        let blame = Lost::unpack(from, bytes, self.size);
        if extra & FAILS != 0 {
            self.failed.set(self.failed.get().or(Some(blame)));
        }
        if extra & GONE != 0 {
            if with.link.ended().is_some() {
                reached("messenger:10");
            }
            with.gone.set(true);
        }
        with.link.has_heard(blame);
    }
}
