//! Ranks that wait for each other: edge chasing (Chandy, Misra & Haas 1983).
//!
//! A rank whose wait for one other lasts long sends it a frame that names the two: a chase. A rank that
//! itself waits for one other sends the chase on, with its own number behind; a rank that meets its own
//! number has found a circle, and tells all ranks in it. Race 7 of `README.md` says why that is right
//! although frames are on their way meanwhile.
use super::connections::Connections;
use super::frame::FrameKind;
use core::cell::{Cell, RefCell};
use foregather_machine::{Cause, Error, Fabric, Nanos, Park, Rank, WaitContext, reached};

/// A wait that lasts longer than this is worth a frame.
pub(super) const PATIENCE: Nanos = Nanos::from_ms(250);
/// Bytes before the ranks, and of each rank: its number, and that of its wait.
const BEFORE: usize = 4;
const ENTRY: usize = 2 + 4;

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

/// The present or the last wait of this rank, and the chases that have come.
pub(super) struct DeadlockDetection {
    /// The number of the wait.
    wait: Cell<u32>,
    /// A chase is to be looked at, now or in the next wait.
    chased: Cell<bool>,
    deferred: Cell<bool>,
    /// A circle that this rank was told of, and the number of its wait in it.
    deadlock: RefCell<Option<(u32, Vec<Rank>)>>,
    peers: Box<[Pursuit]>,
}

/// A connection's state about chases.
#[derive(Default)]
struct Pursuit {
    /// A chase of ours is on its way.
    chasing: Cell<bool>,
    /// A chase of the peer's has come and was not judged.
    chase: RefCell<Option<Chase>>,
    /// The peer was not told that its chase has come.
    unheard: Cell<bool>,
}

impl DeadlockDetection {
    pub(super) fn new(size: u32) -> Self {
        Self {
            wait: Cell::new(0),
            chased: Cell::new(false),
            deferred: Cell::new(false),
            deadlock: RefCell::default(),
            peers: (0..size).map(|_| Pursuit::default()).collect(),
        }
    }

    pub(super) fn begin_wait(&self) {
        self.wait.set(self.wait.get().wrapping_add(1));
        self.chased.set(self.chased.get() || self.deferred.take());
    }

    #[inline]
    pub(super) fn is_chased(&self) -> bool {
        self.chased.get()
    }

    fn with(&self, peer: Rank) -> &Pursuit {
        &self.peers[peer as usize]
    }

    /// How many ranks fit into a frame: none if their numbers do not, or if there is no room for the frame.
    pub(super) fn longest_chain<F: Fabric>(connections: &Connections<F>) -> usize {
        let possible = connections.rules.chases && connections.size <= u32::from(u16::MAX);
        if possible { connections.rules.inline.saturating_sub(BEFORE) / ENTRY } else { 0 }
    }

    /// Begins a chase of `next`, since a wait for it has lasted long.
    #[cold]
    pub(super) fn begin_chase<F: Fabric>(&self, connections: &Connections<F>, next: Rank) {
        if !self.with(next).chasing.get() {
            self.pass_on(connections, next, Vec::new());
        }
    }

    /// Sends those ranks, and this one behind them, to the rank that it waits for. Without room it tries
    /// again later.
    fn pass_on<F: Fabric>(&self, connections: &Connections<F>, next: Rank, mut chain: Vec<(Rank, u32)>) {
        chain.push((connections.here.rank, self.wait.get()));
        let chase = Chase { taken: connections.link(next).counts().1, chain };
        self.with(next).chasing.set(connections.post_uncounted(next, FrameKind::Chase, &chase.write()));
    }

    /// Reports to `from` that its chase has come, if that was not done.
    pub(super) fn retry<F: Fabric>(&self, connections: &Connections<F>, from: Rank) {
        let unheard = &self.with(from).unheard;
        if unheard.get() {
            unheard.set(!connections.post_uncounted(from, FrameKind::Heard, &[]));
            if unheard.get() {
                connections.retry_later();
            }
        }
    }

    /// A frame of a chase has come: the next look of a wait sees to it.
    #[cold]
    pub(super) fn take_frame<F: Fabric>(
        &self,
        connections: &Connections<F>,
        from: Rank,
        kind: FrameKind,
        bytes: &[u8],
    ) -> Result<(), Error> {
        let with = self.with(from);
        self.chased.set(true);
        if kind == FrameKind::Heard {
            with.chasing.set(false);
            return Ok(());
        }
        let garbled = Cause::ProtocolViolation { from, what: "a deadlock probe that names no rank of the job" };
        let known = |chase: &Chase| chase.chain.iter().all(|(rank, _)| *rank < connections.size);
        let chase = Chase::read(bytes).filter(known).ok_or(garbled)?;
        if kind == FrameKind::Chase {
            with.chase.replace(Some(chase));
            with.unheard.set(true);
            // Answered by the next look, since this one still looks at a frame.
            connections.retry_later();
        } else if let Some((_, wait)) = chase.chain.iter().find(|(rank, _)| *rank == connections.here.rank) {
            self.deadlock.replace(Some((*wait, chase.chain.iter().map(|(rank, _)| *rank).collect())));
        }
        Ok(())
    }

    /// This rank has looked and waits on for `next`: judges the chases that have come, and sends them on.
    /// `is_behind`: a frame that could end a wait is still to be sent to that rank.
    ///
    /// # Errors
    /// [`Cause::Deadlock`] if one goes round.
    #[cold]
    pub(super) fn judge<F: Fabric>(
        &self,
        connections: &Connections<F>,
        (doing, next): (&'static str, Rank),
        is_behind: impl Fn(Rank) -> bool,
    ) -> Result<(), Error> {
        let fabric = &connections.fabric;
        if fabric.cpu().check(fabric.bell(), &WaitContext::new(doing, connections.here.rank).of(next)).is_err() {
            // The wait ends by itself, for a better reason.
            return Ok(());
        }
        self.chased.set(false);
        let told = self.deadlock.take().filter(|(wait, _)| *wait == self.wait.get()).map(|(_, ranks)| ranks);
        match told.or_else(|| (0..connections.size).find_map(|from| self.circle(connections, from, next, &is_behind))) {
            Some(ranks) => Err(Cause::Deadlock { ranks, doing }.into()),
            None => Ok(()),
        }
    }

    /// The ranks of a circle, if the chase of `from` has gone round.
    fn circle<F: Fabric>(
        &self,
        connections: &Connections<F>,
        from: Rank,
        next: Rank,
        is_behind: impl Fn(Rank) -> bool,
    ) -> Option<Vec<Rank>> {
        let with = self.with(from);
        let chase = with.chase.take()?;
        // A frame that could end that wait is on its way, or will be.
        if connections.link(from).counts().0 != chase.taken || is_behind(from) {
            reached("messenger:7");
            return None;
        }
        let here = (connections.here.rank, self.wait.get());
        if let Some(at) = chase.chain.iter().position(|entry| *entry == here) {
            return Some(announce(connections, &chase.chain[at..]));
        }
        let passed_by = chase.chain.iter().any(|(rank, _)| *rank == here.0);
        if !passed_by && self.with(next).chasing.get() {
            // The chase waits for the one before it: until that is heard, or for the next wait.
            with.chase.replace(Some(chase));
            self.deferred.set(true);
        } else if !passed_by && chase.chain.len() < Self::longest_chain(connections) {
            self.pass_on(connections, next, chase.chain);
        }
        None
    }
}

/// Tells all others of the circle. A rank that cannot be reached now hears that this rank has failed.
fn announce<F: Fabric>(connections: &Connections<F>, circle: &[(Rank, u32)]) -> Vec<Rank> {
    let bytes = Chase { taken: 0, chain: circle.to_vec() }.write();
    let ranks: Vec<Rank> = circle.iter().map(|(rank, _)| *rank).collect();
    let others = ranks.iter().filter(|&&rank| rank != connections.here.rank);
    others.for_each(|&rank| _ = connections.post_uncounted(rank, FrameKind::Deadlock, &bytes));
    ranks
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
