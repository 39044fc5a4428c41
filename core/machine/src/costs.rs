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
