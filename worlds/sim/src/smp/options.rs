//! A simulated machine: how many processors, what they cost, how they are shared out, and what happens at the
//! same moment.
use super::eevdf::Eevdf;
use super::linux24::Linux24;
use super::machine::Hardware;
use super::prices::Prices;
use super::round_robin::RoundRobin;
use foregather_machine::{Costs, Nanos};

/// A machine: processors, prices, scheduler.
#[derive(Clone, Debug)]
pub struct MachineSpec {
    /// How many processors it has: 1 to [`MachineSpec::MOST_CPUS`].
    pub cpus: u32,
    /// What switches, wake-ups and moves cost.
    pub prices: Prices,
    /// The scheduler, with its rules.
    pub scheduler: Scheduler,
    /// What goes first at the same moment.
    pub ties: Ties,
    /// Durations are drawn in multiples of this: 1 ns or more.
    pub resolution: Nanos,
}

impl MachineSpec {
    /// More processors than this are not simulated: turns within a moment have 16 bits.
    pub const MOST_CPUS: u32 = 1 << 14;

    /// The machine of Tsafrir & Feitelson 2002: 32 processors under Linux 2.4 with the allocation of 2.2. One
    /// of its steps is a microsecond here.
    pub fn tsafrir2002() -> Self {
        Self {
            cpus: 32,
            prices: Prices::TSAFRIR_2002,
            scheduler: Scheduler::Linux24(Linux24::TSAFRIR_2002),
            ties: Ties::ArriveFirst,
            resolution: Nanos::from_us(1),
        }
    }
}

impl MachineSpec {
    /// The costs with which a waiter on this machine reasons. The tick is how long a stranger runs once a
    /// thread has yielded to it: under round robin the quantum.
    pub fn costs(&self) -> Costs {
        let prices = &self.prices;
        Costs {
            local_switch: prices.switch,
            remote_wake: prices.wake_idle,
            waker: prices.waker,
            yield_switch: prices.yield_switch,
            line_round_trip: prices.line * 2,
            tick: match &self.scheduler {
                Scheduler::RoundRobin(rules) => rules.quantum,
                Scheduler::Linux24(rules) => rules.tick,
                Scheduler::Eevdf(rules) => rules.tick,
                // A thread of low priority never gets the processor from a more urgent one.
                Scheduler::Priority => Nanos::MAX,
            },
        }
    }

    /// The machine without its scheduler.
    pub(super) fn hardware(&self) -> Hardware {
        Hardware { cpus: self.cpus, prices: self.prices, costs: self.costs(), resolution: self.resolution }
    }
}

/// A scheduler with its rules.
#[derive(Clone, Debug)]
pub enum Scheduler {
    /// One queue, first come, first served, a quantum each.
    RoundRobin(RoundRobin),
    /// Linux 2.2 to 2.4.
    Linux24(Linux24),
    /// Linux from 6.6 on.
    Eevdf(Eevdf),
    /// Fixed priorities: of a machine's threads the one with the lowest number runs, at once and for as long
    /// as it can.
    Priority,
}

/// What goes first if several events happen at the same moment: no other option changes the results of
/// spinning for one context switch as much.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ties {
    /// First all newcomers arrive, then all spinners decide (Tsafrir & Feitelson 2002 §4.1).
    ArriveFirst,
    /// First all spinners give up, then all newcomers arrive.
    GiveUpFirst,
    /// By the number of the processor, the lowest first.
    Processor,
    /// Chance decides, from the seed.
    Random,
}
