//! How shared memory ends badly: a thread that fails tells its server, which tells all other servers and its
//! own threads, so that no thread waits for a message that will never come.
//!
//! A stop frame needs no credit: each lane sends it to another at most once, and there is room for frames
//! without credits.
use super::links::{Links, SHARING};
use super::state::{Node, PageStore};
use crate::protocol::{SERVER, server_of};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};
use foregather_machine::{Address, Error, Fabric, Nanos};
use foregather_message::link::Lost;

/// What a rank's threads and server know of its end.
#[derive(Debug, Default)]
pub(super) struct Stopped {
    /// One more than the blame's bits; 0 while all is well.
    blame: AtomicU32,
    since: AtomicU64,
    /// The highest lane of a thread that asks.
    lanes: AtomicU32,
}

impl Stopped {
    /// Adds a lane that is to be told.
    pub(super) fn enroll(&self, lane: u32) {
        self.lanes.fetch_max(lane, AcqRel);
    }

    /// Marks the end. Only the first reason counts, since later ones follow from it. Returns `true` if this
    /// is the first.
    pub(super) fn mark(&self, blame: Lost, now: Nanos) -> bool {
        let first = self.since.compare_exchange(0, now.0.max(1), AcqRel, Acquire).is_ok();
        if first {
            self.blame.store(blame.bits() + 1, Release);
        }
        first
    }

    /// The culprit, if it has ended.
    pub(super) fn blame(&self) -> Option<Lost> {
        self.blame.load(Acquire).checked_sub(1).map(Lost::from_bits)
    }

    /// # Errors
    /// If it has ended.
    pub(super) fn check(&self) -> Result<(), Error> {
        self.blame().map_or(Ok(()), |blame| Err(blame.error(Nanos(self.since.load(Acquire)), SHARING)))
    }
}

/// A server ends badly: tells all lanes, so that none waits for it or for its rank's threads. Returns the
/// first reason that its rank knew.
pub(super) fn announce<F: Fabric, P: PageStore>(lane: &F, links: &Links, node: &Node<F::Cpu, P>, error: Error) -> Error {
    let here = lane.here();
    let first = node.stop(lane.cpu(), lane.now(), &error, here.rank);
    let blame = node.stopped().blame().unwrap_or(Lost::of(&error).unwrap_or(Lost::on(here.rank)));
    let others = (0..lane.size()).filter(|&rank| rank != here.rank).map(server_of);
    let threads = (1..=node.stopped().lanes.load(Acquire)).map(|lane| Address { lane, ..here });
    for to in others.chain(threads) {
        links.tell(lane, to, blame);
    }
    if first { error } else { node.check().err().unwrap_or(error) }
}

/// A rank gives up before its server runs: tells all other servers, on the server's lane.
pub fn give_up<F: Fabric>(lane: &F) {
    let (here, links) = (lane.here(), Links::new(lane));
    debug_assert_eq!(here.lane, SERVER);
    let blame = Lost::on(here.rank);
    for rank in (0..lane.size()).filter(|&rank| rank != here.rank) {
        links.tell(lane, server_of(rank), blame);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foregather_machine::Cause;

    #[test]
    fn only_the_first_reason_counts() {
        let stopped = Stopped::default();
        assert!(stopped.check().is_ok());
        assert!(stopped.mark(Lost { rank: 2, lost: true }, Nanos(9)));
        assert!(!stopped.mark(Lost { rank: 1, lost: false }, Nanos(10)));
        let error = stopped.check().unwrap_err();
        assert!(matches!(error.cause(), Cause::PeerLost { rank: 2, since: Nanos(9), .. }), "{error:?}");
    }
}
