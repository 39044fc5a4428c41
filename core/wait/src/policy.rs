//! The waiting policies, by the phases of which each takes its part.
use crate::{Adaptive, Multiple, Phases, Waited};
use foregather_machine::{Costs, Cpu, Error, Nanos, WaitContext};

/// How to wait. Costs nothing to copy; chosen at run time, outside every loop.
///
/// Those from `Randomised` on choose anew for every wait. What they go by is kept in a [`Waiter`](crate::Waiter), one a member; without
/// one they are two-phase waiting with the bound that they begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Policy {
    /// Keep the processor until the event comes (Guignon 2000 §2.1). Starves others, itself included, when
    /// threads outnumber processors.
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
    /// Two-phase with a bound drawn anew, of density `e^(x/C) / (C (e - 1))` on `[0, C]`: nobody who does not know the
    /// draw can make it cost more than `e / (e - 1)` of the best choice in hindsight (Karlin, Manasse, McGeoch & Owicki 1990).
    Randomised {
        /// One context switch, `C`.
        switch: Nanos,
    },
    /// Two-phase with whichever of the bounds 0 and `C` would have cost less over the last three waits: the recent past as
    /// the future, as the adaptive ones of Karlin, Li, Manasse & Owicki 1991 have it for locks, and as
    /// Tsafrir & Feitelson 2002 §6 advise against for barriers.
    Recent {
        /// One context switch, `C`.
        switch: Nanos,
    },
    /// Spin, for two context switches at most, only if all who are awaited hold processors now; else block at once. What
    /// Karlin, Li, Manasse & Owicki 1991 do for the holder of a lock (discussed by Tsafrir & Feitelson 2002 §6). Where a world
    /// cannot tell who runs ([`Placement::running`](foregather_machine::Placement::running)) it is two-phase waiting with that bound. It asks after the first blink.
    HolderRunning {
        /// One context switch.
        switch: Nanos,
    },
    /// By granularity, as Tsafrir & Feitelson 2002 §6 propose: the median gap between the end of one synchronisation and the
    /// arrival at the next. Fine and medium grain (below five context switches) spin for 2CS+, coarse grain blocks at once.
    /// Needs two readings of the clock a synchronisation.
    Grain {
        /// One context switch.
        switch: Nanos,
        /// A gap of at least this length is not counted: a preemption is in it.
        quantum: Nanos,
    },
    /// As the load demands, by a decision table: the one to take where nothing speaks for another.
    Adaptive(Adaptive),
}

/// Adaptive, with typical costs; [`Policy::adaptive`] takes those of the machine.
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

    /// The quantum of [`Policy::Grain`] where none is given. A gap that long was somebody else's, as a spinner reckons too.
    pub const QUANTUM: Nanos = Nanos::from_us(100);

    /// What each wait goes through; under a policy that chooses anew for every wait, the first one.
    #[inline]
    pub const fn phases(self) -> Phases {
        match self {
            Self::Spin => Phases::spin(Nanos::MAX),
            Self::Yield => Phases { spin: Nanos::ZERO, yields: true },
            Self::Block => Phases::spin(Nanos::ZERO),
            Self::TwoPhase { spin } => Phases::spin(spin),
            Self::SpinThenYield { spin } => Phases { spin, yields: true },
            Self::Randomised { switch } | Self::Recent { switch } => Phases::spin(switch),
            Self::HolderRunning { switch } => Phases::spin(Multiple::Percent(200).times(switch)),
            Self::Grain { switch, .. } => Phases::spin(Multiple::TwoCsPlus.times(switch)),
            Self::Adaptive(of) => Phases::spin(of.remote),
        }
    }

    /// Waits once on `on` until `probe` finds something. Looks when called: await it. `timed` asks for the duration even of
    /// the shortest waits.
    ///
    /// # Errors
    /// When the wait can no longer succeed: poisoned word, passed deadline, lost peer ([`Cpu::check`]).
    #[inline]
    pub fn wait<C: Cpu, T>(
        self,
        cpu: &C,
        on: &C::Word,
        why: WaitContext,
        timed: bool,
        mut probe: impl FnMut() -> Option<T>,
    ) -> impl Future<Output = Result<(T, Waited), Error>> {
        let rest = match self.phases().try_wait(cpu, timed, &mut probe) {
            Some(found) => Ok(found),
            None => Err(self.phases().wait_slow(cpu, on, why, probe)),
        };
        async move {
            match rest {
                Ok(found) => Ok(found),
                Err(rest) => rest.await,
            }
        }
    }
}
