//! The fixed policies: each takes some of three phases (spin, yield, park).
use crate::{Progress, Step, Strategy};
use foregather_machine::Nanos;

/// Spins for a bounded time, then yields a bounded number of times, then parks.
#[derive(Clone, Copy)]
pub(crate) struct Phases {
    /// The maximum CPU time of a spin.
    pub(crate) spin: Nanos,
    /// How often it then yields; `u32::MAX`: forever.
    pub(crate) yields: u32,
}

impl Phases {
    /// Creates the policy that spins for `spin` and then parks.
    pub(crate) const fn spin(spin: Nanos) -> Self {
        Self { spin, yields: 0 }
    }
}

impl Strategy for Phases {
    fn spins(&self) -> bool {
        self.spin > Nanos::ZERO
    }

    fn next(&mut self, wait: &Progress<'_>) -> Step {
        let left = self.spin.min(wait.max_spin) - wait.waited.spun;
        if left > Nanos::ZERO {
            Step::Spin(left)
        } else if (wait.waited.yields < self.yields || self.yields == u32::MAX) && wait.max_spin == Nanos::MAX {
            // Under a real-time class a yield never reaches the rest of the machine: do not loop on it.
            Step::Yield
        } else {
            Step::Park
        }
    }
}
