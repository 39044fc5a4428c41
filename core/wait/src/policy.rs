//! The waiting policies by name; each one's behaviour stands in its [`Strategy`].
use crate::adaptive::AdaptiveState;
use crate::strategies::{Grain, HolderRunning, Phases, Randomised, Recent};
use crate::{Adaptive, Strategy, WaitFor, Waited, Waiter};
use foregather_machine::{Costs, Cpu, Error, Nanos, Rank, WaitContext};

/// How to wait. It costs nothing to copy, and is chosen at run time, outside every loop.
///
/// The policies from `Randomised` on choose anew for every wait, by what a [`Waiter`](crate::Waiter) has seen
/// before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Policy {
    /// Keep the processor until the event comes (Guignon 2000 §2.1). Starves other threads, and the waiter
    /// itself, when threads outnumber processors.
    Spin,
    /// Offer the processor after every look, for ever.
    Yield,
    /// Give the processor away at once.
    Block,
    /// Spin for a bounded time, then block (Tsafrir & Feitelson 2002 §2).
    TwoPhase {
        /// The bound, in time on the processor.
        spin: Nanos,
    },
    /// Spin for a bounded time, then yield for ever.
    SpinThenYield {
        /// The bound, in time on the processor.
        spin: Nanos,
    },
    /// Two-phase with a bound drawn anew, of density `e^(x/C) / (C (e - 1))` on `[0, C]`: an adversary that
    /// does not know the draw cannot make it cost more than `e / (e - 1)` of the best choice in hindsight
    /// (Karlin, Manasse, McGeoch & Owicki 1990).
    Randomised {
        /// One context switch, `C`.
        switch: Nanos,
    },
    /// Two-phase with that bound of 0 and `C` which would have cost less over the last three waits: the
    /// recent past as the future, as Karlin, Li, Manasse & Owicki 1991 have it for locks, and as Tsafrir &
    /// Feitelson 2002 §6 advise against for barriers.
    Recent {
        /// One context switch, `C`.
        switch: Nanos,
    },
    /// Spin, for two context switches at most, only if all awaited members hold processors now; else block at
    /// once. Karlin, Li, Manasse & Owicki 1991 do so for the holder of a lock (discussed by Tsafrir &
    /// Feitelson 2002 §6). Where a world cannot tell which threads run
    /// ([`Placement::running`](foregather_machine::Placement::running)) it is two-phase waiting with that
    /// bound. It asks after the first brief spin.
    HolderRunning {
        /// One context switch.
        switch: Nanos,
    },
    /// By granularity, as Tsafrir & Feitelson 2002 §6 propose: the median gap between the end of one
    /// synchronisation and the arrival at the next. Fine and medium grain (below five context switches) spin
    /// for 2CS+, coarse grain blocks at once. It needs two readings of the clock for each synchronisation.
    Grain {
        /// One context switch.
        switch: Nanos,
        /// A gap of at least this length is not counted: it contains a preemption.
        quantum: Nanos,
    },
    /// As the load demands, by a decision table: the one to take unless something speaks for another.
    Adaptive(Adaptive),
}

/// Adaptive, with typical costs; [`Policy::adaptive`] takes the machine's costs.
impl Default for Policy {
    fn default() -> Self {
        Self::adaptive(&Costs::TYPICAL)
    }
}

impl Policy {
    /// The adaptive policy on a machine with these costs.
    pub const fn adaptive(costs: &Costs) -> Self {
        Self::Adaptive(Adaptive::new(costs))
    }

    /// The quantum of [`Policy::Grain`] where none is given. In a longer gap another thread had the
    /// processor; spinners assume the same.
    pub const QUANTUM: Nanos = Nanos::from_us(100);

    /// The policy at work for one member, as a [`Waiter`](crate::Waiter) uses it.
    pub fn strategy(self, rank: Rank) -> Box<dyn Strategy> {
        match self {
            Self::Spin => Box::new(Phases::spin(Nanos::MAX)),
            Self::Yield => Box::new(Phases { spin: Nanos::ZERO, yields: true }),
            Self::Block => Box::new(Phases::spin(Nanos::ZERO)),
            Self::TwoPhase { spin } => Box::new(Phases::spin(spin)),
            Self::SpinThenYield { spin } => Box::new(Phases { spin, yields: true }),
            Self::Randomised { switch } => Box::new(Randomised::new(switch, rank)),
            Self::Recent { switch } => Box::new(Recent::new(switch)),
            Self::HolderRunning { switch } => Box::new(HolderRunning::new(switch)),
            Self::Grain { switch, quantum } => Box::new(Grain::new(switch, quantum)),
            Self::Adaptive(of) => Box::new(AdaptiveState::new(of)),
        }
    }

    /// Waits once, knowing nothing of the awaited members. A thread that waits again keeps a
    /// [`Waiter`](crate::Waiter).
    ///
    /// # Errors
    /// When the wait can no longer succeed: poisoned word, passed deadline, lost peer.
    pub async fn wait<C: Cpu, T>(
        self,
        cpu: &C,
        on: &C::Word,
        context: WaitContext,
        probe: impl FnMut() -> Option<T>,
    ) -> Result<(T, Waited), Error> {
        Waiter::new(self, context.rank).wait_part(cpu, on, false, || (context, WaitFor::Unknown), probe).finish().await
    }
}
