//! Statistics of one member's waits. They are always recorded, have a single writer, and can be read while
//! the member runs.
use crate::strategy::RULES_MAX;
use crate::{Histogram, Outcome, Snapshot, Waited};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use foregather_machine::{Nanos, Rank};

/// One in this many waits that end in a spin is timed even if it is short.
const SAMPLE: u64 = 64;

/// A counter with one writer. Adding to it takes no locked instruction.
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

/// The outcomes of a member's waits. Only the member records; any thread may take a [`Snapshot`].
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
    /// One more than the rank that the longest wait was for; 0 if it is not known.
    worst_of: Counter,
    timed: Histogram,
    /// The names of the strategy's rules, and how often each was followed.
    rule_names: &'static [&'static str],
    rules: [Counter; RULES_MAX],
    moves: Counter,
    refused: Counter,
    pulls: Counter,
    scouts: Counter,
    scouts_back: Counter,
}

impl Account {
    /// Creates the account of a strategy with these rules.
    pub(crate) fn of(rule_names: &'static [&'static str]) -> Self {
        Self { rule_names, ..Self::default() }
    }

    /// Returns whether the next wait should be timed even if it is short.
    #[inline]
    pub fn sample(&self) -> bool {
        self.outcomes[1].get().is_multiple_of(SAMPLE)
    }

    /// Counts an episode in which the member arrived last. This is not a wait.
    #[inline]
    pub fn last(&self) {
        self.last.add(1);
    }

    /// Counts a wait that ended with an error.
    pub fn failed(&self) {
        self.failed.add(1);
    }

    /// Counts a successful wait.
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

    /// Counts a decision by this rule of the strategy.
    pub(crate) fn followed(&self, rule: usize) {
        self.rules[rule].add(1);
    }

    /// Counts an attempt to move to another processor, as successful if `so`.
    pub(crate) fn moved(&self, so: bool) {
        if so { &self.moves } else { &self.refused }.add(1);
    }

    /// Counts an attempt to fetch another member, if it was successful (`so`).
    pub(crate) fn pulled(&self, so: bool) {
        self.pulls.add(u64::from(so));
    }

    /// Counts a scout as back if `back`; otherwise as sent, still away, or not available.
    pub(crate) fn scouted(&self, back: bool) {
        if back { &self.scouts_back } else { &self.scouts }.add(1);
    }

    /// Records `whom` as an awaited member of the longest wait, if a wait of `span` is the longest so far.
    pub(crate) fn awaited(&self, whom: Option<Rank>, span: Nanos) {
        if let Some(whom) = whom
            && span.0 > self.worst_ns.load(Relaxed)
        {
            self.worst_of.0.store(u64::from(whom) + 1, Relaxed);
        }
    }

    /// Returns the number of successful waits, including episodes in which the member arrived last.
    pub(crate) fn waits(&self) -> u64 {
        self.outcomes.iter().map(Counter::get).sum::<u64>() + self.last.get()
    }

    /// Returns the durations of the timed waits: all waits longer than a brief spin, and a sample of the
    /// others.
    pub fn durations(&self) -> &Histogram {
        &self.timed
    }

    /// Returns the current counts.
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
            worst_awaited: self.worst_of.get().checked_sub(1).map(|rank| rank as Rank),
            rule_names: self.rule_names,
            rules: std::array::from_fn(|rule| self.rules[rule].get()),
            moves: self.moves.get(),
            moves_refused: self.refused.get(),
            pulls: self.pulls.get(),
            scouts: self.scouts.get(),
            scouts_back: self.scouts_back.get(),
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
