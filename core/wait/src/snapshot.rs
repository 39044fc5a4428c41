//! A snapshot of the outcomes of waits, for one member or for several.
use crate::strategy::RULES_MAX;
use core::fmt;
use foregather_machine::{Nanos, Rank};

/// The outcomes of the waits of one member, or the sum over several members, at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Episodes in which the member arrived last and did not wait.
    pub last: u64,
    /// Waits whose event had already occurred.
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
    /// Waits that began by spinning and ended without yielding or parking.
    pub spins_succeeded: u64,
    /// Total duration of all timed waits.
    pub waited: Nanos,
    /// CPU time that all timed waits spent spinning.
    pub spun_time: Nanos,
    /// Number of yields.
    pub yields: u64,
    /// The longest wait.
    pub worst: Nanos,
    /// One of the members that the longest wait was for, if the policy recorded one.
    pub worst_awaited: Option<Rank>,
    /// The names of the strategy's rules ([`Strategy::rules`](crate::Strategy::rules)).
    pub rule_names: &'static [&'static str],
    /// How often each rule was followed.
    pub rules: [u64; RULES_MAX],
    /// Number of moves of the member to another processor.
    pub moves: u64,
    /// Number of moves that the system refused.
    pub moves_refused: u64,
    /// Number of times that the member fetched another member to its processor.
    pub pulls: u64,
    /// Number of idle-class probe threads (scouts) sent, or requested without success.
    pub scouts: u64,
    /// Number of scouts that came back.
    pub scouts_back: u64,
}

impl Snapshot {
    /// Returns the successful-spin rate of Tsafrir & Feitelson 2002 §2.3: the share of waits that began by
    /// spinning and ended while spinning. The last member to arrive does not wait and is not counted. Returns
    /// `None` if no wait began by spinning.
    pub fn successful_spin_rate(&self) -> Option<f64> {
        (self.spins_began > 0).then(|| self.spins_succeeded as f64 / self.spins_began as f64)
    }

    /// Returns how often each rule of the strategy was followed. The iterator is empty for a strategy without
    /// rules.
    pub fn by_rule(&self) -> impl Iterator<Item = (&'static str, u64)> + use<> {
        self.rule_names.iter().copied().zip(self.rules)
    }

    /// Returns the sum of this snapshot and another one; its longest wait is the longer of the two.
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
            worst_awaited: if other.worst > self.worst { other.worst_awaited } else { self.worst_awaited },
            rule_names: if self.rule_names.is_empty() { other.rule_names } else { self.rule_names },
            rules: core::array::from_fn(|rule| self.rules[rule] + other.rules[rule]),
            moves: self.moves + other.moves,
            moves_refused: self.moves_refused + other.moves_refused,
            pulls: self.pulls + other.pulls,
            scouts: self.scouts + other.scouts,
            scouts_back: self.scouts_back + other.scouts_back,
        }
    }
}

/// Formats the snapshot for reports: how the waits ended, which rules were followed, and the longest wait.
impl fmt::Display for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outcomes = [("last", self.last), ("at once", self.first_look), ("spun", self.spun), ("yielded", self.yielded)];
        let all = outcomes.into_iter().chain([("slept", self.parked), ("failed", self.failed)]);
        let rules = self.by_rule();
        let acts = [("moves", self.moves), ("refused", self.moves_refused), ("pulls", self.pulls)];
        let acts = acts.into_iter().chain([("scouts", self.scouts), ("back", self.scouts_back)]);
        let shown = |counts: &mut dyn Iterator<Item = (&str, u64)>| {
            counts.filter(|(_, n)| *n > 0).map(|(name, n)| format!("{name} {n}")).collect::<Vec<_>>().join(", ")
        };
        let (all, rules, acts) = (shown(&mut all.into_iter()), shown(&mut rules.into_iter()), shown(&mut acts.into_iter()));
        write!(f, "waits: {all}")?;
        if let Some(rate) = self.successful_spin_rate() {
            write!(f, "; spins that succeeded: {:.1} %", rate * 100.0)?;
        }
        for (what, text) in [("rules", rules), ("acts", acts)] {
            if !text.is_empty() {
                write!(f, "; {what}: {text}")?;
            }
        }
        write!(f, "; waited {}, {} of it spinning; longest {}", self.waited, self.spun_time, self.worst)?;
        self.worst_awaited.map_or(Ok(()), |rank| write!(f, ", for rank {rank}"))
    }
}
