//! How shared memory fails: a thread that fails informs its server, which informs all other servers and its
//! own threads, so that no thread waits for a message that will never arrive.
//!
//! A stop frame needs no credit: each lane sends it to another at most once, and there is room for frames
//! without credits.
use core::ops::RangeInclusive;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};
use foregather_machine::{Error, Nanos};
use foregather_message::link::Lost;

/// The name of the operation in error messages.
pub(super) const SHARING: &str = "sharing memory";

/// What a rank's threads and server know about its failure.
#[derive(Debug, Default)]
pub(super) struct Stopped {
    /// The cause's bits plus one; 0 if nothing has failed.
    blame: AtomicU32,
    since: AtomicU64,
    /// The highest lane of a thread that sends requests.
    lanes: AtomicU32,
}

impl Stopped {
    /// Adds a lane that must be informed of a failure.
    pub(super) fn enroll(&self, lane: u32) {
        self.lanes.fetch_max(lane, AcqRel);
    }

    /// Records the failure. Only the first one counts, because later ones follow from it. Returns whether
    /// this is the first.
    pub(super) fn mark(&self, blame: Lost, now: Nanos) -> bool {
        let first = self.since.compare_exchange(0, now.0.max(1), AcqRel, Acquire).is_ok();
        if first {
            self.blame.store(blame.bits() + 1, Release);
        }
        first
    }

    /// Returns the lanes to inform: those of the threads that send requests.
    pub(super) fn enrolled(&self) -> RangeInclusive<u32> {
        1..=self.lanes.load(Acquire)
    }

    /// Returns the cause, if it has failed.
    pub(super) fn blame(&self) -> Option<Lost> {
        self.blame.load(Acquire).checked_sub(1).map(Lost::from_bits)
    }

    /// # Errors
    /// If it has failed.
    pub(super) fn check(&self) -> Result<(), Error> {
        self.blame().map_or(Ok(()), |blame| Err(blame.error(Nanos(self.since.load(Acquire)), SHARING)))
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
