//! What waiting is made of on this machine: the two context switches, the waker's cost, the yield, the line.
//!
//! Each price is measured by the very verbs that the policies use, with two threads; medians. A tenth of a
//! second in all.
use foregather_host::{affinity, clock, facts, futex, usage};
use foregather_machine::{Clock, Costs, CpuId, Error, Nanos, Park, WaitContext, Words, block_on};
use foregather_thread::{Scope, Thread, Word};
use foregather_wait::{Policy, WaitFor, Waiter};
use std::hint::black_box;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// How long the partner's processor is left idle before it is woken.
const IDLE: Nanos = Nanos::from_us(50);
/// No hand-over takes longer, whatever else runs on the machine.
const BOUND: Nanos = Nanos::from_ms(2_000);

/// How long the background load computes at most.
const STRANGER: Nanos = Nanos::from_ms(300);

/// One price, its unit always the nanosecond.
#[derive(Clone, Debug, PartialEq)]
pub struct Price {
    /// Its name in results.
    pub name: &'static str,
    /// What it is the price of.
    pub what: &'static str,
    /// All that was measured.
    pub samples_ns: Vec<f64>,
}

impl Price {
    fn median(&self) -> f64 {
        let mut sorted = self.samples_ns.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
    }
}

/// All prices, and what a waiter needs of them. With one processor there is no remote wake; the typical one
/// stands in.
///
/// # Errors
/// If a thread cannot be pinned, or a partner never answered.
pub fn measure() -> Result<(Vec<Price>, Costs), Error> {
    let allowed = affinity::allowed();
    let here = allowed[0];
    let mut prices = singles();
    prices.push(round_trip(
        "local_switch_ns",
        "block, and run another thread of this processor",
        (here, here),
        Policy::Block,
        600,
    )?);
    prices.push(round_trip("yield_switch_ns", "yield to another thread of this processor", (here, here), Policy::Yield, 600)?);
    prices.push(tick(here)?);
    if let Some(&there) = allowed.get(1) {
        prices.push(line(here, there)?);
        prices.extend(remote_wake(here, there, false)?);
    }
    let price = |name: &str, typical: Nanos| {
        let median = prices.iter().find(|price| price.name == name).map(Price::median);
        median.filter(|ns| ns.is_finite() && *ns >= 1.0).map_or(typical, |ns| Nanos(ns as u64))
    };
    let costs = Costs {
        local_switch: price("local_switch_ns", Costs::TYPICAL.local_switch),
        remote_wake: price("remote_wake_ns", Costs::TYPICAL.remote_wake),
        waker: price("waker_ns", Costs::TYPICAL.waker),
        yield_switch: price("yield_switch_ns", Costs::TYPICAL.yield_switch),
        line_round_trip: price("line_round_trip_ns", Costs::TYPICAL.line_round_trip),
        // The kernel's own: a background thread's time slice lasts a few of them, and longer under more load.
        tick: facts::tick().unwrap_or_else(|| price("tick_ns", Costs::TYPICAL.tick)),
    };
    Ok((prices, costs))
}

/// What a thread pays alone.
fn singles() -> Vec<Price> {
    let word = AtomicU32::new(0);
    vec![
        single("clock_read_ns", "read the clock", clock::now),
        single("place_ns", "ask where this thread runs", affinity::current),
        single("pause_ns", "one pause of a spin loop", foregather_host::pause::pause),
        single("yield_alone_ns", "yield when nobody else wants the processor", std::thread::yield_now),
        single("wake_nobody_ns", "call the kernel to wake nobody", || futex::wake_all(&word, Scope::Private)),
        single("thread_cpu_ns", "read this thread's processor time", usage::thread_cpu),
    ]
}

fn single<T>(name: &'static str, what: &'static str, mut verb: impl FnMut() -> T) -> Price {
    const BATCH: u64 = 200;
    let mut batch = || {
        let began = clock::cycles();
        for _ in 0..BATCH {
            black_box(verb());
        }
        clock::cycles_to_nanos(clock::cycles() - began).0 as f64 / BATCH as f64
    };
    Price { name, what, samples_ns: (0..50).map(|_| batch()).collect() }
}

/// Two threads hand a word to and fro; the samples are half round trips of member 0.
fn round_trip(name: &'static str, what: &'static str, cpus: (CpuId, CpuId), policy: Policy, rounds: u32) -> Result<Price, Error> {
    let words: [foregather_barrier::CachePadded<Word>; 2] = Default::default();
    let place = |rank| Some(if rank == 0 { cpus.0 } else { cpus.1 });
    let ends = foregather_thread::run(2, place, |cpu, rank| {
        let (mine, theirs) = (&words[rank as usize], &words[1 - rank as usize]);
        let (mut samples, waiter) = (Vec::with_capacity(rounds as usize), Waiter::new(policy, rank));
        for round in 1..=rounds {
            let began = cpu.now();
            let wait = || {
                let why = || (WaitContext::new("price", rank).of(1 - rank).until(cpu.now() + BOUND), WaitFor::Unknown);
                block_on(waiter.wait(&cpu, theirs, false, why, || (cpu.load(theirs) == round).then_some(())).finish())
            };
            if rank == 0 {
                cpu.publish(mine, round);
                wait()?;
                samples.push((cpu.now() - began).0 as f64 / 2.0);
            } else {
                wait()?;
                cpu.publish(mine, round);
            }
        }
        Ok::<_, Error>(samples)
    })?;
    let samples_ns = ends.into_iter().next().unwrap_or(Ok(vec![]))?;
    Ok(Price { name, what, samples_ns })
}

/// A line goes to another processor and back.
fn line(here: CpuId, there: CpuId) -> Result<Price, Error> {
    let mut line = round_trip("line_round_trip_ns", "a line to another processor and back", (here, there), Policy::Spin, 1_000)?;
    line.samples_ns.iter_mut().for_each(|half| *half *= 2.0);
    Ok(line)
}

/// How long a line takes to another processor and back at this moment: the median. A hypervisor that moves
/// virtual processors between cores changes it. `None` with one processor.
///
/// # Errors
/// As [`measure`].
pub fn line_round_trip() -> Result<Option<Nanos>, Error> {
    let allowed = affinity::allowed();
    let Some(&there) = allowed.get(1) else { return Ok(None) };
    let median = line(allowed[0], there)?.median();
    Ok((median >= 1.0).then_some(Nanos(median as u64)))
}

/// By how much the interrupt of a tick lasts longer than the shortest one, on average, as a thread sees it
/// that only computes. `None` if the kernel does not say how long a tick is.
///
/// # Errors
/// If a thread cannot be pinned.
pub fn tick_spread() -> Result<Option<Nanos>, Error> {
    const TICKS: usize = 30;
    let Some(tick) = facts::tick() else { return Ok(None) };
    let here = affinity::allowed()[0];
    let gaps = foregather_thread::run(1, |_| Some(here), |_, _| (0..TICKS).map(|_| longest_gap(tick)).collect::<Vec<_>>())?;
    let gaps: Vec<u64> = gaps.into_iter().flatten().collect();
    let least = gaps.iter().copied().min().unwrap_or(0);
    let mean = gaps.iter().map(|gap| gap - least).sum::<u64>() / TICKS as u64;
    Ok(Some(clock::cycles_to_nanos(mean)))
}

/// The longest time between two looks at the clock during a span, in cycles.
fn longest_gap(span: Nanos) -> u64 {
    let (mut last, mut longest) = (clock::cycles(), 0);
    let end = last + clock::nanos_to_cycles(span);
    while last < end {
        let now = clock::cycles();
        longest = longest.max(now - last);
        last = now;
    }
    longest
}

/// How long it takes to wake a sleeper whose processor is busy with another thread, which it preempts: the
/// median. `None` with one processor.
///
/// # Errors
/// As [`measure`].
pub fn busy_wake() -> Result<Option<Nanos>, Error> {
    let allowed = affinity::allowed();
    let Some(&there) = allowed.get(1) else { return Ok(None) };
    let [wake, _] = remote_wake(allowed[0], there, true)?;
    Ok(Some(Nanos(wake.median() as u64)))
}

/// Wakes a sleeper on another processor, which is idle or runs a busy thread: how long until the sleeper
/// runs, and what that costs the waker.
fn remote_wake(here: CpuId, there: CpuId, busy: bool) -> Result<[Price; 2], Error> {
    const ROUNDS: u32 = 200;
    let (call, answer, woken_at) = (Word::default(), Word::default(), std::sync::atomic::AtomicU64::new(0));
    let over = AtomicU32::new(0);
    let place = |rank| Some(if rank == 0 { here } else { there });
    let ends = foregather_thread::run(if busy { 3 } else { 2 }, place, |cpu, rank| {
        let (mut wakes, mut calls) = (vec![], vec![]);
        if rank == 2 {
            // Bounded, because under a real-time class nothing takes the processor away from it.
            let end = cpu.now() + BOUND;
            crate::hog(|| over.load(Relaxed) != 0 || cpu.now() > end);
            return Ok((wakes, calls));
        }
        let waiter = Waiter::new(if rank == 0 { Policy::Spin } else { Policy::Block }, rank);
        let wait = |on: &Word, round| {
            let why = || (WaitContext::new("price", rank).of(1 - rank).until(cpu.now() + BOUND), WaitFor::Unknown);
            block_on(waiter.wait(&cpu, on, false, why, || (cpu.load(on) == round).then_some(())).finish())
        };
        for round in 1..=ROUNDS {
            if rank == 0 {
                block_on(cpu.delay(IDLE));
                let began = cpu.now();
                cpu.publish(&call, round);
                calls.push((cpu.now() - began).0 as f64);
                wait(&answer, round)?;
                wakes.push((Nanos(woken_at.load(Relaxed)) - began).0 as f64);
            } else {
                wait(&call, round)?;
                woken_at.store(cpu.now().0, Relaxed);
                cpu.publish(&answer, round);
            }
        }
        over.store(1, Relaxed);
        Ok::<_, Error>((wakes, calls))
    })?;
    let (wakes, calls) = ends.into_iter().next().unwrap_or(Ok((vec![], vec![])))?;
    let wake = Price { name: "remote_wake_ns", what: "wake a sleeper on another, idle processor", samples_ns: wakes };
    Ok([wake, Price { name: "waker_ns", what: "what that wake costs the waker", samples_ns: calls }])
}

/// Yields to a background thread that computes: it keeps the processor until some tick of the scheduler.
fn tick(here: CpuId) -> Result<Price, Error> {
    const YIELDS: usize = 9;
    let stop = AtomicU32::new(0);
    let ends = foregather_thread::run(
        2,
        |_| Some(here),
        |cpu: Thread, rank| {
            if rank == 1 {
                // Bounded, since under a real-time class nothing would take the processor away from it.
                let end = cpu.now() + STRANGER;
                crate::hog(|| stop.load(Relaxed) != 0 || cpu.now() > end);
                return vec![];
            }
            let timed_yield = |_| {
                let began = cpu.now();
                block_on(cpu.yield_now());
                (cpu.now() - began).0 as f64
            };
            // Some yields come back at once, before the background thread's slice: not what is asked here.
            let long = (0..200).map(timed_yield).filter(|ns| *ns > 200_000.0).take(YIELDS).collect();
            stop.store(1, Relaxed);
            long
        },
    )?;
    let samples_ns = ends.into_iter().next().unwrap_or_default();
    Ok(Price { name: "tick_ns", what: "yield to a background thread that computes", samples_ns })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_takes_some_time_and_ticks_differ_by_less_than_a_tick() {
        if affinity::allowed().len() > 1 {
            assert!(line_round_trip().unwrap().is_some_and(|line| line > Nanos(5)));
        }
        let spread = tick_spread().unwrap();
        assert!(spread.is_none_or(|spread| spread < Nanos::from_ms(100)), "{spread:?}");
        assert!(longest_gap(Nanos::from_us(100)) > 0);
    }

    #[test]
    fn every_price_has_samples_and_the_dear_ones_are_dearer() {
        let (prices, costs) = measure().unwrap();
        for price in &prices {
            assert!(price.name == "tick_ns" || !price.samples_ns.is_empty(), "{}", price.name);
            assert!(price.samples_ns.iter().all(|ns| *ns >= 0.0), "{price:?}");
        }
        assert!(costs.local_switch > Nanos::ZERO && costs.yield_switch > Nanos::ZERO);
        assert!(foregather_host::facts::tick().is_none_or(|tick| costs.tick == tick), "the kernel knows better: {costs:?}");
        assert!(costs.tick > costs.yield_switch, "a background thread's time slice is longer than a hand-over: {costs:?}");
    }
}
