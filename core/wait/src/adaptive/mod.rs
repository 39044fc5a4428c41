//! The adaptive policy: no knobs, one decision table.
//!
//! - [`Adaptive`]: the policy, which is the machine's three costs. [`TABLE`]: what a waiter does in which
//!   state, and why, as data. [`Facts`]: what the state is made of.
//! - `state.rs`: what a member learns from wait to wait; `rhythm.rs`: when the next message is due.
//!   `steps.rs`: one wait, which asks its surroundings for facts and does what the table says.
//!
//! States, sequence and races: `README.md`.
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

/// Waiting as the load demands: spin, yield, sleep, move apart, by a decision table whose bounds follow from
/// three measured costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Adaptive {
    /// What it costs to hand the processor to another member with a yield.
    pub hand_over: Nanos,
    /// What it costs to sleep until another thread wakes this one on an idle processor: the first bound of a
    /// spin.
    pub remote: Nanos,
    /// The scheduler's tick: how long a background thread runs once a member has yielded to it.
    pub tick: Nanos,
    /// Rules that are switched off, to see what they are worth.
    pub without: Rules,
}

impl Adaptive {
    /// The policy with the costs of this machine, and all rules.
    pub const fn new(costs: &Costs) -> Self {
        Self { hand_over: costs.yield_switch, remote: costs.remote_wake, tick: costs.tick, without: Rules::NONE }
    }

    /// A yield that takes longer went to a background thread: no member keeps the processor for that long.
    pub(crate) const fn slow(self) -> Nanos {
        self.tick.percent(25)
    }

    /// The first bound of a spin: a remote wake-up, or two hand-overs if that is longer. The awaited member
    /// may be in the middle of a switch away, and then of one back (Tsafrir & Feitelson 2002 §4.1).
    pub(crate) fn bound(self) -> Nanos {
        self.remote.max(self.hand_over * 2)
    }

    /// The longest that even a computing member of a team of that size is awaited on the processor. It is
    /// fifteen remote wake-ups, but no more than a small part of a tick: where turns are hardly longer than
    /// wake-ups, a spinner pays with its own turn. And it is as long as it takes to wake such a team, one
    /// member after the other, up to a tick: if the first members give up before the last are awake, all
    /// sleep ever after.
    pub(crate) fn cap(self, size: u32) -> Nanos {
        let one = (self.remote * 15).min(self.tick.percent(8));
        let all = (self.remote * u64::from(size)).min(self.tick);
        one.max(all).max(self.bound())
    }

    /// For how long a message is awaited on a processor that others want, too.
    pub(crate) fn brief(self) -> Nanos {
        self.hand_over * 2
    }

    /// How long a spinner goes without looking at where the others are: looking takes their lines away from
    /// them.
    pub(crate) const fn interval(self) -> Nanos {
        self.remote.percent(16)
    }

    /// How long a member waits before it asks again for a processor that was not idle.
    pub(crate) const fn patience_with_scouts(self) -> Nanos {
        self.remote.percent(500)
    }
}
