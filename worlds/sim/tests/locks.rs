//! Threads that share a lock: cases computed by hand, and random ones.
use foregather_machine::Nanos;
use foregather_sim::event::{Calendar, Heap};
use foregather_sim::smp::{
    Distribution, Eevdf, Fault, FaultKind, Job, JobLock, JobOutcome, LockKind, MachineSpec, Outcome, Preemption, Prices, Record,
    RoundRobin, Scheduler, State, Stop, Study, run, run_on,
};
use foregather_wait::Policy;
use proptest::prelude::*;

fn us(n: u64) -> Nanos {
    Nanos::from_us(n)
}

fn constant(n: u64) -> Distribution {
    Distribution::Constant(us(n))
}

/// Round robin with a quantum of 100 us, in which a switch takes 6 us and nothing else takes time.
fn turns(cpus: u32, jobs: Vec<Job>) -> Study {
    let scheduler = Scheduler::RoundRobin(RoundRobin::TSAFRIR_2002);
    let machine = MachineSpec { cpus, scheduler, ..MachineSpec::tsafrir2002() };
    let limit = Nanos::from_ms(10_000);
    Study { machine, jobs, stop: Stop::AllJobs, limit, seed: 1, shuffled: false, record: Record::NOTHING }
}

fn outcome(study: &Study) -> Outcome {
    run(study, || true).unwrap()
}

fn of(cpus: u32, job: Job) -> JobOutcome {
    outcome(&turns(cpus, vec![job])).jobs[0].clone()
}

/// Two threads on one processor: 10 us, then 60 us with the lock, three times each.
fn pair(kind: LockKind) -> Job {
    Job::locking("pair", 2, 3, constant(10), JobLock::new(kind, constant(60)))
}

/// The first thread is preempted while it holds the lock, so the second takes the next ticket and spins. From
/// then on each handover finds its thread without a processor: the one that has it spins to the end of its
/// quantum, and each acquisition costs a quantum and a switch.
#[test]
fn a_preempted_holder_of_a_ticket_lock_costs_a_round_of_quanta() {
    // A: to 6 + 100 with two sections begun. B: 112 to 212, spins from 122 on. A: 218 to 318, releases at 258
    // and spins from 268 on. B: 324 to 424, holds until 384, spins from 394 on. A: 430, holds until 490 and
    // ends. B: 496, holds until 556, computes until 566, holds until 626.
    for kind in [LockKind::Ticket, LockKind::Mcs] {
        let all = of(1, pair(kind));
        assert_eq!((all.acquisitions, all.finished), (6, Some(us(626))), "{kind:?}");
        // B from 122, A from 268, B from 394, each until it has the lock.
        assert_eq!((all.waits.worst, all.waits.waited), (us(324 - 122), us(202 + 430 - 268 + 496 - 394)), "{kind:?}");
    }
}

/// A thread that sleeps instead gives its processor back at once: the holder goes on after two switches.
#[test]
fn a_preempted_holder_of_a_futex_costs_two_switches() {
    // A: to 106 with two sections begun. B: 112, sleeps at 122. A: 128, releases at 168 and wakes B, which
    // queues up; computes until 178 and holds the lock until 228, the end of its quantum, with 10 us left. B:
    // 234, looks and sleeps again. A: 240, releases at 250 and ends. B: 256 to 316, 326 to 356, alone from
    // then on: a quantum that ends is renewed without a switch. 356 + 30 + 70.
    let all = of(1, pair(LockKind::Futex));
    assert_eq!((all.acquisitions, all.finished), (6, Some(us(256 + 60 + 70 + 70))));
    assert_eq!(all.waits.worst, us(256 - 122));
}

/// Three threads on three processors, of which the one that comes first gets the lock first.
#[test]
fn queues_are_served_in_the_order_of_arrival() {
    let think = [30, 10, 20].map(constant);
    for kind in [LockKind::Ticket, LockKind::Mcs] {
        for policy in [Policy::Spin, Policy::Block] {
            let lock = JobLock::new(kind, constant(100));
            let job = Job { policy, ..Job::locking("queue", 3, 1, Distribution::ByRank(think.clone().into()), lock) };
            let all = of(3, job);
            // All run from 6 on. The second comes at 16 and holds until 116, the third waits for 90 us, the
            // first for 180 us: a spinner goes on at once, a sleeper after a switch.
            let switch = if policy == Policy::Block { 6 } else { 0 };
            let end = 316 + 2 * switch;
            assert_eq!((all.finished, all.waits.worst), (Some(us(end)), us(180 + 2 * switch)), "{kind:?} {policy}");
            assert_eq!(all.waits.waited, us(90 + switch + 180 + 2 * switch), "{kind:?} {policy}");
        }
    }
}

/// One sleeper is woken by each release, after the switch of an idle processor; the others sleep on.
#[test]
fn a_futex_wakes_one_sleeper_a_release() {
    let lock = JobLock::new(LockKind::Futex, constant(50));
    let think = [10, 20, 30, 40].map(constant);
    let study = turns(4, vec![Job::locking("sleepers", 4, 1, Distribution::ByRank(think.into()), lock)]);
    let all = outcome(&study);
    // The first holds from 16 to 66; each of the others runs 6 us after a release.
    assert_eq!((all.jobs[0].finished, all.counts.wakes), (Some(us(66 + 3 * 56)), 3));
    assert_eq!(all.jobs[0].waits.parked, 3);
    let ticket = Job { policy: Policy::Block, lock: Some(JobLock::new(LockKind::Ticket, constant(50))), ..study.jobs[0].clone() };
    let herd = outcome(&turns(4, vec![ticket]));
    assert_eq!((herd.jobs[0].finished, herd.counts.wakes), (Some(us(66 + 3 * 56)), 3 + 2 + 1), "a ticket wakes all of them");
}

/// A two-phase waiter spins as long as its bound, then sleeps.
#[test]
fn a_two_phase_waiter_spins_first() {
    for (spin, parked) in [(39, 1), (41, 0)] {
        let lock = JobLock::new(LockKind::TwoPhase { spin: us(spin) }, constant(50));
        let all = of(2, Job::locking("pair", 2, 1, Distribution::ByRank([10, 20].map(constant).into()), lock));
        assert_eq!((all.waits.parked, all.waits.spun), (parked, 1 - parked), "{spin}");
    }
}

/// A fault that has to read its page keeps the lock while nobody runs; one that need not takes its processor.
#[test]
fn page_faults_lengthen_critical_sections() {
    for (kind, computed) in [(FaultKind::Minor, 10 + 50 + 300), (FaultKind::Major, 10 + 50)] {
        let fault = Fault { chance: 1.0, takes: constant(300), kind };
        let lock = JobLock { fault: Some(fault), ..JobLock::new(LockKind::Ticket, constant(50)) };
        let all = outcome(&turns(1, vec![Job::locking("alone", 1, 1, constant(10), lock)]));
        assert_eq!(all.split.compute, us(computed), "{kind:?}");
        let wakes = u64::from(kind == FaultKind::Major);
        assert_eq!((all.time, all.counts.wakes), (us(6 + 360 + 6 * wakes), wakes), "{kind:?}");
    }
    let never = Fault { chance: 0.0, takes: constant(300), kind: FaultKind::Major };
    let lock = JobLock { fault: Some(never), ..JobLock::new(LockKind::Spin, constant(50)) };
    assert_eq!(of(1, Job::locking("alone", 1, 10, constant(10), lock)).finished, Some(us(606)));
}

/// How long after 5 ms a thread that then wakes begins to run, beside one that computes for `think` and then
/// holds a lock on the same processor. Ticks come every 4 ms.
fn wakes_beside_a_holder(rules: Eevdf, think: u64, lock: JobLock) -> Nanos {
    let holder = Job::locking("holder", 1, 2, constant(think), lock);
    // Its slice is short, so its deadline is the earlier one when it wakes.
    let slice = Some(Eevdf::LEAST_SLICE);
    let sleeper = Job { compute: constant(10), rest: Some(constant(5_000)), slice, ..Job::load("sleeper", 1) };
    let mut study = turns(1, vec![sleeper, holder]);
    study.machine.scheduler = Scheduler::Eevdf(rules);
    study.record.spans = 100;
    let spans = outcome(&study).recorded.spans;
    let again = spans.iter().find(|span| span.thread == 0 && span.state == State::Compute && span.from > us(4_000));
    again.map(|span| span.from - us(5_000)).expect("the sleeper runs again")
}

#[test]
fn preemption_models_differ_in_the_kernel() {
    let fault = Fault { chance: 1.0, takes: constant(20_000), kind: FaultKind::Minor };
    // The sleeper's first computation and a switch come before its 5 ms; the fault begins at about that time.
    for (preemption, user, kernel) in [
        (Preemption::Full, 0, 0),
        (Preemption::None, 0, 15_000),
        (Preemption::Voluntary, 0, 5_000),
        (Preemption::Lazy, 3_000, 3_000),
    ] {
        let rules = Eevdf { preemption, ..Eevdf::LINUX };
        for (hold, fault, expected) in [(20_000, None, user), (2, Some(fault.clone()), kernel)] {
            let late = wakes_beside_a_holder(rules.clone(), 1, JobLock { fault, ..JobLock::new(LockKind::Spin, constant(hold)) });
            assert!(late >= us(expected) && late <= us(expected + 60), "{preemption:?}: {late}");
        }
    }
}

/// A fault that ends before the next tick is a preemption point of the lazy model.
#[test]
fn a_lazy_preemption_comes_when_a_fault_returns() {
    let fault = Fault { chance: 1.0, takes: constant(6_500), kind: FaultKind::Minor };
    for (preemption, expected) in [(Preemption::Lazy, 1_500), (Preemption::None, 1_500), (Preemption::Full, 0)] {
        let lock = JobLock { fault: Some(fault.clone()), ..JobLock::new(LockKind::Spin, constant(2)) };
        let late = wakes_beside_a_holder(Eevdf { preemption, ..Eevdf::LINUX }, 1, lock);
        assert!(late >= us(expected) && late <= us(expected + 60), "{preemption:?}: {late}");
    }
}

#[test]
fn an_extended_slice_lasts_until_the_critical_section_ends_or_its_time_is_over() {
    let rules = Eevdf { slice_extension: us(40), ..Eevdf::LINUX };
    // The section begins after the tick at 4 ms, which would use the extension up.
    let late = |hold, extend| {
        wakes_beside_a_holder(rules.clone(), 4_900, JobLock { extend, ..JobLock::new(LockKind::Spin, constant(hold)) })
    };
    let at_once = late(20_000, false);
    assert_eq!(late(20_000, true) - at_once, us(40));
    // A holder that is through sooner gives the processor back then.
    let (shorter, short) = (late(120, true), late(125, true));
    assert_eq!(short - shorter, us(5));
    assert!(shorter > at_once && short < at_once + us(40), "{at_once} {shorter} {short}");
}

#[test]
fn impossible_locks_are_named() {
    let job = |lock| turns(1, vec![Job::locking("db", 2, 1, constant(10), lock)]).check().unwrap_err();
    let held = job(JobLock::new(LockKind::Spin, Distribution::Constant(Nanos::MAX)));
    assert!(held.starts_with("job `db` holds its lock for impossible times"), "{held}");
    let fault = Fault { chance: 1.5, takes: constant(1), kind: FaultKind::Minor };
    let faulty = job(JobLock { fault: Some(fault), ..JobLock::new(LockKind::Spin, constant(1)) });
    assert_eq!(faulty, "job `db` has a chance 1.5 of a page fault: it is 0 to 1");
}

fn any_kind() -> impl Strategy<Value = LockKind> {
    prop::sample::select(vec![
        LockKind::Spin,
        LockKind::Ticket,
        LockKind::Mcs,
        LockKind::Futex,
        LockKind::TwoPhase { spin: us(12) },
    ])
}

fn any_policy() -> impl Strategy<Value = Option<Policy>> {
    let spin_yield = Policy::SpinThenYield { spin: us(6) };
    prop::sample::select(vec![
        None,
        Some(Policy::Block),
        Some(Policy::Yield),
        Some(spin_yield),
        Some(Policy::TwoPhase { spin: us(6) }),
    ])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    /// No wake-up is lost, no two threads hold the lock at once, and both event queues give the same trace.
    #[test]
    fn every_lock_is_taken_as_often_as_it_should(
        kind in any_kind(), policy in any_policy(), threads in 1_u32..9, cpus in 1_u32..5, eevdf in any::<bool>(),
        hold in 1_u64..80, think in 1_u64..80, chance in prop::sample::select(vec![0.0, 0.3]), seed in 0_u64..1_000,
    ) {
        let fault = Fault { chance, takes: constant(30), kind: if seed % 2 == 0 { FaultKind::Minor } else { FaultKind::Major } };
        let exponential = |mean: u64| Distribution::Exponential { mean_ns: mean as f64 * 1e3 };
        let lock = JobLock { fault: Some(fault), extend: seed % 3 == 0, ..JobLock::new(kind, exponential(hold)) };
        let job = Job::locking("any", threads, 20, exponential(think), lock);
        let job = Job { policy: policy.unwrap_or(job.policy), ..job };
        let mut study = Study { seed, ..turns(cpus, vec![job, Job::load("hog", 1)]) };
        if eevdf {
            let models = [Preemption::None, Preemption::Voluntary, Preemption::Full, Preemption::Lazy];
            let (preemption, slice_extension) = (models[seed as usize % 4], us(seed % 2 * 5));
            study.machine.scheduler = Scheduler::Eevdf(Eevdf { preemption, slice_extension, ..Eevdf::LINUX });
            study.machine.prices = Prices { waker: us(2), line: Nanos(100), ..Prices::TSAFRIR_2002 };
        }
        let all = outcome(&study);
        prop_assert_eq!(all.jobs[0].acquisitions, u64::from(threads) * 20);
        prop_assert!(all.jobs[0].finished.is_some());
        let heap = run_on::<Heap>(&study, || true).unwrap();
        let calendar = run_on::<Calendar>(&study, || true).unwrap();
        prop_assert_eq!(heap.trace, calendar.trace);
    }
}
