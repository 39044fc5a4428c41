//! How late the nodes come to a trial.
use foregather_machine::{Nanos, Rank, SplitMix};

/// A law of entry times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skew {
    /// No node is held up: the rest of one trial is the skew of the next.
    Carried,
    /// The last node, by this much, every time.
    Last(Nanos),
    /// One node, another one each time.
    One(Nanos),
    /// Each by a random time evenly below that.
    Uniform(Nanos),
    /// Each by a random exponential time with that mean.
    Exponential(Nanos),
}

impl Skew {
    /// By how much `rank` of `size` comes late to trial number `trial`.
    pub fn of(self, rank: Rank, size: u32, trial: u32, seed: u64) -> Nanos {
        let whose = |n: u64| SplitMix::mix(seed ^ SplitMix::mix(n.wrapping_add(0x9e37_79b9_7f4a_7c15)));
        let mut own = SplitMix(whose(u64::from(trial) << 32 | u64::from(rank)));
        match self {
            Self::Carried => Nanos::ZERO,
            Self::Last(by) if rank + 1 == size => by,
            Self::One(by) if whose(u64::from(trial)) % u64::from(size) == u64::from(rank) => by,
            Self::Last(_) | Self::One(_) => Nanos::ZERO,
            Self::Uniform(below) => Nanos(own.below(below.0.max(1))),
            Self::Exponential(mean) => Nanos((-own.unit().ln() * mean.0 as f64) as u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_node_is_late_in_each_trial_and_not_always_the_same() {
        let late =
            |trial| -> Vec<u32> { (0..16).filter(|&rank| Skew::One(Nanos(7)).of(rank, 16, trial, 3) > Nanos::ZERO).collect() };
        assert!((0..50).all(|trial| late(trial).len() == 1));
        assert!((0..50).any(|trial| late(trial) != late(0)));
    }

    #[test]
    fn laws_have_the_means_they_say() {
        let mean = |skew: Skew| (0..4_000).map(|rank| skew.of(rank, 4_000, 1, 9).0 as f64).sum::<f64>() / 4_000.0;
        assert!((mean(Skew::Uniform(Nanos(1_000))) - 500.0).abs() < 20.0);
        assert!((mean(Skew::Exponential(Nanos(1_000))) - 1_000.0).abs() < 60.0);
    }
}
