//! How many times as fast one thing is as another, and what that allows to conclude.
use super::TrustLevel;
use super::interval_of_mean;
use std::fmt;

/// The ratio of the times of two things that ran in pairs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speedup {
    /// The geometric mean of the pairs' ratios.
    pub ratio: f64,
    /// The lower end of the interval that holds it with 95 %.
    pub least: f64,
    /// Its upper end.
    pub most: f64,
    /// Pairs of runs.
    pub pairs: u64,
}

/// What a ratio allows to conclude.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conclusion {
    /// The whole interval lies above 1.
    Faster,
    /// The whole interval lies below 1.
    Slower,
    /// The interval holds 1.
    NoDifference,
    /// One pair has no interval.
    OnePair,
    /// Other programs had too much of the machine.
    Unusable,
}

impl Speedup {
    /// From the times before and after a change, pair by pair. `None` without a pair.
    pub fn of_pairs(pairs: impl IntoIterator<Item = (f64, f64)>) -> Option<Self> {
        let logs: Vec<f64> = pairs.into_iter().map(|(before, after)| (before / after).ln()).collect();
        let [ratio, least, most] = interval_of_mean(&logs).map(f64::exp);
        (!logs.is_empty()).then_some(Self { ratio, least, most, pairs: logs.len() as u64 })
    }

    /// What follows on a machine that was so quiet or noisy meanwhile.
    pub fn conclusion(&self, noise: TrustLevel) -> Conclusion {
        match self {
            _ if noise == TrustLevel::Unusable => Conclusion::Unusable,
            _ if self.pairs < 2 => Conclusion::OnePair,
            _ if self.least > 1.0 => Conclusion::Faster,
            _ if self.most < 1.0 => Conclusion::Slower,
            _ => Conclusion::NoDifference,
        }
    }
}

impl fmt::Display for Conclusion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::NoDifference => "no difference seen",
            Self::OnePair => "one pair is too few: not known",
            Self::Unusable => "the machine was unusable: not known",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conclusions_follow_from_the_interval_and_never_from_one_pair_or_an_unusable_machine() {
        let of = |pairs: &[(f64, f64)], noise| Speedup::of_pairs(pairs.iter().copied()).unwrap().conclusion(noise);
        let twice = [(20.0, 10.0), (42.0, 20.0), (39.0, 20.0)];
        let half = twice.map(|(before, after)| (after, before));
        assert_eq!(of(&twice, TrustLevel::Quiet), Conclusion::Faster);
        assert_eq!(of(&twice, TrustLevel::Noisy), Conclusion::Faster);
        assert_eq!(of(&half, TrustLevel::Quiet), Conclusion::Slower);
        assert_eq!(of(&[(20.0, 10.0), (10.0, 20.0)], TrustLevel::Quiet), Conclusion::NoDifference);
        assert_eq!(of(&twice[..1], TrustLevel::Quiet), Conclusion::OnePair);
        assert_eq!(of(&twice, TrustLevel::Unusable), Conclusion::Unusable);
        assert_eq!(of(&twice[..1], TrustLevel::Unusable), Conclusion::Unusable);
        assert_eq!(Speedup::of_pairs([]), None);
    }
}
