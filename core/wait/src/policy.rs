//! The waiting policies by name. The [`Strategy`] of a policy defines its behaviour.
use crate::name::{after, bound, name_of, quantum, switch};
use crate::strategies::{self, phases::Phases};
use crate::{Adaptive, Strategy, WaitFor, Waited, Waiter, Yields};
use core::fmt;
use foregather_machine::{Costs, Cpu, Error, Nanos, Rank, WaitContext};

/// Defines every policy in one place: its variant, with its times and the functions that parse them or with a
/// settings type of its own; its syntax; and its strategy for the member `rank`.
macro_rules! policies {
    ($($(#[$about:meta])* $Variant:ident $(($of:ident: $Settings:ident))? $({ $($(#[$doc:meta])* $time:ident: $read:ident,)+ })?
        = $usage:literal => $strategy:expr;)+) => {
        /// A waiting policy, chosen at run time; cheap to copy.
        ///
        /// The policies from `Randomised` on decide again for each wait of the [`Waiter`](crate::Waiter).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Policy {
            $($(#[$about])* $Variant $(($Settings))? $({ $($(#[$doc])* $time: Nanos,)+ })?,)+
        }

        impl Policy {
            /// The syntax of each policy.
            pub(crate) const USAGES: &'static [&'static str] = &[$($usage),+];

            /// Creates the strategy of this policy for member `rank`.
            pub fn strategy(self, rank: Rank) -> Box<dyn Strategy> {
                fn boxed<S: Strategy + 'static>(make: impl FnOnce(Rank) -> S, rank: Rank) -> Box<dyn Strategy> {
                    Box::new(make(rank))
                }
                match self {
                    $(Self::$Variant { $(0: $of)? $($($time),+)? } => boxed($strategy, rank),)+
                }
            }

            /// Parses a policy. Returns `None` if the text names none.
            pub(crate) fn read(text: &str, costs: &Costs) -> Option<Self> {
                $(if let Some(rest) = &mut after(text, $usage) {
                    let policy = Self::$Variant { $(0: $Settings::read(rest, costs)?)? $($($time: $read(rest, costs)?),+)? };
                    return rest.is_empty().then_some(policy);
                })+
                None
            }
        }

        /// Writes the name with all times in nanoseconds, so that it can be parsed without the machine's
        /// costs.
        impl fmt::Display for Policy {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$Variant { $(0: $of)? $($($time),+)? } => {
                        f.write_str(name_of($usage))?;
                        $(write!(f, "{}", $of as &$Settings)?;)?
                        $($(write!(f, ":{}ns", $time.0)?;)+)?
                        Ok(())
                    })+
                }
            }
        }
    };
}

policies! {
    /// Adapts to the load with a decision table. Use this policy unless you have a reason not to.
    Adaptive(of: Adaptive) = "adaptive[!RULE,RULE...]" => |_| of.strategy();
    /// Spins until the event occurs (Guignon 2000 §2.1). Starves other threads, and the waiter itself, if
    /// there are more threads than processors.
    Spin = "spin" => |_| Phases::spin(Nanos::MAX);
    /// Yields after every check, forever.
    Yield = "yield" => |_| Phases { spin: Nanos::ZERO, yields: u32::MAX };
    /// Blocks immediately.
    Block = "block" => |_| Phases::spin(Nanos::ZERO);
    /// Spins for a bounded time, then blocks (Tsafrir & Feitelson 2002 §2).
    TwoPhase {
        /// The bound, in time on the processor.
        spin: bound,
    } = "two-phase:BOUND" => |_| Phases::spin(spin);
    /// Spins for a bounded time, then yields forever.
    SpinThenYield {
        /// The bound, in time on the processor.
        spin: bound,
    } = "spin-yield:BOUND" => |_| Phases { spin, yields: u32::MAX };
    /// Yields a number of times, then blocks, as workers of thread pools do.
    YieldThenBlock(yields: Yields) = "yield-block:COUNT" => |_| Phases { spin: Nanos::ZERO, yields: yields.0 };
    /// Two-phase, with a bound drawn for each wait from the density `e^(x/C) / (C (e - 1))` on `[0, C]`. An
    /// adversary that does not know the bound cannot make the expected cost exceed `e / (e - 1)` times that
    /// of the best choice in hindsight (Karlin, Manasse, McGeoch & Owicki 1990).
    Randomised {
        /// One context switch, `C`.
        switch: switch,
    } = "randomised:SWITCH" => |rank| strategies::randomised::Randomised::new(switch, rank);
    /// Two-phase; the bound is 0 or `C`, whichever would have cost less over the last three waits. Karlin,
    /// Li, Manasse & Owicki 1991 predict from the recent past in this way for locks; Tsafrir & Feitelson 2002
    /// §6 advise against it for barriers.
    Recent {
        /// One context switch, `C`.
        switch: switch,
    } = "recent:SWITCH" => |_| strategies::recent::Recent::new(switch);
    /// Spins, for two context switches at most, only if all awaited members are running; otherwise blocks
    /// immediately. Karlin, Li, Manasse & Owicki 1991 do so for the holder of a lock (discussed by Tsafrir &
    /// Feitelson 2002 §6). If a world cannot tell which threads are running
    /// ([`Placement::running`](foregather_machine::Placement::running)), this is two-phase waiting with the
    /// same bound. The check follows the first brief spin.
    HolderRunning {
        /// One context switch.
        switch: switch,
    } = "holder-running:SWITCH" => |_| strategies::holder_running::HolderRunning::new(switch);
    /// Decides by granularity, as Tsafrir & Feitelson 2002 §6 propose. The granularity is the median gap
    /// between the end of one synchronisation and the arrival at the next. With fine and medium grain (below
    /// five context switches) the thread spins for at most 2CS+; with coarse grain it blocks immediately. The
    /// policy reads the clock twice per synchronisation.
    Grain {
        /// One context switch.
        switch: switch,
        /// A gap of at least this length is not counted, because it probably contains a preemption.
        quantum: quantum,
    } = "grain2cs:SWITCH[:QUANTUM]" => |_| strategies::grain::Grain::new(switch, quantum);
}

impl Policy {
    /// The default quantum of [`Policy::Grain`]. A longer gap is taken for a preemption, as it is in spins.
    pub const QUANTUM: Nanos = Nanos::from_us(100);

    /// Waits once, without information about the awaited members. A thread that waits repeatedly should keep
    /// a [`Waiter`](crate::Waiter).
    ///
    /// # Errors
    /// If the wait can no longer succeed: poisoned word, passed deadline, lost peer.
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
