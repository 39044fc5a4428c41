//! All waits of one member: always on, single writer, readable while it runs.
use crate::{Histogram, Outcome, Waited};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use foregather_machine::Nanos;

/// One waiting episode in so many is timed even if it was over in a blink.
const SAMPLE: u64 = 64;

/// A counter with one writer: an ordinary add, no locked instruction.
#[derive(Default)]
struct Counter(AtomicU64);

impl Counter {
    #[inline]
    fn add(&self, n: u64) {
        self.0.store(self.0.load(Relaxed).wrapping_add(n), Relaxed);
    }
    fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// What a member's waits came to. Owned by the member; everybody may take a [`Snapshot`].
#[derive(Default)]
pub struct Account {
    outcomes: [Counter; 4],
    last: Counter,
    failed: Counter,
    spins_began: Counter,
    spins_succeeded: Counter,
    waited_ns: Counter,
    spun_ns: Counter,
    yields: Counter,
    worst_ns: AtomicU64,
    timed: Histogram,
}

impl Account {
    /// Shall the coming wait be timed even if it is short?
    #[inline]
    pub fn sample(&self) -> bool {
        self.outcomes[1].get().is_multiple_of(SAMPLE)
    }

    /// The member was the last to arrive and waited for nobody: not a wait.
    #[inline]
    pub fn last(&self) {
        self.last.add(1);
    }

    /// The wait ended in an error.
    pub fn failed(&self) {
        self.failed.add(1);
    }

    /// One wait that ended well.
    #[inline]
    pub fn waited(&self, waited: Waited) {
        self.outcomes[waited.outcome as usize].add(1);
        if waited.began_spinning {
            self.spins_began.add(1);
            self.spins_succeeded.add(u64::from(waited.outcome <= Outcome::Spun));
        }
        if waited.waited > Nanos::ZERO {
            self.timed(waited);
        }
    }

    fn timed(&self, waited: Waited) {
        self.waited_ns.add(waited.waited.0);
        self.spun_ns.add(waited.spun.0);
        self.yields.add(u64::from(waited.yields));
        self.worst_ns.store(self.worst_ns.load(Relaxed).max(waited.waited.0), Relaxed);
        self.timed.record(waited.waited);
    }

    /// The durations of the timed waits: all that took longer than a blink, and a sample of the others.
    pub fn durations(&self) -> &Histogram {
        &self.timed
    }

    /// The figures so far.
    pub fn snapshot(&self) -> Snapshot {
        let [first_look, spun, yielded, parked] = [0, 1, 2, 3].map(|i: usize| self.outcomes[i].get());
        Snapshot {
            last: self.last.get(),
            first_look,
            spun,
            yielded,
            parked,
            failed: self.failed.get(),
            spins_began: self.spins_began.get(),
            spins_succeeded: self.spins_succeeded.get(),
            waited: Nanos(self.waited_ns.get()),
            spun_time: Nanos(self.spun_ns.get()),
            yields: self.yields.get(),
            worst: Nanos(self.worst_ns.load(Relaxed)),
        }
    }
}

/// The waits of one member, or of several added up, at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Episodes in which the member came last and waited for nobody.
    pub last: u64,
    /// Waits whose event had come already.
    pub first_look: u64,
    /// Waits that ended while spinning.
    pub spun: u64,
    /// Waits that ended after yielding.
    pub yielded: u64,
    /// Waits that ended after parking.
    pub parked: u64,
    /// Waits that ended in an error.
    pub failed: u64,
    /// Waits that began by spinning.
    pub spins_began: u64,
    /// Those of them that ended without yielding or parking.
    pub spins_succeeded: u64,
    /// Time of all timed waits.
    pub waited: Nanos,
    /// Processor time of all timed waits spent spinning.
    pub spun_time: Nanos,
    /// How often the processor was offered.
    pub yields: u64,
    /// The longest wait.
    pub worst: Nanos,
}

impl Snapshot {
    /// The successful-spin rate of Tsafrir & Feitelson 2002 §2.3: of the waits that began by spinning, the share that
    /// ended while spinning. The last to arrive does not wait and is not counted. `None` if nobody ever spun.
    pub fn successful_spin_rate(&self) -> Option<f64> {
        (self.spins_began > 0).then(|| self.spins_succeeded as f64 / self.spins_began as f64)
    }

    /// Two members' waits together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            last: self.last + other.last,
            first_look: self.first_look + other.first_look,
            spun: self.spun + other.spun,
            yielded: self.yielded + other.yielded,
            parked: self.parked + other.parked,
            failed: self.failed + other.failed,
            spins_began: self.spins_began + other.spins_began,
            spins_succeeded: self.spins_succeeded + other.spins_succeeded,
            waited: self.waited + other.waited,
            spun_time: self.spun_time + other.spun_time,
            yields: self.yields + other.yields,
            worst: self.worst.max(other.worst),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(outcome: Outcome, began_spinning: bool, us: u64) -> Waited {
        Waited { outcome, began_spinning, waited: Nanos::from_us(us), spun: Nanos::from_us(us), yields: 0 }
    }

    #[test]
    fn the_successful_spin_rate_counts_spinners_only_and_never_the_last() {
        let account = Account::default();
        assert_eq!(account.snapshot().successful_spin_rate(), None);
        account.last();
        account.waited(wait(Outcome::Parked, false, 5));
        assert_eq!(account.snapshot().successful_spin_rate(), None, "neither began by spinning");
        account.waited(wait(Outcome::FirstLook, true, 0));
        account.waited(wait(Outcome::Spun, true, 3));
        account.waited(wait(Outcome::Yielded, true, 9));
        account.waited(wait(Outcome::Parked, true, 20));
        let all = account.snapshot();
        assert_eq!(all.successful_spin_rate(), Some(0.5));
        assert_eq!((all.last, all.first_look, all.spun, all.yielded, all.parked), (1, 1, 1, 1, 2));
        assert_eq!((all.waited, all.worst), (Nanos::from_us(37), Nanos::from_us(20)));
        assert_eq!(account.durations().count(), 4, "the first look took no time");
        assert_eq!(all.plus(all).successful_spin_rate(), Some(0.5));
    }
}
