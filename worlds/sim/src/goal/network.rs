//! What a message costs.
use foregather_machine::{LogGp, LogGpVariant, Nanos};

/// By which rules messages and operations take time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GoalVariant {
    /// Alexandrov et al. 1995, with overhead a byte and a rendezvous whose answer travels (`loggp.rs`).
    LogGp(LogGpVariant),
    /// LogGOPS by the rules of LogGOPSim 1.1 (Hoefler, Schneider & Lumsdaine 2010), ties included
    /// (`loggopsim.rs`).
    LogGopsim,
}

/// A network between the ranks of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GoalNetwork {
    /// Latency, overheads and gaps.
    pub model: LogGp,
    /// `O`: one byte's share of the overhead at either side, in picoseconds.
    pub overhead_byte_ps: u64,
    /// `S`: longer messages wait for their receive.
    pub eager_max: u64,
    /// By which rules.
    pub variant: GoalVariant,
}

impl GoalNetwork {
    /// The default of LogGOPSim for `S`.
    pub const EAGER_MAX: u64 = 65_535;

    /// That network by the rules of Alexandrov et al., without overhead a byte.
    pub const fn loggp(model: LogGp) -> Self {
        Self { model, overhead_byte_ps: 0, eager_max: Self::EAGER_MAX, variant: GoalVariant::LogGp(model.variant) }
    }

    /// That network by the rules of LogGOPSim, without overhead a byte. It knows one overhead, the sender's.
    pub const fn loggopsim(model: LogGp) -> Self {
        Self { variant: GoalVariant::LogGopsim, ..Self::loggp(model) }
    }

    /// What `size` bytes add to the overhead of a side.
    #[inline]
    pub(super) fn overhead_of(&self, size: u64) -> u64 {
        LogGp { byte_ps: self.overhead_byte_ps, ..self.model }.bytes(size).0
    }

    /// Returns whether a message of this size is sent before its receive is known.
    #[inline]
    pub(super) fn is_eager(&self, size: u64) -> bool {
        size <= self.eager_max
    }

    /// A sender's overhead, and a receiver's.
    pub(super) fn overheads(&self) -> (Nanos, Nanos) {
        (self.model.send_overhead, self.model.receive_overhead)
    }
}
