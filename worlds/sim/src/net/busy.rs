//! Time in which a program did not go on although it waited for nothing.
use foregather_machine::{Nanos, Rank};

/// Why a program did not go on although it waited for nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Business {
    /// It computed, by its own wish.
    Computed,
    /// Its processor was interrupted.
    Interrupted,
    /// Its node stood still, by a fault.
    Paused,
}

/// A span of such time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busy {
    /// The program's node.
    pub node: Rank,
    /// The reason.
    pub business: Business,
    /// Its beginning.
    pub from: Nanos,
    /// Its end.
    pub to: Nanos,
}
