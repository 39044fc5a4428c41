//! Round robin.
use foregather_machine::Nanos;

/// One queue for all processors, a fresh quantum at every dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundRobin {
    /// The quantum.
    pub quantum: Nanos,
}
