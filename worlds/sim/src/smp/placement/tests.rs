//! The verbs one by one, and programs that use them at random: every event is followed by the check of all
//! invariants.
use super::super::eevdf::{Eevdf, Group};
use super::super::linux24::Linux24;
use super::super::machine::ThreadSpec;
use super::super::options::{MachineSpec, Scheduler};
use super::super::prices::Prices;
use super::super::record::Record;
use super::super::round_robin::RoundRobin;
use super::super::world::Smp;
use super::*;
use crate::event::{Calendar, Heap};
use crate::word::SimWord;
use foregather_machine::{Clock, SplitMix, Words};
use proptest::prelude::*;
use std::cell::Cell;

const US: Nanos = Nanos::from_us(1);
const MS: Nanos = Nanos::from_ms(1);

const PRICES: Prices = Prices {
    switch: Nanos(1_100),
    switch_to_idle: Nanos(500),
    wake_idle: Nanos(19_000),
    waker: Nanos(12_000),
    preempt: Nanos::ZERO,
    yield_call: Nanos(300),
    yield_switch: Nanos(700),
    line: Nanos(100),
    migration: Nanos(2_000),
    move_call: Nanos(10_000),
    look: Nanos(1_600),
    tick_spread: Nanos::ZERO,
};

fn machine(cpus: u32, scheduler: Scheduler) -> MachineSpec {
    MachineSpec { cpus, prices: PRICES, scheduler, ..MachineSpec::tsafrir2002() }
}

fn fair() -> Scheduler {
    Scheduler::Eevdf(Eevdf { balance_interval: Nanos::ZERO, ..Eevdf::LINUX })
}

/// Threads of one process that ran last on these processors.
fn simulation(machine: &MachineSpec, starts: &[CpuId]) -> Smp<Heap> {
    let specs: Vec<_> = starts.iter().map(|&cpu| ThreadSpec { start: Some(cpu), ..ThreadSpec::default() }).collect();
    Smp::of(machine, &specs, 1, false, Nanos::MAX, Record::NOTHING)
}

/// Asserts that the thread is free to be moved again.
fn assert_free(cpu: &SmpCpu<'_, impl Queue>) {
    let kernel = cpu.kernel.borrow_mut();
    let it = kernel.machine.thread(cpu.thread);
    assert_eq!(it.confined, it.spec.pin());
}

#[test]
fn a_thread_runs_where_it_has_moved_to() {
    let smp = simulation(&machine(3, fair()), &[0]);
    let outputs = smp.run(async |cpu| {
        let mut began = cpu.now();
        for to in [1, 2, 0] {
            assert!(cpu.move_to(to).await);
            assert_eq!((cpu.place(), cpu.now() - began), (Some(to), Nanos(500 + 10_000 + 2_000)));
            assert_free(&cpu);
            began = cpu.now();
        }
        assert!(cpu.move_to(0).await && !cpu.move_to(3).await && !cpu.allows(3));
        assert_eq!(cpu.now(), began, "it is there already, or nowhere");
    });
    assert_eq!(outputs, [Some(())]);
}

#[test]
fn on_a_busy_processor_a_newcomer_takes_turns() {
    let smp = simulation(&machine(2, fair()), &[0, 1, 1]);
    let outputs = smp.run(async |cpu| {
        if cpu.number() > 0 {
            return cpu.delay(MS * 100).await;
        }
        cpu.delay(MS).await;
        assert!(cpu.move_to(1).await);
        assert!((MS * 4..MS * 20).contains(&cpu.now()), "{}", cpu.now());
        assert_eq!(cpu.place(), Some(1));
        assert_free(&cpu);
    });
    assert_eq!(outputs, [Some(()); 3]);
}

#[test]
fn a_preempted_thread_is_fetched_and_runs_at_once() {
    let smp = simulation(&machine(2, fair()), &[0, 1, 1]);
    let done = Cell::new(Nanos::MAX);
    smp.run(async |cpu| {
        if cpu.number() > 0 {
            // The two threads would take 20 ms on one processor.
            cpu.delay(MS * 10).await;
            done.set(done.get().min(cpu.now()));
            return;
        }
        assert!(!cpu.pull(0).await && !cpu.pull(4).await && !cpu.pull(1).await, "nobody, and itself");
        // This thread has waited for nearly a tick, so it is due about as much as the other one.
        cpu.delay(US * 7_900).await;
        let waits: Vec<_> = [2, 3].into_iter().filter(|&thread| cpu.running(thread) == Some(false)).collect();
        let &[waits] = &waits[..] else { panic!("one of two waits: {waits:?}") };
        assert!(!cpu.pull(5 - waits).await, "the other one runs");
        assert!(cpu.pull(waits).await);
        assert_eq!(cpu.kernel.borrow_mut().machine.thread(waits - 1).cpu, 0);
        assert_ne!(cpu.kernel.borrow_mut().machine.thread(waits - 1).split.compute, Nanos::ZERO);
    });
    assert!(done.get() < MS * 19, "{}", done.get());
}

#[test]
fn questions_and_pulls_are_paid_for() {
    let smp = simulation(&machine(2, fair()), &[0]);
    smp.run(async |cpu| {
        let cost = async |what: &dyn Fn() -> Option<bool>| {
            let (before, answer) = (cpu.now(), what());
            cpu.delay(US).await;
            (cpu.now() - before - US, answer)
        };
        assert_eq!(cost(&|| cpu.running(1)).await, (PRICES.look, Some(true)));
        assert_eq!(cost(&|| cpu.running(9)).await, (PRICES.look, None));
        assert_eq!(cost(&|| cpu.idle(1)).await, (PRICES.waker, Some(false)));
        cpu.delay(US * 10).await;
        assert_eq!(cost(&|| cpu.idle(1)).await, (Nanos::ZERO, Some(true)), "the scout has come back");
        assert_eq!(cost(&|| cpu.idle(2)).await, (Nanos::ZERO, None));
    });
}

#[test]
fn a_scout_answers_from_an_idle_processor_only() {
    let smp = simulation(&machine(2, fair()), &[0, 1]);
    smp.run(async |cpu| {
        if cpu.number() == 1 {
            return cpu.delay(MS * 10).await;
        }
        while cpu.now() < MS * 10 {
            assert_eq!(cpu.idle(1), Some(false), "at {}", cpu.now());
            cpu.delay(US * 50).await;
        }
        cpu.delay(US * 50).await;
        assert_eq!(cpu.idle(1), Some(true));
    });
}

#[test]
fn who_may_run_on_the_same_processors_has_the_same_fingerprint() {
    let group = |parent, quota_ms| Group { parent, quota: Some(MS * quota_ms), ..Group::named("g") };
    let rules = Eevdf { groups: vec![group(None, 150), group(Some(0), 400)], ..Eevdf::LINUX };
    let thread = |pin: Option<CpuId>, group| ThreadSpec { pins: pin.into_iter().collect(), group, ..ThreadSpec::default() };
    let specs = [(None, None), (None, Some(1)), (Some(2), None), (Some(2), Some(0)), (Some(0), None)].map(|(p, g)| thread(p, g));
    let smp = Smp::<Heap>::of(&machine(4, Scheduler::Eevdf(rules)), &specs, 1, false, Nanos::MAX, Record::NOTHING);
    let all: Vec<_> = (0..5).map(|thread| smp.cpu(thread).affinity().unwrap()).collect();
    let same = |one: usize, other: usize| all[one].fingerprint == all[other].fingerprint;
    assert!(same(0, 1) && same(2, 3) && !same(0, 2) && !same(2, 4) && all.iter().all(|affinity| affinity.fingerprint > 0));
    assert_eq!(all.iter().map(|affinity| affinity.width).collect::<Vec<_>>(), [4, 2, 1, 1, 1]);
    assert!(all.iter().all(|affinity| affinity.beyond == 4));
    assert!(smp.cpu(2).allows(2) && !smp.cpu(2).allows(1) && smp.cpu(0).allows(1));
}

#[test]
fn under_one_queue_nobody_is_moved() {
    let turns = Scheduler::RoundRobin(RoundRobin::TSAFRIR_2002);
    for scheduler in [turns, Scheduler::Linux24(Linux24::TSAFRIR_2002)] {
        let smp = simulation(&machine(1, scheduler), &[0, 0]);
        let outputs = smp.run(async |cpu| {
            assert_eq!(cpu.affinity(), None);
            assert!(!cpu.move_to(0).await);
            let other = 2 - cpu.number();
            cpu.delay(US * 10).await;
            (cpu.running(other), cpu.pull(other).await)
        });
        assert_eq!(outputs[0], Some((Some(false), false)));
    }
}

/// A program's next step, and the processor of it.
async fn step(cpu: &SmpCpu<'_, impl Queue>, word: &SimWord, random: &mut SplitMix) {
    let span = US * (1 + random.below(300));
    let (place, thread) = (random.below(6) as CpuId, random.below(8) as ThreadId);
    match random.below(12) {
        0 => cpu.delay(span * 20).await,
        1 | 2 => cpu.delay(span).await,
        3 => cpu.yield_now().await,
        4 => drop(cpu.spin_for(word, span, || None::<()>).await),
        5 => cpu.park(word, cpu.prepare_park(word), cpu.now() + span).await,
        6 => cpu.publish(word, thread),
        7 => drop((cpu.idle(place), cpu.running(thread), cpu.affinity())),
        8 | 9 => {
            let moved = cpu.move_to(place).await;
            assert!(!moved || cpu.place() == Some(place));
            assert!(!moved || cpu.allows(place));
        }
        _ => assert!(!cpu.pull(thread).await || Some(thread) != cpu.identity()),
    }
    assert_free(cpu);
}

/// Every program goes a few steps; all come to their ends. Returns the trace.
fn wander<Q: Queue>(machine: &MachineSpec, specs: &[ThreadSpec], seed: u64) -> (u64, u64) {
    let word = SimWord::default();
    let smp = Smp::<Q>::of(machine, specs, seed, true, Nanos::MAX, Record::NOTHING);
    let outputs = smp.run(async |cpu| {
        let mut random = SplitMix(seed ^ u64::from(cpu.number()) << 32);
        for _ in 0..60 {
            step(&cpu, &word, &mut random).await;
        }
    });
    assert!(outputs.iter().all(Option::is_some), "somebody waits forever: {outputs:?}");
    smp.history()
}

fn schedulers() -> impl Strategy<Value = Scheduler> {
    let fair = (any::<[bool; 2]>(), 200..5_000_u64, 0..9_u64, prop::option::of(4..30_u64), 0..3_usize);
    let fair = fair.prop_map(|([run_to_parity, wakeup_preemption], slice_us, balance_ms, quota_ms, placement)| {
        use super::super::eevdf::Placement::{IdleScan, Packing, Stay};
        let quota = quota_ms.map(|quota| MS * quota);
        let groups = vec![Group { quota, period: MS * 20, ..Group::named("g") }];
        let (slice, balance_interval, placement) = (US * slice_us, MS * balance_ms, [Stay, IdleScan, Packing][placement]);
        Scheduler::Eevdf(Eevdf { slice, run_to_parity, wakeup_preemption, placement, balance_interval, groups, ..Eevdf::LINUX })
    });
    let turns = Scheduler::RoundRobin(RoundRobin::TSAFRIR_2002);
    prop_oneof![6 => fair, 1 => Just(turns), 1 => Just(Scheduler::Linux24(Linux24::LINUX_2_4_16))]
}

fn threads() -> impl Strategy<Value = Vec<ThreadSpec>> {
    let pin = prop_oneof![3 => Just(None), 1 => (0..2_u32).prop_map(Some)];
    let thread = (pin, prop::option::of(0..2_u32), -3..4_i8, any::<bool>());
    let thread = thread.prop_map(|(pin, start, nice, limited)| ThreadSpec {
        pins: pin.into_iter().collect(),
        start,
        nice,
        group: limited.then_some(0),
        ..ThreadSpec::default()
    });
    prop::collection::vec(thread, 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn wanderers_keep_every_invariant(scheduler in schedulers(), specs in threads(), cpus in 2..5_u32, seed: u64) {
        let mut machine = machine(cpus, scheduler);
        machine.prices = if seed.is_multiple_of(3) { Prices::TSAFRIR_2002 } else { machine.prices };
        prop_assert_eq!(wander::<Heap>(&machine, &specs, seed), wander::<Calendar>(&machine, &specs, seed));
    }
}
