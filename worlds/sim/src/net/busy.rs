//! Time in which a program did not go on although nothing was missing.
use foregather_machine::{Nanos, Rank};

/// Why a program did not go on although nothing was missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Business {
    /// It computed, as it wanted to.
    Computed,
    /// Its processor was interrupted.
    Interrupted,
    /// Its node stood still, by a fault.
    Paused,
}

/// A span of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busy {
    /// Whose program.
    pub node: Rank,
    /// What it did.
    pub business: Business,
    /// Since when.
    pub from: Nanos,
    /// Until when.
    pub to: Nanos,
}
