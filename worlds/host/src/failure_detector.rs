//! A process's knowledge of its job while its threads wait: whether a rank was lost, and which waits go on
//! for what since when.
//!
//! One thread of the process (its heartbeat thread, `foregather_launch`) finds out and writes it down; every
//! check of a wait reads it. It also lets the heartbeat thread report waits that last long, since a silent
//! hang is the worst of errors.
use crate::clock;
use crate::watched::waits::{self, WaitScope};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use foregather_machine::{Error, Nanos, Rank, WaitContext};
use std::sync::Mutex;

/// No rank was lost.
const NOBODY: u64 = 0;

/// Shared by the waits of a process and its heartbeat thread.
#[derive(Debug, Default)]
pub struct FailureDetector {
    /// One more than the rank that was lost first.
    lost: AtomicU64,
    since: AtomicU64,
    /// The program knows of the loss: a wait failed because of it, or a line was printed.
    told: AtomicBool,
    /// The waits that were checked last, one for each thread: small, and touched once a millisecond at most.
    waits: Mutex<Vec<(std::thread::ThreadId, Wait)>>,
}

/// A wait that was going on when it was last looked at.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    /// The rank that waits, for what, and since when.
    pub why: WaitContext,
    /// When it was last seen waiting.
    pub seen: Nanos,
}

impl FailureDetector {
    /// Makes every wait fail from now on: the process of `rank` is gone. Only the first loss counts, since
    /// the others may follow from it.
    pub fn declare_lost(&self, rank: Rank) {
        let since = clock::now().0.max(1);
        if self.since.compare_exchange(0, since, AcqRel, Acquire).is_ok() {
            self.lost.store(u64::from(rank) + 1, Release);
        }
    }

    /// The rank that was lost.
    pub fn lost(&self) -> Option<Rank> {
        match self.lost.load(Acquire) {
            NOBODY => None,
            lost => Some((lost - 1) as Rank),
        }
    }

    /// Checks whether a wait can still succeed, and records that it continues.
    ///
    /// # Errors
    /// [`Cause::PeerLost`](foregather_machine::Cause::PeerLost) if a rank was lost.
    pub fn check(&self, why: &WaitContext) -> Result<(), Error> {
        if let Some(rank) = self.lost() {
            self.told.store(true, Release);
            return Err(Error::peer_lost(rank, Nanos(self.since.load(Acquire)), why));
        }
        // Short waits are not recorded, and no thread waits here for a heartbeat thread that is reading.
        let now = clock::now();
        if why.since > Nanos::ZERO
            && now - why.since > Nanos::from_ms(100)
            && let Ok(mut waits) = self.waits.try_lock()
        {
            let (id, wait) = (std::thread::current().id(), Wait { why: *why, seen: now });
            match waits.iter_mut().find(|(of, _)| *of == id) {
                Some((_, noted)) => *noted = wait,
                None => waits.push((id, wait)),
            }
            let peer = why.peer.map(|peer| (peer, None));
            waits::note(WaitScope::Job, why.what, Some(why.rank), now - why.since, peer.as_slice());
        }
        Ok(())
    }

    /// The rank that was lost at least `long` ago, if the program does not know yet. This call tells it: the
    /// answer comes once.
    pub fn untold_loss(&self, long: Nanos) -> Option<Rank> {
        let rank = self.lost().filter(|_| clock::now() - Nanos(self.since.load(Acquire)) >= long)?;
        (!self.told.swap(true, AcqRel)).then_some(rank)
    }

    /// The present waits that have lasted for at least `long`. Entries of threads that no longer wait are
    /// dropped.
    pub fn long_waits(&self, long: Nanos) -> Vec<Wait> {
        let now = clock::now();
        let Ok(mut waits) = self.waits.lock() else { return Vec::new() };
        waits.retain(|(_, wait)| now - wait.seen < Nanos::from_ms(500));
        waits.iter().map(|(_, wait)| *wait).filter(|wait| now - wait.why.since >= long).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_loss_fails_every_wait_and_says_what_it_was() {
        let vigil = FailureDetector::default();
        let why = WaitContext::new("message", 0).of(1);
        assert_eq!(vigil.check(&why), Ok(()));
        vigil.declare_lost(3);
        vigil.declare_lost(4);
        let error = vigil.check(&why).unwrap_err();
        assert_eq!(error.lost_rank(), Some(3));
        assert!(error.to_string().contains("message"), "{error}");
    }

    #[test]
    fn a_loss_that_no_wait_has_reported_is_told_once() {
        let vigil = FailureDetector::default();
        assert_eq!(vigil.untold_loss(Nanos::ZERO), None);
        vigil.declare_lost(3);
        assert_eq!(vigil.untold_loss(Nanos::from_ms(60_000)), None, "a wait may still report it");
        assert_eq!(vigil.untold_loss(Nanos::ZERO), Some(3));
        assert_eq!(vigil.untold_loss(Nanos::ZERO), None);
        let reported = FailureDetector::default();
        reported.declare_lost(3);
        assert!(reported.check(&WaitContext::new("message", 0)).is_err());
        assert_eq!(reported.untold_loss(Nanos::ZERO), None);
    }

    #[test]
    fn only_long_waits_are_told() {
        let vigil = FailureDetector::default();
        let now = clock::now();
        assert!(vigil.check(&WaitContext::new("short", 0).since(now)).is_ok());
        assert!(vigil.check(&WaitContext::new("long", 0).since(Nanos(1))).is_ok());
        let told: Vec<_> = vigil.long_waits(Nanos::from_ms(100)).iter().map(|wait| wait.why.what).collect();
        assert_eq!(told, ["long"]);
        assert!(vigil.long_waits(Nanos::MAX).is_empty());
    }
}
