//! The master's part: the round trips, counted in cycles.
use super::board::Board;
use super::link::Link;
use super::{Setup, WARM_UP};
use foregather_host::usage::{self, Switches};
use foregather_host::{affinity, clock, interrupt};
use foregather_machine::{Clock, CpuId, Error, Nanos, block_on};
use foregather_thread::Thread;
use std::collections::BTreeMap;
use std::time::Duration;

/// From here on the master really sleeps; shorter sleeps end whenever the timer likes.
const SLEEPS_FROM: Nanos = Nanos::from_us(100);

/// What the master saw.
pub(super) struct Measured {
    pub(super) cycles: Vec<u64>,
    pub(super) cpus: BTreeMap<CpuId, u32>,
    pub(super) cpu_time: Nanos,
    pub(super) switches: Switches,
}

pub(super) fn run(setup: &Setup, board: &Board, link: &dyn Link) -> Result<Measured, Error> {
    let trip = |round| {
        let began = clock::cycles();
        link.ping(round)?;
        link.await_pong(round)?;
        Ok::<_, Error>(clock::cycles().saturating_sub(began))
    };
    for round in 1..=WARM_UP {
        trip(round)?;
    }
    let mut cycles = Vec::with_capacity(setup.runs.min(1 << 20) as usize);
    let mut cpus = BTreeMap::new();
    let until = clock::now() + setup.at_most;
    let (cpu_time, switches) = (usage::thread_cpu(), usage::thread_switches());
    let mut round = WARM_UP;
    while cycles.len() < setup.runs as usize && clock::now() < until && !interrupt::requested() {
        idle(setup.gap);
        round = round.wrapping_add(1);
        cycles.push(trip(round)?);
        *cpus.entry(affinity::current()).or_insert(0) += 1;
    }
    let (cpu_time, after) = (usage::thread_cpu() - cpu_time, usage::thread_switches());
    board.stop();
    link.ping(round.wrapping_add(1))?;
    let voluntary = after.voluntary - switches.voluntary;
    let switches = Switches { voluntary, involuntary: after.involuntary - switches.involuntary };
    Ok(Measured { cycles, cpus, cpu_time, switches })
}

fn idle(gap: Nanos) {
    if gap >= SLEEPS_FROM {
        std::thread::sleep(Duration::from_nanos(gap.0));
    } else if gap > Nanos::ZERO {
        block_on(Thread::current().delay(gap));
    }
}
