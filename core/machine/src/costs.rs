//! The costs of switching on a machine: measured once, cached by the lab, passed down as a value.
use crate::Nanos;

/// The prices a waiter reasons with. There are **two** context switches, an order of magnitude apart: handing
/// this processor to a neighbour, and sleeping until another thread wakes this one on an idle processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// Block one thread and run another of the same processor.
    pub local_switch: Nanos,
    /// From the waker's call to the sleeper running again on another, idle processor.
    pub remote_wake: Nanos,
    /// What the call that wakes a sleeper costs the waker.
    pub waker: Nanos,
    /// Hand the processor over with `sched_yield` to a runnable thread of the same team.
    pub yield_switch: Nanos,
    /// Move a cache line to another processor and back: one spinning round trip.
    pub line_round_trip: Nanos,
    /// The scheduler's tick: what a foreign thread gets when this thread yields to it.
    pub tick: Nanos,
}

/// Which of the two context switches a spin bound is a multiple of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Switch {
    /// [`Costs::local_switch`].
    Local,
    /// [`Costs::remote_wake`].
    Remote,
}

impl Costs {
    /// A 2020s virtual machine, for programs that never measured theirs: right within a factor of two or
    /// three.
    pub const TYPICAL: Self = Self {
        local_switch: Nanos(1_100),
        remote_wake: Nanos(19_000),
        waker: Nanos(11_000),
        yield_switch: Nanos(670),
        line_round_trip: Nanos(240),
        tick: Nanos(4_000_000),
    };

    /// The least and the greatest value that programs use without confirmation: a third of the typical
    /// cost, and three times it. One measurement outside of this range more often shows a disturbed or
    /// sleeping machine than an unusual one. On an idle virtual machine, for example, a wake-up took 257
    /// us; under load it took 19.
    pub const USUAL: [Self; 2] = [Self::TYPICAL.scaled(1, 3), Self::TYPICAL.scaled(3, 1)];

    /// The names of the costs in files, in the order of [`Costs::to_array`].
    pub const NAMES: [&'static str; 6] =
        ["local_switch_ns", "remote_wake_ns", "waker_ns", "yield_switch_ns", "line_round_trip_ns", "tick_ns"];

    /// Returns all costs, in the order of [`Costs::NAMES`].
    pub const fn to_array(&self) -> [Nanos; 6] {
        [self.local_switch, self.remote_wake, self.waker, self.yield_switch, self.line_round_trip, self.tick]
    }

    /// Makes costs from an array in the order of [`Costs::NAMES`].
    pub const fn from_array([local_switch, remote_wake, waker, yield_switch, line_round_trip, tick]: [Nanos; 6]) -> Self {
        Self { local_switch, remote_wake, waker, yield_switch, line_round_trip, tick }
    }

    const fn scaled(&self, times: u64, over: u64) -> Self {
        let (mut all, mut at) = (self.to_array(), 0);
        while at < all.len() {
            all[at] = Nanos(all[at].0 * times / over);
            at += 1;
        }
        Self::from_array(all)
    }

    /// One context switch of kind `which`.
    pub const fn switch(&self, which: Switch) -> Nanos {
        match which {
            Switch::Local => self.local_switch,
            Switch::Remote => self.remote_wake,
        }
    }
}

impl Default for Costs {
    fn default() -> Self {
        Self::TYPICAL
    }
}
