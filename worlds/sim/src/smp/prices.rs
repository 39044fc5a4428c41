//! What switching costs on a simulated machine.
use foregather_machine::{Costs, Nanos};

/// Prices of one machine. One context switch is not one number: waking an idle processor of a virtual machine
/// costs
/// ten times what handing a busy one over does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prices {
    /// One thread hands its processor to another.
    pub switch: Nanos,
    /// A thread leaves its processor, and no other takes it.
    pub switch_to_idle: Nanos,
    /// From the wake-up until a thread runs on a processor that was idle.
    pub wake_idle: Nanos,
    /// What an interprocessor interrupt that wakes a thread on another processor costs its sender; and its
    /// receiver, if that one is busy and switches.
    pub waker: Nanos,
    /// From such an interrupt until a busy processor begins to switch, beyond `waker`: a virtual machine's
    /// processor leaves its guest for it.
    pub preempt: Nanos,
    /// The call of a yield, which is all that it costs if no other thread is ready.
    pub yield_call: Nanos,
    /// One thread hands its processor to another by a yield, calls included.
    pub yield_switch: Nanos,
    /// From a store until a running spinner sees it.
    pub line: Nanos,
    /// What a thread's first run on another processor costs more.
    pub migration: Nanos,
    /// From a thread's leaving for an idle processor until it runs there.
    pub move_call: Nanos,
    /// What it costs to ask whether a thread is running, or to fetch it.
    pub look: Nanos,
    /// By how much a tick's interrupt lasts longer than it must before it switches to another thread: the
    /// mean. It differs from tick to tick, and between processors that tick at the same moment.
    pub tick_spread: Nanos,
}

impl Prices {
    /// The machine of Tsafrir & Feitelson 2002 §2.1: a switch takes 6 steps, everything else is free. A step
    /// is a microsecond.
    pub const TSAFRIR_2002: Self = Self {
        switch: Nanos::from_us(6),
        switch_to_idle: Nanos::ZERO,
        wake_idle: Nanos::from_us(6),
        waker: Nanos::ZERO,
        preempt: Nanos::ZERO,
        yield_call: Nanos::from_us(1),
        yield_switch: Nanos::from_us(7),
        line: Nanos::ZERO,
        migration: Nanos::ZERO,
        move_call: Nanos::from_us(6),
        look: Nanos::ZERO,
        tick_spread: Nanos::ZERO,
    };

    /// The prices of a machine whose costs were measured. What a thread pays to leave its processor idle is
    /// part of the local switch. The wake-up of an idle processor lasts from the waker's call on, and what
    /// that costs the waker goes on beside it: neither is part of the other. Moves, looks, `preempt` and
    /// `tick_spread` are not among them: the first two have the prices of a virtual machine of 2025.
    pub const fn measured(costs: &Costs) -> Self {
        Self {
            switch: costs.local_switch,
            switch_to_idle: costs.local_switch.percent(50),
            wake_idle: costs.remote_wake,
            waker: costs.waker,
            preempt: Nanos::ZERO,
            yield_call: costs.yield_switch.percent(50),
            yield_switch: costs.yield_switch,
            line: costs.line_round_trip.percent(50),
            migration: Nanos::ZERO,
            move_call: Nanos::from_us(10),
            look: Nanos(1_600),
            tick_spread: Nanos::ZERO,
        }
    }
}
