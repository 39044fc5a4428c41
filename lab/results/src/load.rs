//! What a team computes and what computes beside it, as results name them.
use serde::{Deserialize, Serialize};
use std::fmt;

/// How the computation of the members varies around the grain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkDistribution {
    /// From three quarters to five quarters of it.
    Uniform,
    /// Mostly shorter, sometimes many times longer.
    Exponential,
    /// Never near nothing, and as widely spread as the exponential: the deviation equals the mean.
    LogNormal,
    /// As uniform, but odd ranks have three times the work of even ones; over both the mean is the grain.
    Imbalanced,
    /// Always as long.
    Constant,
    /// Half of it, and in one draw of ten eleven times as long.
    Bimodal,
    /// Always as long, but three times as long for rank 1.
    SlowMember,
    /// Operations of a graph, each split evenly: the same draw for all members, from a quarter to almost
    /// three times the grain.
    Graph,
}

/// What a foreign program does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum BackgroundLoad {
    /// It computes without end.
    #[default]
    Hog,
    /// It computes for this number of milliseconds, and rests for as long.
    Bursts(u32),
    /// It has a thread a processor, which compute for 50 us and meet in a barrier that sleeps.
    Team,
    /// It computes for 20 us, 60 times a second: what threads of a kernel do.
    Wakes,
}

impl fmt::Display for BackgroundLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hog => f.write_str("hog"),
            Self::Bursts(ms) => write!(f, "bursts:{ms}"),
            Self::Team => f.write_str("team"),
            Self::Wakes => f.write_str("wakes"),
        }
    }
}

impl BackgroundLoad {
    /// Reads what is displayed.
    pub fn parse(text: &str) -> Option<Self> {
        match text.split_once(':') {
            Some(("bursts", ms)) => ms.parse().ok().filter(|&ms| ms > 0).map(Self::Bursts),
            None if text == "hog" => Some(Self::Hog),
            None if text == "team" => Some(Self::Team),
            None if text == "wakes" => Some(Self::Wakes),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_load_is_read_as_it_is_displayed() {
        for load in [BackgroundLoad::Hog, BackgroundLoad::Bursts(1), BackgroundLoad::Team, BackgroundLoad::Wakes] {
            assert_eq!(BackgroundLoad::parse(&load.to_string()), Some(load));
        }
        let wrong = ["", "hogs", "bursts", "bursts:0", "bursts:x", "team:2"];
        assert!(wrong.iter().all(|text| BackgroundLoad::parse(text).is_none()));
    }
}
