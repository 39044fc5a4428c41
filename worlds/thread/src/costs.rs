//! The costs of switching here: kept from an earlier run, or else typical ones. In the latter case they are
//! measured for the programs to come, while the processors are idle, in less than 20 ms.
//!
//! The lab measures with more care; its kept results take precedence.
use crate::{Thread, Word, run};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use foregather_host::costs::{self, Kept};
use foregather_host::forks::Once;
use foregather_host::sched::{self, SchedClass};
use foregather_host::{affinity, facts};
use foregather_machine::{CachePadded, Clock, Costs, CpuId, Error, Nanos, Rank, WaitContext, Words, block_on};
use foregather_wait::{Policy, WaitFor, Waiter};

/// The longest that each of the four parts takes.
const PART: Nanos = Nanos::from_ms(4);
/// How long a processor is left idle before a sleeper there is woken.
const IDLE: Nanos = Nanos::from_us(50);
/// Round trips of a part, and wakes.
const ROUNDS: u32 = 200;
const WAKES: u32 = 40;
/// Fewer samples than this tell nothing.
const ENOUGH: usize = 20;

/// Half of the samples may take this many times as long as the quarter that counts: beyond that other
/// programs disturbed them.
const SPREAD: u64 = 2;

static COSTS: Once<Costs> = Once::new();
/// Are the costs being measured for programs to come, or have they been?
static MEASURED: AtomicBool = AtomicBool::new(false);

/// The costs for all waits of this process. No thread waits for them: a program's first region comes before
/// they could be measured.
pub(crate) fn of_this_machine() -> Costs {
    if let Some(costs) = COSTS.get() {
        return *costs;
    }
    let kept = costs::load().ok().flatten();
    let typical = Costs { tick: facts::tick().unwrap_or(Costs::TYPICAL.tick), ..Costs::TYPICAL };
    // The costs of an unoptimised program hold for no other.
    if kept.is_none() && costs::path().is_some() && !cfg!(debug_assertions) && !MEASURED.swap(true, Relaxed) {
        // Without that thread the next program finds typical costs, too.
        let _ = std::thread::Builder::new().name("costs".into()).spawn(measure_and_keep);
    }
    *COSTS.get_or_compute(|| kept.map_or(typical, |kept| kept.costs))
}

/// Keeps the costs if all of them could be measured: the next process may find the machine quieter, or have
/// more processors.
fn measure_and_keep() {
    if sched::set_class(SchedClass::Idle, 0).is_ok()
        && let Ok(measured) = measure()
        && let Some(costs) = measured.complete()
    {
        let _ = costs::store(Kept { costs, quick: true });
    }
}

/// The costs, as far as they could be measured.
#[derive(Clone, Copy, Debug, Default)]
struct Measured {
    local_switch: Option<Nanos>,
    remote_wake: Option<Nanos>,
    waker: Option<Nanos>,
    yield_switch: Option<Nanos>,
    line_round_trip: Option<Nanos>,
    tick: Option<Nanos>,
}

impl Measured {
    /// All costs, if none is missing.
    fn complete(&self) -> Option<Costs> {
        Some(Costs {
            local_switch: self.local_switch?,
            remote_wake: self.remote_wake?,
            waker: self.waker?,
            yield_switch: self.yield_switch?,
            line_round_trip: self.line_round_trip?,
            tick: self.tick?,
        })
    }
}

/// A word for each of two partners to write.
type PingPongLines = [CachePadded<Word>; 2];

fn measure() -> Result<Measured, Error> {
    let allowed = affinity::allowed();
    let [yields, blocks, lines, calls]: [PingPongLines; 4] = Default::default();
    let tick = facts::tick();
    let here = allowed[0];
    let [yielded, blocked] = pair([here, here], |cpu, rank| {
        [round_trips(cpu, rank, &yields, Policy::Yield), round_trips(cpu, rank, &blocks, Policy::Block)]
    })?;
    // A switch that takes a good part of a tick went to another program.
    let switch = |samples| typical_of(samples).filter(|&half| tick.is_none_or(|tick| half * 4 < tick));
    let mut measured = Measured { yield_switch: switch(yielded), local_switch: switch(blocked), tick, ..Measured::default() };
    if let Some(&there) = allowed.get(1) {
        let woken_at = AtomicU64::new(0);
        let [spun, woken, called] = pair([here, there], |cpu, rank| {
            let spun = round_trips(cpu, rank, &lines, Policy::Spin);
            let [woken, called] = wakes(cpu, rank, &calls, &woken_at);
            [spun, woken, called]
        })?;
        measured.line_round_trip = typical_of(spun).map(|half| half * 2);
        (measured.remote_wake, measured.waker) = (typical_of(woken), typical_of(called));
    }
    Ok(measured)
}

/// Runs both partners on their processors; returns the first one's result.
fn pair<T: Send>(cpus: [CpuId; 2], body: impl Fn(&Thread, Rank) -> T + Sync) -> Result<T, Error> {
    let ends = run(
        2,
        |rank| Some(cpus[rank as usize]),
        |cpu, rank| {
            // No thread switches between real-time threads without need, and no other thread would run
            // meanwhile.
            if sched::is_realtime() {
                sched::set_class(SchedClass::Other, 0)?;
            }
            Ok(body(&cpu, rank))
        },
    )?;
    ends.into_iter().next().expect("two have ended")
}

/// The lower quartile, since disturbances make a measurement longer. `None` if there are too few samples, or
/// other programs disturbed them.
fn typical_of(mut samples: Vec<Nanos>) -> Option<Nanos> {
    samples.sort_unstable();
    let [quarter, half] = [4, 2].map(|part| samples.get(samples.len() / part).copied().unwrap_or_default());
    (samples.len() >= ENOUGH && quarter > Nanos::ZERO && half <= quarter * SPREAD).then_some(quarter)
}

/// The partners hand a word to and fro: halves of the first one's round trips.
fn round_trips(cpu: &Thread, rank: Rank, words: &PingPongLines, policy: Policy) -> Vec<Nanos> {
    let waiter = Waiter::new(policy, rank);
    let (mine, theirs) = (&words[rank as usize], &words[1 - rank as usize]);
    let (end, mut samples) = (cpu.now() + PART, Vec::with_capacity(ROUNDS as usize));
    for round in 1..=ROUNDS {
        let began = cpu.now();
        if rank == 0 {
            cpu.publish(mine, round);
        }
        if !comes(cpu, &waiter, theirs, round, end) {
            break;
        }
        if rank == 0 {
            samples.push(Nanos((cpu.now() - began).0 / 2));
        } else {
            cpu.publish(mine, round);
        }
    }
    samples
}

/// The first wakes the second: how long until that one runs, and the cost of the call to the first.
fn wakes(cpu: &Thread, rank: Rank, [call, answer]: &PingPongLines, woken_at: &AtomicU64) -> [Vec<Nanos>; 2] {
    let waiter = Waiter::new(if rank == 0 { Policy::Spin } else { Policy::Block }, rank);
    let (end, mut woken, mut called) = (cpu.now() + PART, vec![], vec![]);
    for round in 1..=WAKES {
        if rank == 0 {
            block_on(cpu.delay(IDLE));
            let began = cpu.now();
            cpu.publish(call, round);
            let returned = cpu.now();
            if !comes(cpu, &waiter, answer, round, end) {
                break;
            }
            called.push(returned - began);
            woken.push(Nanos(woken_at.load(Relaxed)) - began);
        } else {
            if !comes(cpu, &waiter, call, round, end) {
                break;
            }
            woken_at.store(cpu.now().0, Relaxed);
            cpu.publish(answer, round);
        }
    }
    [woken, called]
}

/// Waits for a value; `false` if it does not come in time.
fn comes(cpu: &Thread, waiter: &Waiter, word: &Word, value: u32, end: Nanos) -> bool {
    let why = || (WaitContext::new("costs", 0).until(end), WaitFor::Unknown);
    block_on(waiter.wait(cpu, word, false, why, || (cpu.load(word) == value).then_some(())).finish()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_measured_is_a_time() {
        let measured = measure().unwrap();
        for cost in [measured.local_switch, measured.remote_wake, measured.waker, measured.yield_switch, measured.line_round_trip]
        {
            // Each is measured in parts of a few milliseconds.
            assert!(cost.is_none_or(|cost| cost > Nanos::ZERO && cost < Nanos::from_ms(100)), "{measured:?}");
        }
        assert!(measured.remote_wake.is_none() || affinity::allowed().len() > 1);
    }

    #[test]
    fn a_quartile_needs_samples_of_one_kind() {
        assert_eq!(typical_of((1..=40).map(|us| Nanos(40 + us)).rev().collect()), Some(Nanos(51)));
        assert_eq!(typical_of((1..ENOUGH as u64).map(|us| Nanos(40 + us)).collect()), None);
        assert_eq!(typical_of(vec![Nanos::ZERO; 40]), None);
        let disturbed = [vec![Nanos(10); 15], vec![Nanos(4_000); 25]].concat();
        assert_eq!(typical_of(disturbed), None);
    }

    #[test]
    fn nothing_is_complete_until_everything_is_measured() {
        let some = Some(Nanos(1));
        let all = Measured {
            local_switch: some,
            remote_wake: some,
            waker: some,
            yield_switch: some,
            line_round_trip: some,
            tick: some,
        };
        assert!(all.complete().is_some() && Measured { waker: None, ..all }.complete().is_none());
    }

    #[test]
    fn a_partner_that_never_comes_is_not_waited_for() {
        let (cpu, words) = (Thread::current(), PingPongLines::default());
        for how in [Policy::Spin, Policy::Yield, Policy::Block] {
            assert!(round_trips(&cpu, 0, &words, how).is_empty());
        }
    }
}
