//! Where the members of a simulated team begin.
use foregather_machine::CpuId;

/// A team counts as stacked from this share of episodes on.
const STACKED: f64 = 0.5;

/// Where a team begins. A pinned one stays there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// A member to a processor, in turn, for good.
    Pinned,
    /// A member to a processor, in turn.
    Spread,
    /// All on one.
    Stacked,
}

impl Start {
    /// The one that a measured team looks like, by the share of episodes in which all were on one processor.
    pub fn fitting(pinned: bool, stacked: f64) -> Self {
        match (pinned, stacked >= STACKED) {
            (true, _) => Self::Pinned,
            (false, false) => Self::Spread,
            (false, true) => Self::Stacked,
        }
    }

    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pinned => "pinned",
            Self::Spread => "spread",
            Self::Stacked => "stacked",
        }
    }

    /// The members' pins and where they begin, on so many processors. A stacked team is on the last one: hogs fill them from the
    /// first on.
    pub(super) fn processors(self, cpus: u32) -> (Vec<CpuId>, Vec<CpuId>) {
        match self {
            Self::Pinned => ((0..cpus).collect(), vec![]),
            Self::Spread => (vec![], (0..cpus).collect()),
            Self::Stacked => (vec![], vec![cpus.max(1) - 1]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_all_episodes_on_one_processor_make_a_team_stacked() {
        let names = [(false, 0.0), (false, 0.49), (false, 0.5), (false, 1.0), (true, 1.0)]
            .map(|(pinned, stacked)| Start::fitting(pinned, stacked).name());
        assert_eq!(names, ["spread", "spread", "stacked", "stacked", "pinned"]);
    }

    #[test]
    fn only_a_pinned_team_has_pins() {
        assert_eq!(Start::Pinned.processors(2), (vec![0, 1], vec![]));
        assert_eq!(Start::Spread.processors(2), (vec![], vec![0, 1]));
        assert_eq!(Start::Stacked.processors(2), (vec![], vec![1]));
    }
}
