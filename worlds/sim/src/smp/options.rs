//! A simulated machine: how many processors, what they cost, who shares them out, and what happens at the same moment.
use super::eevdf::Eevdf;
use super::linux24::Linux24;
use super::machine::Hardware;
use super::prices::Prices;
use super::round_robin::RoundRobin;
use foregather_machine::{Costs, Nanos};

/// The machine.
#[derive(Clone, Debug)]
pub struct MachineSpec {
    /// Its processors.
    pub cpus: u32,
    /// What switching costs.
    pub prices: Prices,
    /// Who runs next.
    pub scheduler: Scheduler,
    /// Who goes first at the same moment.
    pub ties: Ties,
    /// Durations are drawn in multiples of this.
    pub resolution: Nanos,
}

impl MachineSpec {
    /// More processors than this are not simulated: turns within a moment have 16 bits.
    pub const MOST_CPUS: u32 = 1 << 14;

    /// The machine of Tsafrir & Feitelson 2002: 32 processors under Linux 2.4 with the allocation of 2.2. One of its
    /// steps is a microsecond here.
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
    /// What a waiter on this machine reasons with. The tick is what a stranger gets to whom one yields: under round robin the
    /// quantum.
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
                // Nobody gets anything from whom is more urgent.
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
    /// Of a machine's threads the one with the lowest number, at once and for as long as it can.
    Priority,
}

/// Who goes first if several things happen at the same moment (the sharpest knob of spinning for one context switch).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ties {
    /// First all newcomers arrive, then all spinners decide (Tsafrir & Feitelson 2002 §4.1).
    ArriveFirst,
    /// Spinners give up first.
    GiveUpFirst,
    /// By the number of the processor.
    Processor,
    /// By chance, from the seed.
    Random,
}
