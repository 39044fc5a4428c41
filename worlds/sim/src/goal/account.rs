//! Where each rank's time goes, and which rank holds up which.
use foregather_machine::{Nanos, Rank};

/// A rank waited for another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankWait {
    /// The rank that it waited for.
    pub peer: Rank,
    /// When the wait began.
    pub from: Nanos,
    /// How long it took until the other rank acted: the time on the network is not in it.
    pub length: Nanos,
}

/// Where a rank's time goes. Times of several processors add up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RankAccount {
    /// When its last processor has done its work.
    pub end: Nanos,
    /// Calculations.
    pub computing: Nanos,
    /// Overheads of messages, and bytes that pass a processor.
    pub overhead: Nanos,
    /// What the system took: [`GoalNoise`](super::GoalNoise).
    pub noise: Nanos,
    /// A processor waited for a rank that had not acted yet.
    pub late_peers: Nanos,
    /// A processor waited for the network.
    pub network: Nanos,
    /// How long other ranks waited for this one: parts of their `late_peers`.
    pub held_up: Nanos,
    /// The longest wait for another rank.
    pub longest: Option<RankWait>,
}

impl RankAccount {
    /// A processor was idle between two moments, at first because `peer` had not acted until `acted`.
    /// Returns how long that was.
    pub(super) fn waited(&mut self, from: u64, to: u64, peer: Rank, acted: u64) -> Nanos {
        let gap = to.saturating_sub(from);
        let late = gap.min(acted.saturating_sub(from));
        let length = Nanos(late);
        self.late_peers += length;
        self.network += Nanos(gap - late);
        if late > 0 && self.longest.is_none_or(|longest| longest.length < length) {
            self.longest = Some(RankWait { peer, from: Nanos(from), length });
        }
        length
    }
}
