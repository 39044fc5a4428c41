//! The adaptive policy: one decision table and no parameters to tune.
//!
//! - [`Adaptive`]: the policy, given by three costs of the machine. [`TABLE`]: the rules as data: what a
//!   waiter does in each state, and why. [`Facts`]: the set of facts that forms a state.
//! - `state.rs`: what a member learns from one wait to the next. `rhythm.rs`: predicts when the next message
//!   is due. `steps.rs`: one wait, which gathers facts and follows the table.
//! - `crowd.rs`: notes about background threads, which all threads of the process share.
//!
//! `README.md` describes the states, the sequence and the races.
mod crowd;
mod facts;
mod name;
mod rhythm;
mod state;
mod steps;
mod table;

pub use facts::Facts;
use state::AdaptiveState;
pub use table::{Action, Rule, Rules, TABLE, decide};

use foregather_machine::{Costs, Nanos};

/// The adaptive policy: spins, yields, sleeps or moves members apart, depending on the load. A decision table
/// decides, with bounds derived from three measured costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Adaptive {
    /// The cost of handing the processor to another member with a yield.
    pub hand_over: Nanos,
    /// The cost of sleeping and being woken on an idle processor by a thread on another one. It is the
    /// initial bound of a spin.
    pub remote: Nanos,
    /// The scheduler's tick, which is how long a background thread runs once a member has yielded to it.
    pub tick: Nanos,
    /// Rules that are switched off, to measure their effect.
    pub without: Rules,
}

impl Adaptive {
    /// Creates the policy with these costs and all rules.
    pub const fn new(costs: &Costs) -> Self {
        Self { hand_over: costs.yield_switch, remote: costs.remote_wake, tick: costs.tick, without: Rules::NONE }
    }

    /// Returns the threshold above which a yield is taken to have gone to a background thread, because no
    /// member keeps the processor for that long.
    pub(crate) const fn slow(self) -> Nanos {
        self.tick.percent(25)
    }

    /// Returns the initial bound of a spin: a remote wake-up, or two hand-overs if those take longer. The
    /// awaited member may be in the middle of being switched out, and must then be switched back in (Tsafrir
    /// & Feitelson 2002 §4.1).
    pub(crate) fn bound(self) -> Nanos {
        self.remote.max(self.hand_over * 2)
    }

    /// Returns the maximum time for which a member of a team of `size` spins, even while the awaited member
    /// computes. It is the longer of two times. The first is fifteen remote wake-ups, limited to 8 % of a
    /// tick: if time slices are hardly longer than wake-ups, a spinner uses up its own time slice. The second
    /// is the time to wake the whole team, one member after another, limited to a tick: if the first members
    /// stopped spinning before the last ones are awake, all members would sleep in every episode from then
    /// on.
    pub(crate) fn cap(self, size: u32) -> Nanos {
        let one = (self.remote * 15).min(self.tick.percent(8));
        let all = (self.remote * u64::from(size)).min(self.tick);
        one.max(all).max(self.bound())
    }

    /// Returns how long a member spins for a message on a processor that other threads need.
    pub(crate) fn brief(self) -> Nanos {
        self.hand_over * 2
    }

    /// Returns the interval at which a spinner checks where the other members are. Checking more often would
    /// take their cache lines away from them.
    pub(crate) const fn interval(self) -> Nanos {
        self.remote.percent(16)
    }

    /// Returns how long a member waits before it sends another scout to a processor that was not idle.
    pub(crate) const fn patience_with_scouts(self) -> Nanos {
        self.remote.percent(500)
    }
}
