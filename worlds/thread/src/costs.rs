//! What switching costs here: kept from an earlier run, or measured in passing, in less than 20 ms.
//!
//! The lab measures with more care; what it keeps goes before this.
use crate::{Thread, Word, run};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use foregather_host::costs::{self, Kept};
use foregather_host::sched::{self, SchedClass};
use foregather_host::{affinity, facts, forks};
use foregather_machine::{CachePadded, Clock, Costs, CpuId, Error, Nanos, Rank, WaitContext, Words, block_on};
use foregather_wait::{Policy, WaitFor, Waiter};
use std::sync::OnceLock;
use std::time::Duration;

/// How often it is looked whether another thread has found the costs out.
const MOMENT: Duration = Duration::from_micros(50);
/// How long one of the four parts takes at most.
const PART: Nanos = Nanos::from_ms(4);
/// How long a processor is left idle before a sleeper there is woken.
const IDLE: Nanos = Nanos::from_us(50);
/// Round trips of a part, and wakes.
const ROUNDS: u32 = 200;
const WAKES: u32 = 40;
/// Fewer samples than that tell nothing.
const ENOUGH: usize = 20;

static COSTS: OnceLock<Costs> = OnceLock::new();
/// Who is finding them out: one more than the generation of its process, or nobody.
static BEGUN: AtomicU32 = AtomicU32::new(0);

/// The costs that every wait of this process reckons with. One thread finds them out, and the others wait for it; in the child of
/// a fork it is not there, and another one begins anew.
pub(crate) fn of_this_machine() -> Costs {
    loop {
        if let Some(costs) = COSTS.get() {
            return *costs;
        }
        let (begun, here) = (BEGUN.load(Relaxed), forks::generation() + 1);
        if begun == here {
            std::thread::sleep(MOMENT);
        } else if BEGUN.compare_exchange(begun, here, Relaxed, Relaxed).is_ok() {
            let _ended = Ended;
            // Not within the initialisation, whose lock a fork would copy.
            let costs = costs::load().ok().flatten().map_or_else(measured_and_kept, |kept| kept.costs);
            return *COSTS.get_or_init(|| costs);
        }
    }
}

/// Nobody is finding out the costs any more, whatever came of it.
struct Ended;

impl Drop for Ended {
    fn drop(&mut self) {
        BEGUN.store(0, Relaxed);
    }
}

/// What cannot be measured is taken for typical. It is kept only if all of it was measured, since the next process may find
/// the machine quieter or have more processors, and only by an optimised program, since it holds for all.
fn measured_and_kept() -> Costs {
    let measured = measure().unwrap_or_default();
    let costs = measured.or(Costs::TYPICAL);
    if measured.is_complete() && !cfg!(debug_assertions) {
        // Without a place to keep them every process measures anew.
        let _ = costs::store(Kept { costs, quick: true });
    }
    costs
}

/// As far as it could be measured.
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
    fn is_complete(&self) -> bool {
        let all = [self.local_switch, self.remote_wake, self.waker, self.yield_switch, self.line_round_trip, self.tick];
        all.iter().all(Option::is_some)
    }

    fn or(&self, typical: Costs) -> Costs {
        Costs {
            local_switch: self.local_switch.unwrap_or(typical.local_switch),
            remote_wake: self.remote_wake.unwrap_or(typical.remote_wake),
            waker: self.waker.unwrap_or(typical.waker),
            yield_switch: self.yield_switch.unwrap_or(typical.yield_switch),
            line_round_trip: self.line_round_trip.unwrap_or(typical.line_round_trip),
            tick: self.tick.unwrap_or(typical.tick),
        }
    }
}

/// One for each of two partners to write.
type PingPongLines = [CachePadded<Word>; 2];

fn measure() -> Result<Measured, Error> {
    let allowed = affinity::allowed();
    let [yields, blocks, lines, calls]: [PingPongLines; 4] = Default::default();
    let tick = facts::tick();
    let here = allowed[0];
    let [yielded, blocked] = pair([here, here], |cpu, rank| {
        [round_trips(cpu, rank, &yields, Policy::Yield), round_trips(cpu, rank, &blocks, Policy::Block)]
    })?;
    // A switch that takes a good part of a tick went to somebody else.
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

/// Runs both partners on their processors; what the first one gave.
fn pair<T: Send>(cpus: [CpuId; 2], body: impl Fn(&Thread, Rank) -> T + Sync) -> Result<T, Error> {
    let ends = run(
        2,
        |rank| Some(cpus[rank as usize]),
        |cpu, rank| {
            // Nobody switches between real-time threads for nothing, and no other thread would run meanwhile.
            if sched::is_realtime() {
                sched::set_class(SchedClass::Other, 0)?;
            }
            Ok(body(&cpu, rank))
        },
    )?;
    ends.into_iter().next().expect("two have ended")
}

/// The lower quartile: what disturbs a measurement makes it longer.
fn typical_of(mut samples: Vec<Nanos>) -> Option<Nanos> {
    samples.sort_unstable();
    samples.get(samples.len() / 4).copied().filter(|&ns| samples.len() >= ENOUGH && ns > Nanos::ZERO)
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

/// The first wakes the second: how long until that runs, and what it costs the first.
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

/// Waits for a value; `false` if it has not come in time.
fn comes(cpu: &Thread, waiter: &Waiter, word: &Word, value: u32, end: Nanos) -> bool {
    let why = || (WaitContext::new("costs", 0).until(end), WaitFor::Unknown);
    block_on(waiter.wait(cpu, word, false, why, || (cpu.load(word) == value).then_some(())).finish()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_measured_is_a_time_and_the_rest_is_typical() {
        let measured = measure().unwrap();
        let costs = measured.or(Costs::TYPICAL);
        for cost in [costs.local_switch, costs.remote_wake, costs.waker, costs.yield_switch, costs.line_round_trip] {
            // Any of them is measured in parts of a few milliseconds.
            assert!(cost > Nanos::ZERO && cost < Nanos::from_ms(100), "{measured:?}");
        }
        assert!(costs.tick > costs.yield_switch, "{measured:?}");
        assert!(measured.remote_wake.is_none() || affinity::allowed().len() > 1);
        assert_eq!(Measured::default().or(Costs::TYPICAL), Costs::TYPICAL);
    }

    #[test]
    fn a_quartile_needs_samples() {
        assert_eq!(typical_of((1..=40).map(Nanos).rev().collect()), Some(Nanos(11)));
        assert_eq!(typical_of((1..ENOUGH as u64).map(Nanos).collect()), None);
        assert_eq!(typical_of(vec![Nanos::ZERO; 40]), None);
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
        assert!(all.is_complete() && !Measured { waker: None, ..all }.is_complete());
    }

    #[test]
    fn a_partner_that_never_comes_is_not_waited_for() {
        let (cpu, words) = (Thread::current(), PingPongLines::default());
        for how in [Policy::Spin, Policy::Yield, Policy::Block] {
            assert!(round_trips(&cpu, 0, &words, how).is_empty());
        }
    }
}
