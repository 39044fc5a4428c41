//! What a simulated trace gives.
use super::account::RankAccount;
use foregather_machine::{Nanos, Rank};

/// All that a simulation found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GoalOutcome {
    /// Each rank's account.
    pub ranks: Vec<RankAccount>,
    /// How many operations ran.
    pub operations: u64,
    /// How many messages were sent.
    pub messages: u64,
    /// Messages that no rank received.
    pub unreceived: u64,
    /// How many events there were.
    pub events: u64,
}

impl GoalOutcome {
    /// The last rank to end, the first of several, and when it ends.
    pub fn last(&self) -> (Rank, Nanos) {
        let ends = self.ranks.iter().zip(0..).map(|(rank, number)| (rank.end, std::cmp::Reverse(number)));
        ends.max().map_or((0, Nanos::ZERO), |(end, number)| (number.0, end))
    }
}
