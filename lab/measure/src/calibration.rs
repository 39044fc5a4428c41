//! This machine for the simulator of processors, and by which factor the two differ: what every comparison of
//! them needs.
use foregather_host::{facts, sched};
use foregather_machine::{Costs, Error, Nanos};
use foregather_sim::smp::{Distribution, Eevdf, Group, Job, MachineSpec, Prices, RoundRobin, Scheduler, Ties};

/// This machine, as far as the simulator knows machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Calibration {
    /// What switching costs.
    pub(super) prices: Prices,
    /// The scheduler's tick.
    pub(super) tick: Nanos,
    /// What a thread of the fair class asks for at a time.
    pub(super) slice: Nanos,
    /// The turn of a thread under `SCHED_RR`.
    pub(super) turn: Nanos,
    /// How often kernel threads and daemons wake up in a second.
    pub(super) background_hz: u32,
}

/// A kernel thread or daemon runs for about this time when it wakes up.
const BACKGROUND: Nanos = Nanos::from_us(30);
/// The usual rate of their wake-ups, and the most that is taken for one: more is a program.
pub(super) const BACKGROUND_HZ: u32 = 50;
const MOST_BACKGROUND_HZ: f64 = 400.0;

/// More is a tick in which another thread ran.
const MOST_SPREAD: Nanos = Nanos::from_us(20);

/// What runs on an idle machine, too. It takes hardly any time, but without it the threads of two processors
/// that take turns with others would do so in step, or never meet, for as long as they run.
pub(super) fn background(hz: u32) -> Option<Job> {
    let period_ns = 1e9 / f64::from(hz.max(1));
    let rest = Distribution::Exponential { mean_ns: (period_ns - BACKGROUND.0 as f64).max(1.0) };
    let compute = Distribution::Exponential { mean_ns: BACKGROUND.0 as f64 };
    (hz > 0).then(|| Job { compute, rest: Some(rest), ..Job::load("background", 1) })
}

impl Calibration {
    /// This machine, with these prices.
    pub(super) fn of(costs: &Costs) -> Self {
        let facts = facts::machine();
        let tick = facts.tick_hz.map_or(costs.tick, |hz| Nanos(1_000_000_000 / u64::from(hz.max(1))));
        let turn = sched::round_robin_slice().unwrap_or(Nanos::from_ms(100));
        let slice = Eevdf::base_slice(facts.cpus_online);
        Self { prices: Prices::measured(costs), tick, slice, turn, background_hz: BACKGROUND_HZ }
    }

    /// The same, with the price of preempting a busy processor, the spread of its ticks and the rate of
    /// background wake-ups as they are measured now.
    ///
    /// # Errors
    /// If a thread cannot be pinned, or a partner never answered.
    pub(super) fn with_preemption(costs: &Costs) -> Result<Self, Error> {
        let mut this = Self::of(costs);
        if let Some(wake) = foregather_bench::prices::busy_wake()? {
            this.prices.preempt = wake - this.prices.switch - this.prices.waker;
        }
        if let Some(spread) = foregather_bench::prices::tick_spread()? {
            this.prices.tick_spread = spread.min(MOST_SPREAD);
        }
        // Each wake-up switches to the thread and back.
        if let Some(hz) = sched::switches_hz() {
            this.background_hz = (hz / 2.0).clamp(1.0, MOST_BACKGROUND_HZ) as u32;
        }
        Ok(this)
    }

    /// The rules of its scheduler.
    pub(super) fn rules(&self) -> Eevdf {
        Eevdf { tick: self.tick, slice: self.slice, ..Eevdf::LINUX }
    }

    /// A machine of `cpus` processors for one team, which is in the only control group if it has a quota:
    /// milliseconds of processor time in every 100 ms.
    pub(super) fn machine(&self, cpus: u32, realtime: bool, quota_ms: Option<u32>) -> MachineSpec {
        let group = |ms: u32| Group { quota: Some(Nanos::from_ms(u64::from(ms))), ..Group::named("team") };
        let fair = Eevdf { groups: quota_ms.map(group).into_iter().collect(), ..self.rules() };
        let scheduler = if realtime { Scheduler::RoundRobin(RoundRobin { quantum: self.turn }) } else { Scheduler::Eevdf(fair) };
        MachineSpec { cpus, prices: self.prices, scheduler, ties: Ties::ArriveFirst, resolution: Nanos(1) }
    }
}

/// By which factor two numbers differ, whichever is larger: 1 if they do not; not a number if one of them is
/// not positive.
pub(super) fn factor(measured: f64, simulated: f64) -> f64 {
    let ratio = simulated / measured;
    if ratio.is_finite() && ratio > 0.0 { ratio.max(1.0 / ratio) } else { f64::NAN }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A machine with round prices.
    pub(in super::super) const LIKENESS: Calibration = Calibration {
        prices: Prices {
            switch: Nanos(2_000),
            switch_to_idle: Nanos(1_000),
            wake_idle: Nanos(12_000),
            waker: Nanos(6_000),
            preempt: Nanos::ZERO,
            yield_call: Nanos(500),
            yield_switch: Nanos(1_000),
            line: Nanos(50),
            migration: Nanos::ZERO,
            move_call: Nanos(10_000),
            look: Nanos(1_600),
            tick_spread: Nanos::ZERO,
        },
        tick: Nanos::from_ms(4),
        slice: Nanos::from_us(1_400),
        turn: Nanos::from_ms(100),
        background_hz: 0,
    };
}
