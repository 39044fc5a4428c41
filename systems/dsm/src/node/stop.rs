//! How shared memory ends badly: whoever fails tells its server, that one tells all other servers and its own threads, and so nobody
//! waits for what will never come.
//!
//! A word to stop needs no credit: each lane sends it to another at most once, and there is room for frames without credits.
use super::links::Links;
use super::state::{Node, PageStore};
use super::transfer::Frame;
use crate::protocol::{SERVER, server_of};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};
use foregather_machine::{Address, Cause, Error, Fabric, Nanos, Rank};

/// Who made it end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StoppedBy {
    rank: Rank,
    /// By being lost, and not by giving it up.
    lost: bool,
}

impl StoppedBy {
    /// Whom that error blames; `here`, if nobody else.
    pub(super) fn of(error: &Error, here: Rank) -> Self {
        match *error.cause() {
            Cause::PeerLost { rank, .. } => Self { rank, lost: true },
            Cause::Poisoned { by: Some(rank) } | Cause::PoisonedLock { by: rank } | Cause::Closed { peer: Some(rank) } => {
                Self { rank, lost: false }
            }
            _ => Self { rank: here, lost: false },
        }
    }

    /// What that means for everybody else.
    pub(super) fn error(self, since: Nanos) -> Error {
        let Self { rank, lost } = self;
        if lost {
            Cause::PeerLost { rank, since, doing: "sharing memory" }.into()
        } else {
            Cause::Poisoned { by: Some(rank) }.into()
        }
    }

    fn bits(self) -> u32 {
        self.rank << 1 | u32::from(self.lost)
    }

    fn from_bits(bits: u32) -> Self {
        Self { rank: bits >> 1, lost: bits & 1 == 1 }
    }

    /// As it travels.
    pub(super) fn pack(self) -> [u8; 4] {
        self.bits().to_le_bytes()
    }

    /// What `from` says; who says nonsense is to blame itself.
    pub(super) fn unpack(from: Rank, bytes: &[u8], ranks: u32) -> Self {
        let said = bytes.first_chunk().map(|bytes| Self::from_bits(u32::from_le_bytes(*bytes)));
        said.filter(|said| said.rank < ranks).unwrap_or(Self { rank: from, lost: false })
    }
}

/// What a rank's threads and server know of its end.
#[derive(Debug, Default)]
pub(super) struct Stopped {
    /// One more than the blame's bits; 0 while all is well.
    blame: AtomicU32,
    since: AtomicU64,
    /// The last lane of a thread that asks.
    lanes: AtomicU32,
}

impl Stopped {
    /// That lane is to be told.
    pub(super) fn enroll(&self, lane: u32) {
        self.lanes.fetch_max(lane, AcqRel);
    }

    /// The first reason counts: later ones follow from it. `true`: this is the first.
    pub(super) fn mark(&self, blame: StoppedBy, now: Nanos) -> bool {
        let first = self.since.compare_exchange(0, now.0.max(1), AcqRel, Acquire).is_ok();
        if first {
            self.blame.store(blame.bits() + 1, Release);
        }
        first
    }

    /// Who is to blame, if it has ended.
    pub(super) fn blame(&self) -> Option<StoppedBy> {
        self.blame.load(Acquire).checked_sub(1).map(StoppedBy::from_bits)
    }

    /// # Errors
    /// If it has ended.
    pub(super) fn check(&self) -> Result<(), Error> {
        self.blame().map_or(Ok(()), |blame| Err(blame.error(Nanos(self.since.load(Acquire)))))
    }
}

/// A server ends badly: nobody is to wait for it, or for its rank's threads. Why it has ended: by the first reason that its rank knew.
pub(super) fn announce<F: Fabric, P: PageStore>(lane: &F, links: &mut Links, node: &Node<F::Cpu, P>, error: Error) -> Error {
    let here = lane.here();
    let first = node.stop(lane.cpu(), lane.now(), &error, here.rank);
    let blame = node.stopped().blame().unwrap_or(StoppedBy::of(&error, here.rank));
    let others = (0..lane.size()).filter(|&rank| rank != here.rank).map(server_of);
    let threads = (1..=node.stopped().lanes.load(Acquire)).map(|lane| Address { lane, ..here });
    for to in others.chain(threads) {
        tell(lane, links, to, blame);
    }
    if first { error } else { node.check().err().unwrap_or(error) }
}

/// A rank gives up before its server runs: says so to all other servers, on the server's lane.
pub fn give_up<F: Fabric>(lane: &F) {
    let (here, mut links) = (lane.here(), Links::new(lane));
    debug_assert_eq!(here.lane, SERVER);
    let blame = StoppedBy { rank: here.rank, lost: false };
    for rank in (0..lane.size()).filter(|&rank| rank != here.rank) {
        tell(lane, &mut links, server_of(rank), blame);
    }
}

/// Whoever is lost need not be told.
pub(super) fn tell<F: Fabric>(lane: &F, links: &mut Links, to: Address, blame: StoppedBy) {
    let bytes = blame.pack();
    let posted = links.post(lane, to, Frame::Stop, bytes.len(), |into| into.copy_from_slice(&bytes));
    debug_assert!(!matches!(posted, Ok(false)), "there is room for a word to stop");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blame_is_what_was_said_unless_nobody_can_have_said_it() {
        for (rank, lost) in [(0, false), (3, true), (63, false)] {
            let blame = StoppedBy { rank, lost };
            assert_eq!(StoppedBy::unpack(1, &blame.pack(), 64), blame);
            assert_eq!(StoppedBy::of(&blame.error(Nanos(7)), 5), blame);
        }
        let sender = StoppedBy { rank: 1, lost: false };
        for nonsense in [&[][..], &[0; 3], &[128, 0, 0, 0], &[255; 4]] {
            assert_eq!(StoppedBy::unpack(1, nonsense, 64), sender, "{nonsense:?}");
        }
    }

    #[test]
    fn only_the_first_reason_counts() {
        let stopped = Stopped::default();
        assert!(stopped.check().is_ok());
        assert!(stopped.mark(StoppedBy { rank: 2, lost: true }, Nanos(9)));
        assert!(!stopped.mark(StoppedBy { rank: 1, lost: false }, Nanos(10)));
        let error = stopped.check().unwrap_err();
        assert!(matches!(error.cause(), Cause::PeerLost { rank: 2, since: Nanos(9), .. }), "{error:?}");
    }
}
