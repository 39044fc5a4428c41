//! The adaptive policy: no knobs, one decision table.
//!
//! - [`Adaptive`]: the policy, which is the machine's three costs. [`TABLE`]: what is done in which state, and why; data one can
//!   read. [`Facts`]: what the state is made of.
//! - `memory.rs`: what a member remembers from wait to wait. `wait.rs`: one wait, which asks the world for facts and does what the
//!   table says.
//!
//! States, sequence and races: `README.md`.
mod facts;
mod memory;
mod table;
mod wait;

pub use facts::Facts;
pub(crate) use memory::Memory;
pub use table::{Action, Rule, Rules, TABLE, decide};

use foregather_machine::{Costs, Nanos};

/// Waiting as the load demands: spin, yield, sleep, move apart, by a decision table whose bounds follow from three measured costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Adaptive {
    /// To hand the processor to another member with a yield.
    pub hand_over: Nanos,
    /// To sleep until somebody wakes this thread on an idle processor: the first bound of a spin.
    pub remote: Nanos,
    /// The scheduler's tick: what a stranger gets if one yields to it.
    pub tick: Nanos,
    /// Rules that are switched off, to see what they are worth.
    pub without: Rules,
}

impl Adaptive {
    /// With the costs of this machine.
    pub const fn new(costs: &Costs) -> Self {
        Self { hand_over: costs.yield_switch, remote: costs.remote_wake, tick: costs.tick, without: Rules::NONE }
    }

    /// A yield that takes longer went to a stranger: no member keeps the processor for that long.
    pub(crate) const fn slow(self) -> Nanos {
        self.tick.percent(25)
    }

    /// The longest that even a computing member is awaited on the processor.
    pub(crate) const fn cap(self) -> Nanos {
        Nanos(self.remote.0.saturating_mul(15))
    }

    /// How long a spinner goes without looking at where the others are: looking takes their lines away from them.
    pub(crate) const fn interval(self) -> Nanos {
        self.remote.percent(16)
    }

    /// When to ask again for a processor that was not idle.
    pub(crate) const fn patience_with_scouts(self) -> Nanos {
        self.remote.percent(500)
    }
}
