//! Ranks that wait for each other: edge chasing (Chandy, Misra & Haas 1983).
//!
//! A rank whose wait for one other lasts long sends it a frame that names the two: a chase. A rank that
//! itself waits for one other sends the chase on, with its own number behind; a rank that meets its own
//! number has found a circle, and tells all ranks in it. Race 7 of `README.md` says why that is right
//! although frames are on their way meanwhile.
use super::frame::FrameKind;
use super::{Messenger, Waiting, count};
use core::cell::{Cell, RefCell};
use foregather_machine::{Cause, Error, Fabric, Nanos, Park, Rank, WaitContext, reached};

/// A wait that lasts longer than this is worth a frame.
const PATIENCE: Nanos = Nanos::from_ms(250);
/// Bytes before the ranks, and of each rank: its number, and that of its wait.
const BEFORE: usize = 4;
const ENTRY: usize = 2 + 4;

/// How many frames of chases may be on their way to a rank, one of each kind: without room for them there are
/// no chases.
pub(super) const FRAMES: u32 = 3;

/// The content of a chase.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Chase {
    /// How many frames of this rank its sender had taken.
    taken: u32,
    /// The numbers of ranks and of their waits: each waits for the next one, and the last for this rank.
    chain: Vec<(Rank, u32)>,
}

impl Chase {
    fn read(bytes: &[u8]) -> Option<Self> {
        let (taken, rest) = bytes.split_first_chunk::<BEFORE>()?;
        let (entries, rest) = rest.as_chunks::<ENTRY>();
        if !rest.is_empty() || entries.is_empty() {
            return None;
        }
        let entry =
            |[a, b, c, d, e, f]: &[u8; ENTRY]| (Rank::from(u16::from_le_bytes([*a, *b])), u32::from_le_bytes([*c, *d, *e, *f]));
        Some(Self { taken: u32::from_le_bytes(*taken), chain: entries.iter().map(entry).collect() })
    }

    fn write(&self) -> Vec<u8> {
        let mut bytes = self.taken.to_le_bytes().to_vec();
        for (rank, wait) in &self.chain {
            bytes.extend_from_slice(&(*rank as u16).to_le_bytes());
            bytes.extend_from_slice(&wait.to_le_bytes());
        }
        bytes
    }
}

/// A messenger's state about circles: the present or the last wait, and the chases that have come.
#[derive(Default)]
pub(super) struct Circles {
    /// The number of the wait.
    wait: Cell<u32>,
    /// Is a chase to be looked at, now or in the next wait?
    chased: Cell<bool>,
    deferred: Cell<bool>,
    /// A circle that this rank was told of, and the number of its wait in it.
    deadlock: RefCell<Option<(u32, Vec<Rank>)>>,
}

impl Circles {
    pub(super) fn begin_wait(&self) {
        self.wait.set(self.wait.get().wrapping_add(1));
        self.chased.set(self.chased.get() || self.deferred.take());
    }

    #[inline]
    pub(super) fn is_chased(&self) -> bool {
        self.chased.get()
    }
}

/// A connection's state about chases.
#[derive(Default)]
pub(super) struct Pursuit {
    /// A chase of ours is on its way.
    chasing: Cell<bool>,
    /// A chase of the peer's has come and was not judged.
    chase: RefCell<Option<Chase>>,
    /// The peer was not told that its chase has come.
    unheard: Cell<bool>,
}

impl Pursuit {
    pub(super) fn is_unheard(&self) -> bool {
        self.unheard.get()
    }
}

impl Waiting {
    /// The one rank that can end this wait, by a frame.
    fn chased(self) -> Option<Rank> {
        match self {
            Self::From(peer) | Self::Whole(peer) | Self::To(peer) | Self::Packet(peer) | Self::Signal(Some(peer)) => Some(peer),
            Self::Signal(None) | Self::Room(_) | Self::Any | Self::Nothing => None,
        }
    }
}

impl<F: Fabric> Messenger<F> {
    /// The rank that this wait is for, if it may be part of a circle. A wait with a deadline ends by itself.
    fn chased(&self, waiting: Waiting) -> Option<Rank> {
        waiting.chased().filter(|_| self.deadline.get() == Nanos::MAX && self.longest_chain() > 0)
    }

    /// How many ranks fit into a frame: none if their numbers do not, or if there is no room for the frame.
    fn longest_chain(&self) -> usize {
        let possible = self.rules.chases && self.size <= u32::from(u16::MAX);
        if possible { self.inline.saturating_sub(BEFORE) / ENTRY } else { 0 }
    }

    /// How long a wait goes on before it sends a chase: at first, and then twice as long each time, since
    /// another chase may replace it.
    pub(super) fn patience(&self, waiting: Waiting) -> Nanos {
        if self.chased(waiting).is_some() { PATIENCE } else { Nanos::MAX }
    }

    /// Begins a chase, since this wait has lasted long.
    #[cold]
    pub(super) fn begin_chase(&self, waiting: Waiting) {
        if let Some(next) = self.chased(waiting).filter(|&next| !self.with(next).pursuit.chasing.get()) {
            self.pass_on(next, Vec::new());
        }
    }

    /// Sends those ranks, and this one behind them, to the rank that it waits for. Without room it tries
    /// again later.
    fn pass_on(&self, next: Rank, mut chain: Vec<(Rank, u32)>) {
        chain.push((self.here.rank, self.circles.wait.get()));
        let with = self.with(next);
        let sent = self.tell(next, FrameKind::Chase, &Chase { taken: with.link.counts().1, chain }.write());
        with.pursuit.chasing.set(sent);
    }

    /// Sends a frame that carries no credits, since it must not end a wait.
    fn tell(&self, to: Rank, kind: FrameKind, bytes: &[u8]) -> bool {
        // The wait itself names a peer that is lost.
        let sent = self.with(to).link.post(&*self.fabric, self.address(to), kind, 0, bytes).unwrap_or(false);
        count(&self.traffic.frames, u64::from(sent));
        sent
    }

    /// The peer reports that our chase has come.
    pub(super) fn hear(&self, from: Rank) {
        let told = self.tell(from, FrameKind::Heard, &[]);
        self.with(from).pursuit.unheard.set(!told);
        if !told {
            self.backlog.set(true);
        }
    }

    /// A frame of a chase has come: the next look of a wait sees to it.
    #[cold]
    pub(super) fn note_chase(&self, from: Rank, kind: FrameKind, bytes: &[u8]) -> Result<(), Error> {
        let with = self.with(from);
        self.circles.chased.set(true);
        if kind == FrameKind::Heard {
            with.pursuit.chasing.set(false);
            return Ok(());
        }
        let garbled = Cause::ProtocolViolation { from, what: "a chase of nobody" };
        let chase = Chase::read(bytes).filter(|chase| chase.chain.iter().all(|(rank, _)| *rank < self.size)).ok_or(garbled)?;
        if kind == FrameKind::Chase {
            with.pursuit.chase.replace(Some(chase));
            with.pursuit.unheard.set(true);
            // Answered by the next look, since this one still looks at a frame.
            self.backlog.set(true);
        } else if let Some((_, wait)) = chase.chain.iter().find(|(rank, _)| *rank == self.here.rank) {
            self.circles.deadlock.replace(Some((*wait, chase.chain.iter().map(|(rank, _)| *rank).collect())));
        }
        Ok(())
    }

    /// This rank has looked and waits on: judges the chases that have come, and sends them on. An error if
    /// one goes round.
    #[cold]
    pub(super) fn chase(&self, what: &'static str, waiting: Waiting) -> Result<(), Error> {
        let Some(next) = self.chased(waiting) else { return Ok(()) };
        let why = WaitContext::new(what, self.here.rank).of(next);
        if self.fabric.cpu().check(self.fabric.bell(), &why).is_err() {
            // The wait ends by itself, for a better reason.
            return Ok(());
        }
        self.circles.chased.set(false);
        let told = self.circles.deadlock.take().filter(|(wait, _)| *wait == self.circles.wait.get()).map(|(_, ranks)| ranks);
        match told.or_else(|| (0..self.size).find_map(|from| self.judge(from, next))) {
            Some(ranks) => Err(Cause::Deadlock { ranks, doing: what }.into()),
            None => Ok(()),
        }
    }

    /// The ranks of a circle, if the chase of `from` has gone round.
    fn judge(&self, from: Rank, next: Rank) -> Option<Vec<Rank>> {
        let with = self.with(from);
        let chase = with.pursuit.chase.take()?;
        // A frame that could end that wait is on its way, or will be.
        if with.link.counts().0 != chase.taken || with.is_behind(self.rules.terms) {
            reached("messenger:7");
            return None;
        }
        let here = (self.here.rank, self.circles.wait.get());
        if let Some(at) = chase.chain.iter().position(|entry| *entry == here) {
            return Some(self.announce(&chase.chain[at..]));
        }
        let passed_by = chase.chain.iter().any(|(rank, _)| *rank == here.0);
        if !passed_by && self.with(next).pursuit.chasing.get() {
            // The chase waits for the one before it: until that is heard, or for the next wait.
            with.pursuit.chase.replace(Some(chase));
            self.circles.deferred.set(true);
        } else if !passed_by && chase.chain.len() < self.longest_chain() {
            self.pass_on(next, chase.chain);
        }
        None
    }

    /// Tells all others of the circle. A rank that cannot be reached now hears that this rank has failed.
    fn announce(&self, circle: &[(Rank, u32)]) -> Vec<Rank> {
        let bytes = Chase { taken: 0, chain: circle.to_vec() }.write();
        let ranks: Vec<Rank> = circle.iter().map(|(rank, _)| *rank).collect();
        ranks.iter().filter(|&&rank| rank != self.here.rank).for_each(|&rank| _ = self.tell(rank, FrameKind::Deadlock, &bytes));
        ranks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chase_is_read_as_it_was_written() {
        let chase = Chase { taken: 77, chain: vec![(0, 1), (u32::from(u16::MAX), u32::MAX)] };
        let bytes = chase.write();
        assert_eq!(Chase::read(&bytes), Some(chase));
        assert!((0..bytes.len()).all(|len| len == BEFORE + ENTRY || Chase::read(&bytes[..len]).is_none()));
    }
}
