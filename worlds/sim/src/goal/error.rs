//! What is wrong with a trace, and where.
use foregather_machine::Rank;
use std::fmt;

/// The place of a mistake in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GoalPlace {
    /// The whole file.
    File,
    /// A line of the text, counted from 1.
    Line(u64),
    /// A rank.
    Rank(Rank),
    /// An operation of a rank, counted from 0 in the order of the file.
    Operation(Rank, u32),
}

/// A trace cannot be read or simulated: the place, and one sentence with the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoalError {
    /// Where the mistake is.
    pub place: GoalPlace,
    /// What is wrong and what to do.
    pub what: String,
}

impl GoalError {
    pub(super) fn new(place: GoalPlace, what: impl Into<String>) -> Self {
        Self { place, what: what.into() }
    }

    pub(super) fn file(what: impl Into<String>) -> Self {
        Self::new(GoalPlace::File, what)
    }
}

impl fmt::Display for GoalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            GoalPlace::File => f.write_str(&self.what),
            GoalPlace::Line(line) => write!(f, "line {line}: {}", self.what),
            GoalPlace::Rank(rank) => write!(f, "rank {rank}: {}", self.what),
            GoalPlace::Operation(rank, operation) => write!(f, "rank {rank}, operation {operation}: {}", self.what),
        }
    }
}

impl std::error::Error for GoalError {}

impl From<std::io::Error> for GoalError {
    fn from(error: std::io::Error) -> Self {
        Self::file(format!("cannot read or write the trace: {error}"))
    }
}
