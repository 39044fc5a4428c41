//! Threads that share processors: the suite of all worlds, closed forms, determinism, and random studies.
use foregather_conformance::{World, barrier, broadcast, cpu, harmonize, tasks, team};
use foregather_machine::{Nanos, Rank};
use foregather_sim::event::{Calendar, Heap};
use foregather_sim::smp::{
    Accounting, Distribution, Eevdf, Granularity, Insertion, Job, Linux24, MachineSpec, Outcome, Prices, Record, RoundRobin,
    Scheduler, Smp, SmpCpu, State, Stop, Study, Ties, Wakeup, run, run_on, transition,
};
use foregather_wait::Policy;
use proptest::prelude::*;

fn us(n: u64) -> Nanos {
    Nanos::from_us(n)
}

const SPIN_CS: Policy = Policy::TwoPhase { spin: Nanos::from_us(6) };
const SPIN_2CS_PLUS: Policy = Policy::TwoPhase { spin: Nanos::from_us(14) };

fn machine(cpus: u32, scheduler: Scheduler) -> MachineSpec {
    MachineSpec { cpus, scheduler, ..MachineSpec::tsafrir2002() }
}

fn round_robin(cpus: u32) -> MachineSpec {
    machine(cpus, Scheduler::RoundRobin(RoundRobin::TSAFRIR_2002))
}

fn study(machine: MachineSpec, jobs: Vec<Job>) -> Study {
    let limit = Nanos::from_ms(2_000);
    Study { machine, jobs, stop: Stop::AllJobs, limit, seed: 1, shuffled: true, record: Record::NOTHING }
}

fn outcome(study: &Study) -> Outcome {
    run(study, || true).unwrap()
}

fn fine(threads: u32, barriers: u64, policy: Policy) -> Job {
    Job::meeting("fine", threads, barriers, Granularity::Fine.normal(us(6), 0.15), policy)
}

/// A machine as a world.
struct Shared(MachineSpec);

impl World for Shared {
    type Cpu<'w> = SmpCpu<'w, Heap>;

    fn run<'w, T: Send, F: Future<Output = T>>(
        &'w self,
        size: u32,
        program: impl Fn(SmpCpu<'w, Heap>, Rank) -> F + Sync,
    ) -> Vec<T> {
        // A test's few simulations are leaked: their borrow must outlast this call.
        let smp: &'static Smp<Heap> = Box::leak(Box::new(Smp::new(&self.0, size, 3)));
        let outputs: Vec<_> = smp.run(|cpu| program(cpu, cpu.number()));
        assert!(outputs.iter().all(Option::is_some), "somebody waits forever");
        outputs.into_iter().flatten().collect()
    }

    fn processors(&self) -> u32 {
        self.0.cpus
    }

    fn step(&self) -> Nanos {
        us(200)
    }
}

#[test]
fn every_scheduler_conforms() {
    let measured = Prices { line: Nanos(120), waker: us(6), ..Prices::TSAFRIR_2002 };
    let turns = Scheduler::RoundRobin(RoundRobin::TSAFRIR_2002);
    let (linux24, eevdf) = (Scheduler::Linux24(Linux24::TSAFRIR_2002), Scheduler::Eevdf(Eevdf::LINUX));
    for (cpus, scheduler, prices) in [
        (2, turns.clone(), Prices::TSAFRIR_2002),
        (5, turns, measured),
        (2, linux24.clone(), measured),
        (5, linux24, Prices::TSAFRIR_2002),
        (3, eevdf, measured),
    ] {
        let world = Shared(MachineSpec { prices, ..machine(cpus, scheduler) });
        cpu::all(&world);
        barrier::all(&world);
        harmonize::all(&world);
        team::all(&world);
        broadcast::all(&world);
        tasks::all(&world);
    }
    #[cfg(feature = "probes")]
    {
        let reached = foregather_machine::reached_here();
        assert!(
            ["barrier:3", "barrier:10", "barrier:H3", "barrier:H4", "barrier:T2", "barrier:T4", "barrier:T5", "barrier:T9"]
                .iter()
                .all(|point| reached.contains_key(point)),
            "{reached:?}"
        );
    }
}

/// Two threads on one processor that always block: each barrier costs both computations and two switches.
#[test]
fn a_blocking_pair_on_one_processor_pays_two_switches_a_barrier() {
    let job = Job::meeting("pair", 2, 100, Distribution::Constant(us(20)), Policy::Block);
    let all = outcome(&study(round_robin(1), vec![job]));
    // The thread that comes last goes on at once, so after the first switch-in each barrier has one switch
    // for each thread: compute, block, switch, compute (last), go on: compute, block, switch ...
    let per_barrier = all.time.0 as f64 / 100.0;
    assert!((per_barrier - 46_000.0).abs() < 500.0, "{per_barrier}");
    assert_eq!(all.split.total(), all.time);
}

#[test]
fn a_spinning_pair_on_one_processor_passes_a_barrier_a_quantum() {
    let job = Job::meeting("pair", 2, 50, Distribution::Constant(us(1)), Policy::Spin);
    let all = outcome(&study(round_robin(1), vec![job]));
    let per_barrier = all.time.0 as f64 / 50.0;
    assert!((100_000.0..=107_000.0).contains(&per_barrier), "{per_barrier}");
    assert_eq!(all.jobs[0].ssr_percent(), Some(100.0), "who always spins always succeeds");
}

#[test]
fn with_a_processor_each_every_spin_succeeds() {
    for machine in [round_robin(32), MachineSpec::tsafrir2002()] {
        let all = outcome(&study(machine, vec![fine(11, 200, SPIN_CS), fine(10, 200, SPIN_CS), fine(11, 200, SPIN_CS)]));
        for job in &all.jobs {
            assert_eq!(job.ssr_percent(), Some(100.0));
        }
    }
}

/// Tsafrir & Feitelson 2002 §3: on a full machine spins alternate between success and failure.
#[test]
fn under_round_robin_success_and_failure_alternate() {
    let all = outcome(&study(round_robin(32), (0..10).map(|_| fine(10, 300, SPIN_CS)).collect()));
    let job = &all.jobs[3];
    assert!(job.alternation.index() > 0.9, "{:?}", job.alternation);
    assert!((30.0..50.0).contains(&job.ssr_percent().unwrap()));
}

/// Appendix A: the flaw of 2.4 is that one loop wakes all before any processor reacts. If processors react in
/// between, remembering their marks gains nothing.
#[test]
fn remembering_marks_helps_only_if_wakes_are_atomic() {
    let time = |atomic_wakes, wakeup| {
        let rules = Linux24 { atomic_wakes, wakeup, ..Linux24::TSAFRIR_2002 };
        let two = || vec![fine(24, 400, SPIN_2CS_PLUS), fine(24, 400, SPIN_2CS_PLUS)];
        let run = |seed| outcome(&Study { seed, ..study(machine(32, Scheduler::Linux24(rules)), two()) }).time.0 as f64;
        run(1) + run(2)
    };
    let flaw = time(true, Wakeup::Linux) / time(true, Wakeup::ApMark);
    let reacting = time(false, Wakeup::Linux) / time(false, Wakeup::ApMark);
    assert!(flaw > 1.5 && (0.8..1.2).contains(&reacting), "{flaw:.2}, {reacting:.2}");
}

/// The example of the introduction: two jobs of two threads on two processors. Spinning long enough moves the
/// system into the state where a job's threads run together, and then a barrier costs no switch; blocking
/// pays forever.
#[test]
fn two_pairs_on_two_processors_fall_into_step() {
    let switches_per_barrier = |policy| {
        let linux = Scheduler::Linux24(Linux24::TSAFRIR_2002);
        let mut two = study(machine(2, linux), vec![fine(2, 3_000, policy), fine(2, 3_000, policy)]);
        let rates = (1..=5).map(|seed| {
            two.seed = seed;
            let all = outcome(&two);
            all.counts.switches as f64 / all.jobs.iter().map(|job| job.met as f64).sum::<f64>()
        });
        rates.sum::<f64>() / 5.0
    };
    let (blocking, spinning) = (switches_per_barrier(Policy::Block), switches_per_barrier(SPIN_2CS_PLUS));
    assert!(blocking > 0.9 && spinning < 0.2, "blocking {blocking}, spinning {spinning}");
}

#[test]
fn the_same_seed_gives_the_same_trace_on_any_queue() {
    let studies = [
        study(round_robin(8), vec![fine(7, 300, SPIN_CS), fine(6, 300, SPIN_2CS_PLUS), Job::load("load", 3)]),
        study(MachineSpec::tsafrir2002(), vec![fine(11, 300, SPIN_CS), Job::load("load", 85)]),
        study(
            MachineSpec { ties: Ties::Random, ..MachineSpec::tsafrir2002() },
            vec![fine(11, 300, SPIN_CS), Job::load("load", 50)],
        ),
    ];
    for mut study in studies {
        let heap = run_on::<Heap>(&study, || true).unwrap();
        let calendar = run_on::<Calendar>(&study, || true).unwrap();
        assert_eq!((heap.trace, heap.events, heap.time), (calendar.trace, calendar.events, calendar.time));
        study.seed = 2;
        assert_ne!(run_on::<Heap>(&study, || true).unwrap().trace, heap.trace);
    }
}

/// Tsafrir & Feitelson 2002 §4.1: at a multiple of 16 the job falls into step for good, and stays there.
#[test]
fn a_single_job_under_linux_has_a_transition_point() {
    let mut one = study(
        MachineSpec::tsafrir2002(),
        vec![Job::meeting("fine", 11, 6_000, Granularity::Fine.normal(us(6), 0.08), SPIN_CS), Job::load("load", 85)],
    );
    one.record = Record { window: us(5_000), sample: us(500), spans: 100_000 };
    let all = outcome(&one);
    let at = transition(&all.recorded.windows, 95.0).expect("a transition");
    assert!(at > 0 && at < 20, "in window {at}: {:?}", all.recorded.windows);
    // By then the native set has reached the size of the job.
    let before = &all.recorded.samples[..(at + 1) * 10];
    assert!(before[0].native < 11, "initially threads share processors");
    assert!(before.iter().any(|sample| sample.native == 11));
    assert!(!all.recorded.epochs.is_empty() && all.recorded.spans.iter().any(|span| span.state == State::Spin));
}

/// The paper's cure needs computations that hardly vary: with log-normal ones more than half of the spins
/// succeed, and the job takes longer than if it blocked. Mean and standard error of five seeds.
#[test]
fn with_skewed_computing_a_good_rate_is_no_reason_to_spin() {
    let compute = Distribution::LogNormal { mean_ns: 5e3, variation: 0.533 };
    let run = |seed: u64, policy: Policy| {
        let jobs = vec![Job::meeting("skewed", 11, 500, compute.clone(), policy), Job::load("load", 61)];
        outcome(&Study { seed, ..study(MachineSpec::tsafrir2002(), jobs) }).jobs.remove(0)
    };
    let two = |seed| run(seed, Policy::TwoPhase { spin: us(14) });
    let speedups: Vec<f64> = (1..=5).map(|seed| run(seed, Policy::Block).elapsed_ns / two(seed).elapsed_ns).collect();
    let mean = speedups.iter().sum::<f64>() / 5.0;
    let error = (speedups.iter().map(|speedup| (speedup - mean).powi(2)).sum::<f64>() / 20.0).sqrt();
    assert!(mean + 2.78 * error < 0.95, "{speedups:?}");
    let rate = two(1).waits.successful_spin_rate().unwrap();
    assert!(rate > 0.4, "{rate}");
}

#[test]
fn spans_tile_the_time_of_every_thread() {
    let mut one = study(round_robin(4), vec![fine(4, 50, SPIN_CS), fine(4, 50, Policy::Block)]);
    one.record = Record { spans: 1_000_000, ..Record::NOTHING };
    let all = outcome(&one);
    for thread in 0..4 {
        let mut at = Nanos::ZERO;
        for span in all.recorded.spans.iter().filter(|span| span.thread == thread) {
            assert_eq!(span.from, at);
            at = span.to;
        }
        assert!(at >= all.jobs[0].finished.unwrap_or(all.time) - us(50));
    }
}

#[test]
fn studies_that_make_no_sense_say_so() {
    let good = study(round_robin(2), vec![fine(2, 1, SPIN_CS)]);
    type Spoil = fn(&mut Study);
    let wrong: [(&str, Spoil); 8] = [
        ("0 processors", |s| s.machine.cpus = 0),
        ("resolution", |s| s.machine.resolution = Nanos::ZERO),
        ("0 threads", |s| s.jobs.clear()),
        ("never ends", |s| (s.stop, s.limit) = (Stop::Limit, Nanos::MAX)),
        ("pinned to processor 2", |s| s.jobs[0].pins = vec![vec![2]]),
        ("starts on processor 2", |s| s.jobs[0].start = vec![0, 2]),
        ("impossible times", |s| s.jobs[0].compute = Distribution::Exponential { mean_ns: -1.0 }),
        ("nice", |s| s.jobs[0].nice = 20),
    ];
    assert!(run(&good, || true).is_ok());
    for (what, spoil) in wrong {
        let mut study = good.clone();
        spoil(&mut study);
        let error = run(&study, || true).unwrap_err();
        assert!(error.contains(what), "{error}");
    }
}

#[test]
fn a_run_can_be_interrupted_and_gives_what_there_is() {
    let all = run(&study(round_robin(2), vec![fine(2, u64::MAX, SPIN_CS)]), || false).unwrap();
    assert!(all.interrupted && all.jobs[0].met > 0);
}

/// Tsafrir & Feitelson 2002 §6 warn of rules that are right for locks: to spin only while the awaited thread
/// runs. Where both switches cost the same, the adaptive policy has no reason to yield or to sleep early, and
/// waits by 2CS+.
#[test]
fn on_the_papers_machine_adaptive_is_no_worse_than_2cs_plus() {
    let machine = MachineSpec::tsafrir2002();
    let adaptive = Policy::adaptive(&machine.costs());
    for (granularity, load) in
        [Granularity::Fine, Granularity::Medium].into_iter().flat_map(|g| [0, 8, 16, 32].map(|load| (g, load)))
    {
        let elapsed_ns = |policy| {
            let team = Job::meeting("team", 16, 60, granularity.normal(us(6), 0.15), policy);
            let mut jobs = vec![team];
            jobs.extend((load > 0).then(|| Job::load("load", 16 + load)));
            outcome(&study(machine.clone(), jobs)).jobs[0].elapsed_ns
        };
        let (ours, theirs) = (elapsed_ns(adaptive), elapsed_ns(Policy::TwoPhase { spin: us(14) }));
        assert!(ours <= theirs, "{granularity:?} {load}: {ours} against {theirs}");
    }
}

fn schedulers() -> impl Strategy<Value = Scheduler> {
    let accounting = prop_oneof![Just(Accounting::Exact), Just(Accounting::Tick), Just(Accounting::Staggered)];
    let wakeups = [Wakeup::Linux, Wakeup::ApMark, Wakeup::ApReserve, Wakeup::GlobalView, Wakeup::Linux22];
    let presets = [Linux24::TSAFRIR_2002, Linux24::LINUX_2_2, Linux24::LINUX_2_4_0, Linux24::LINUX_2_4_16];
    let flags = any::<[bool; 8]>();
    let linux = (prop::sample::select(presets.to_vec()), accounting, prop::sample::select(wakeups.to_vec()), flags);
    let linux = linux.prop_map(|(preset, accounting, wakeup, flags)| {
        let [charge_switch, hold, previous_wins, lazy_space, whole_ticks, front, atomic_wakes, idle_polls] = flags;
        let insertion = if front { Insertion::Front } else { Insertion::Tail };
        Scheduler::Linux24(Linux24 {
            accounting,
            wakeup,
            charge_switch,
            hold,
            previous_wins,
            lazy_space,
            whole_ticks,
            atomic_wakes,
            idle_polls,
            insertion,
            ..preset
        })
    });
    let turns = (1..300_u64).prop_map(|quantum| Scheduler::RoundRobin(RoundRobin { quantum: us(quantum) }));
    prop_oneof![1 => turns, 3 => linux]
}

fn policies() -> impl Strategy<Value = Policy> {
    prop_oneof![
        Just(Policy::Spin),
        Just(Policy::Yield),
        Just(Policy::Block),
        Just(Policy::default()),
        (1..60_u64).prop_map(|spin| Policy::TwoPhase { spin: us(spin) }),
        (1..60_u64).prop_map(|spin| Policy::SpinThenYield { spin: us(spin) }),
    ]
}

fn jobs() -> impl Strategy<Value = Vec<Job>> {
    let kinds = prop::sample::select(foregather_barrier::Algorithm::ALL.to_vec());
    let compute = prop_oneof![
        (1..100_u64).prop_map(|mean| Distribution::Exponential { mean_ns: mean as f64 * 1e3 }),
        (1..100_u64).prop_map(|to| Distribution::Uniform { from: us(1), to: us(to) }),
        Just(Granularity::Medium.normal(us(6), 0.3)),
        Just(Distribution::Trace([us(3), us(40)].into())),
    ];
    let job = (1..6_u32, 1..12_u64, compute, policies(), kinds, -5..5_i8, any::<bool>()).prop_map(
        |(threads, barriers, compute, policy, kind, nice, pinned)| {
            let threads = if kind.takes(threads).is_ok() { threads } else { threads.next_power_of_two() };
            let pins = if pinned { vec![vec![0]] } else { vec![] };
            Job { kind, nice, pins, ..Job::meeting("job", threads, barriers, compute, policy) }
        },
    );
    prop::collection::vec(job, 1..5)
}

/// 2.4 knows starvation. With pinned threads one processor's epochs refill the allotment of a spinner on
/// another. With unequal ones a thread of lower priority is chosen when a hog's allotment ends, an epoch that
/// another hog begins during the switch refills the first one, and that one preempts it before it has run at
/// all: forever, if the hogs are in step.
fn may_starve(jobs: &[Job]) -> bool {
    jobs.iter().any(|job| !job.pins.is_empty() || job.nice != jobs[0].nice)
}

#[test]
fn under_linux_a_thread_of_lower_priority_starves_beside_hogs_in_step() {
    let rules = Linux24 { accounting: Accounting::Exact, whole_ticks: false, wakeup: Wakeup::Linux, ..Linux24::LINUX_2_4_16 };
    let finished = |nice| {
        let job = Job { nice, ..fine(1, 1, Policy::Spin) };
        let spec = machine(3, Scheduler::Linux24(rules));
        outcome(&Study { limit: Nanos::from_ms(50), ..study(spec, vec![job, Job::load("load", 3)]) }).jobs[0].finished
    };
    assert_eq!(finished(4), None);
    assert!(finished(0).is_some());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// Every event is followed by the check of all invariants, since this is a debug build; and every job
    /// comes to its end, whatever its neighbours and the scheduler's rules.
    #[test]
    fn random_studies_keep_every_invariant(
        scheduler in schedulers(), jobs in jobs(), cpus in 1..5_u32, load in 0..4_u32, seed in any::<u64>(),
        prices in any::<bool>(), ties in prop::sample::select(vec![Ties::ArriveFirst, Ties::GiveUpFirst, Ties::Processor, Ties::Random]),
    ) {
        let mut jobs = jobs;
        if load > 0 {
            jobs.push(Job::load("load", load));
        }
        let ends = !matches!(scheduler, Scheduler::Linux24(_)) || !may_starve(&jobs);
        let prices = if prices { Prices { line: Nanos(120), waker: us(2), switch_to_idle: us(1), ..Prices::TSAFRIR_2002 } } else { Prices::TSAFRIR_2002 };
        let study = Study { seed, limit: Nanos::from_ms(400), machine: MachineSpec { prices, ties, ..machine(cpus, scheduler) }, ..study(round_robin(1), jobs) };
        let all = outcome(&study);
        let cpu_time = Nanos(all.time.0 * u64::from(cpus));
        prop_assert_eq!(all.split.total(), cpu_time, "all processor time is accounted for");
        prop_assert!(!ends || all.jobs.iter().zip(&study.jobs).all(|(job, spec)| !spec.meets() || job.finished.is_some()), "{:?}", all.jobs);
    }
}

/// Programs that come and go: they compute as long as they should, and their processor is idle while they
/// rest.
#[test]
fn load_that_rests_leaves_its_processor() {
    let guest = Job {
        compute: Distribution::Constant(us(1_000)),
        rest: Some(Distribution::Constant(us(3_000))),
        ..Job::load("guest", 2)
    };
    for scheduler in [Scheduler::Eevdf(Eevdf::LINUX), Scheduler::Linux24(Linux24::TSAFRIR_2002)] {
        let study = Study { stop: Stop::Limit, limit: us(400_000), ..study(machine(2, scheduler), vec![guest.clone()]) };
        let outcome = outcome(&study);
        let share = outcome.jobs[0].split.compute.0 as f64 / outcome.time.0 as f64 / 2.0;
        assert!((0.24..0.26).contains(&share), "a quarter of the time, not {share}");
    }
    let rest = |rest| Some(Distribution::Constant(rest));
    for (job, says) in [
        (Job { rest: rest(us(1)), ..fine(2, 1, Policy::Block) }, "only load rests"),
        (Job { rest: rest(us(1)), ..Job::load("guest", 2) }, "impossible times"),
        (Job { rest: rest(us(0)), ..guest.clone() }, "impossible times"),
    ] {
        let error = run(&study(round_robin(2), vec![job, fine(2, 1, Policy::Block)]), || true).unwrap_err();
        assert!(error.contains(says), "{error}");
    }
}
