//! Causes, on made-up recordings.
use super::*;
use crate::{SampledFunction, cures};
use foregather_host::cgroup::Throttling;
use foregather_host::watched::page::{ActivityCounts, ActivityTimes, Creations, KnownWork, RecordedThread, ThreadActivity};
use foregather_host::watched::program::ProgramFacts;
use foregather_host::watched::surroundings::Competitor;
use foregather_host::watched::task::{SystemCall, TaskFacts, TaskReading, TaskState};
use foregather_machine::ThreadId;
use std::collections::BTreeMap;

/// A thread that does the same all the time, in thousandths of it.
#[derive(Clone)]
struct PlantedThread {
    process: u32,
    thread: ThreadId,
    ran: u64,
    queued: u64,
    state: TaskState,
    call: Option<SystemCall>,
    activity: Option<ThreadActivity>,
    creator: ThreadId,
    pool: &'static str,
    allowed: Vec<u32>,
    counts: ActivityCounts,
    /// How long it executed parts of regions, as it was recorded.
    part_ns: u64,
}

fn actor(thread: ThreadId, ran: u64, queued: u64, activity: ThreadActivity) -> PlantedThread {
    let state = if ran + queued > 0 { TaskState::Runnable } else { TaskState::Sleeping };
    let pool = if thread == 1 { "" } else { "libgomp.so.1+0x20" };
    let (creator, counts, activity) = (1, ActivityCounts::default(), Some(activity));
    let (call, allowed, part_ns) = (None, vec![0, 1], 0);
    PlantedThread { process: 1, thread, ran, queued, state, call, activity, creator, pool, allowed, counts, part_ns }
}

fn reading(of: &PlantedThread, at_ms: u64) -> TaskReading {
    let (ran, queued) = (Nanos(of.ran * at_ms * 1_000), Nanos(of.queued * at_ms * 1_000));
    TaskReading { process: of.process, thread: of.thread, state: of.state, ran, queued, cpu: 0, disk_faults: 0, call: of.call }
}

fn record(of: &PlantedThread) -> Option<RecordedThread> {
    let mut times = ActivityTimes::default();
    times[ThreadActivity::Part as usize] = Nanos(of.part_ns);
    Some(RecordedThread {
        process: of.process,
        thread: of.thread,
        creator: of.creator,
        pool: of.pool.to_owned(),
        activity: of.activity?,
        team: 2,
        counts: of.counts,
        times,
        ..RecordedThread::default()
    })
}

/// These threads, watched for three seconds.
fn watched(actors: &[PlantedThread]) -> Observation {
    let mut seen = Observation {
        programs: vec![ProgramFacts { process: 1, name: "sum".into(), runtimes: vec!["libgomp".into()], settings: vec![] }],
        siblings: [1].into(),
        usable: vec![0, 1],
        command: Some("./sum".into()),
        ..Observation::default()
    };
    for at in (0..=3_000).step_by(10) {
        let readings: Vec<_> = actors.iter().map(|actor| reading(actor, at)).collect();
        let records: Vec<_> = actors.iter().filter_map(record).collect();
        seen.ledger.add(Nanos::from_ms(at), &readings, &records);
    }
    for actor in actors {
        let facts = TaskFacts { name: "sum".into(), allowed: actor.allowed.clone(), preempted: 0, slept: 0 };
        seen.ledger.note(actor.thread, facts);
    }
    seen
}

/// Episodes in which a thread was last by that share of a millisecond each.
fn with_episodes(mut seen: Observation, last: ThreadId, count: u64, late_us: u64) -> Observation {
    let late_ns = count * late_us * 1_000;
    let counts =
        ActivityCounts { episodes: count, lead_ns: late_ns, waited_ns: late_ns, members: 2, ..ActivityCounts::default() };
    seen.episodes.add(&RecordedThread { process: 1, thread: last, counts, ..RecordedThread::default() });
    seen
}

fn first(seen: &Observation) -> Option<(WaitCause, Certainty)> {
    judge(seen).first().map(|found| (found.cause, found.certainty))
}

#[test]
fn a_program_that_is_well_gets_no_advice() {
    assert_eq!(first(&watched(&[actor(1, 1_000, 0, ThreadActivity::Part), actor(2, 990, 10, ThreadActivity::Part)])), None);
    assert_eq!(first(&watched(&[actor(1, 0, 0, ThreadActivity::Own)])), None, "it sleeps");
    assert_eq!(first(&Observation::default()), None, "nothing was seen");
}

#[test]
fn a_quota_is_named_by_its_throttling() {
    let mut seen = watched(&[actor(1, 250, 750, ThreadActivity::Part), actor(2, 250, 750, ThreadActivity::Part)]);
    seen.quota = Some(0.5);
    seen.throttling = Some(Throttling { periods: 30, throttled: 28, stopped: Nanos::from_ms(2_000) });
    assert_eq!(first(&seen), Some((WaitCause::Quota, Certainty::Sure)));
    let command = judge(&seen)[0].remedy.command.clone();
    assert_eq!(command.as_deref(), Some("OMP_NUM_THREADS=1 ./sum"));
}

#[test]
fn a_mask_stands_above_the_pool_that_it_makes_too_large() {
    let narrow = |thread| PlantedThread { allowed: vec![1], ..actor(thread, 500, 500, ThreadActivity::Part) };
    let seen = watched(&[narrow(1), narrow(2)]);
    let causes: Vec<_> = judge(&seen).into_iter().map(|found| found.cause).collect();
    assert_eq!(causes, [WaitCause::Mask, WaitCause::LargePool]);
    assert_eq!(judge(&seen)[0].remedy.command.as_deref(), Some("taskset -c 0,1 ./sum"));
    let bound = Observation {
        programs: vec![ProgramFacts { settings: vec![("OMP_PLACES".into(), "{1}".into())], ..seen.programs[0].clone() }],
        ..seen
    };
    assert_eq!(judge(&bound)[0].remedy.command.as_deref(), Some("env -u OMP_PLACES ./sum"));
}

#[test]
fn pools_are_told_apart_by_who_created_their_threads() {
    let crowd = |pools: [(&'static str, ThreadId); 4]| {
        let actors: Vec<PlantedThread> = pools
            .into_iter()
            .zip(1..)
            .map(|((pool, creator), thread)| PlantedThread { pool, creator, ..actor(thread, 500, 500, ThreadActivity::Part) })
            .collect();
        first(&watched(&actors))
    };
    let (one, two) = ("libgomp.so.1+0x20", "libopenblas.so.0+0x90");
    assert_eq!(crowd([("", 0), (one, 1), (one, 1), (one, 1)]), Some((WaitCause::LargePool, Certainty::Sure)));
    assert_eq!(crowd([("", 0), (one, 1), (two, 1), (two, 1)]), Some((WaitCause::TwoPools, Certainty::Sure)));
    assert_eq!(crowd([("", 0), (two, 1), (one, 2), (one, 2)]), Some((WaitCause::NestedPools, Certainty::Sure)));
    let unseen: Vec<PlantedThread> =
        (1..=4).map(|thread| PlantedThread { activity: None, ..actor(thread, 500, 500, ThreadActivity::Own) }).collect();
    assert_eq!(first(&watched(&unseen)), Some((WaitCause::LargePool, Certainty::Likely)), "by /proc alone");
}

#[test]
fn the_size_of_openmp_teams_is_no_cure_for_threads_of_the_program_itself() {
    let own = |thread| PlantedThread { creator: 1, ..actor(thread, 500, 500, ThreadActivity::Own) };
    let seen = watched(&[own(1), own(2), own(3), own(4)]);
    assert!(seen.uses("libgomp") && seen.has_no_regions());
    assert_eq!(cures::threads(&seen, 2).command, None);
    let member = watched(&[own(1), own(2), own(3), actor(4, 500, 500, ThreadActivity::Part)]);
    assert_eq!(cures::threads(&member, 2).command.as_deref(), Some("OMP_NUM_THREADS=2 ./sum"));
}

#[test]
fn a_team_larger_than_its_processors_is_a_large_pool_even_if_its_members_sleep_at_times() {
    let sleeping = TaskState::Sleeping;
    let member = |thread| PlantedThread { state: sleeping, ..actor(thread, 490, 240, ThreadActivity::Part) };
    let mut seen = with_episodes(watched(&[member(1), member(2), member(3)]), 2, 1_000, 900);
    seen.episodes.members = 3;
    assert!(seen.demand() < 2.3, "{}", seen.demand());
    assert_eq!(first(&seen), Some((WaitCause::LargePool, Certainty::Sure)));
    seen.episodes.members = 2;
    assert_ne!(first(&seen).map(|found| found.0), Some(WaitCause::LargePool), "two on two processors");
}

#[test]
fn many_threads_that_sleep_nearly_always_are_no_large_pool() {
    let sleeping = TaskState::Sleeping;
    let awake = |thread| PlantedThread { state: sleeping, ..actor(thread, 10, 90, ThreadActivity::Own) };
    let all: Vec<_> = (1..=40).map(awake).collect();
    let seen = watched(&all);
    assert!(seen.demand() > 3.0 && seen.busy().count() == 0, "{} {}", seen.demand(), seen.busy().count());
    assert!(judge(&seen).iter().all(|found| found.cause != WaitCause::LargePool));
}

#[test]
fn processes_of_one_program_are_counted_together() {
    let other = |thread, process| PlantedThread { process, ..actor(thread, 500, 500, ThreadActivity::Part) };
    let mut seen = watched(&[other(1, 1), other(2, 1), other(3, 9), other(4, 9)]);
    seen.siblings.insert(9);
    assert_eq!(first(&seen), Some((WaitCause::Processes, Certainty::Sure)));
    assert_eq!(judge(&seen)[0].remedy.command.as_deref(), Some("OMP_NUM_THREADS=1 ./sum"));
}

#[test]
fn runtimes_and_settings_are_those_of_all_processes() {
    let worker = |thread, process| PlantedThread { process, ..actor(thread, 500, 500, ThreadActivity::Part) };
    let mut seen = watched(&[worker(1, 8), worker(2, 8), worker(3, 9), worker(4, 9)]);
    let of = |process, runtimes: &[&str], settings: &[(&str, &str)]| ProgramFacts {
        process,
        name: "python3".into(),
        runtimes: runtimes.iter().map(|runtime| (*runtime).to_owned()).collect(),
        settings: settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
    };
    // The controller of a test run loads nothing.
    seen.programs = vec![
        of(1, &["Python"], &[]),
        of(8, &["Python", "libgomp", "OpenBLAS"], &[("OMP_PLACES", "cores")]),
        of(9, &["Python", "OpenBLAS"], &[("OMP_PLACES", "cores")]),
    ];
    seen.siblings = [1, 8, 9].into();
    assert_eq!(judge(&seen)[0].remedy.step, "start no more than 1 thread");
    let cure = judge(&seen)[0].remedy.command.clone();
    assert_eq!(cure.as_deref(), Some("OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 ./sum"));
    assert_eq!((seen.runtimes(), seen.settings()), (vec!["Python", "libgomp", "OpenBLAS"], vec![("OMP_PLACES", "cores")]));
    assert_eq!(cures::unbound(&seen, &[0, 1]).command.as_deref(), Some("env -u OMP_PLACES ./sum"));
}

fn competitor(process: u32, name: &str, cpu_ms: u64) -> Competitor {
    Competitor { process, name: name.into(), cpu: Nanos::from_ms(cpu_ms), last_cpu: 1, has_exited: false }
}

#[test]
fn many_short_processes_of_one_program_are_one_competitor() {
    let mut seen = watched(&[actor(1, 300, 700, ThreadActivity::Part), actor(2, 300, 700, ThreadActivity::Part)]);
    seen.competitors = vec![competitor(50, "make", 400)];
    let short = |process| Competitor { has_exited: true, ..competitor(process, "rustc", 200) };
    assert_eq!(first(&seen), None, "make alone does not take that much");
    seen.competitors.extend((60..75).map(short));
    assert_eq!(first(&seen), Some((WaitCause::OtherProgram, Certainty::Sure)));
    let found = &judge(&seen)[0];
    assert_eq!(found.verdict, "15 processes of rustc run at the same time");
    assert_eq!(found.remedy.command, None, "most have exited");
    // Of processes that exit, looks miss the end.
    seen.competitors.truncate(6);
    assert_eq!(first(&seen), None);
    seen.load.busy = Nanos::from_ms(4_800);
    assert_eq!(first(&seen), Some((WaitCause::OtherProgram, Certainty::Sure)));
    let evidence = judge(&seen)[0].evidence.clone();
    assert!(evidence.starts_with("other programs ran for 3.0 s, these for 1.0 s or more"), "{evidence}");
    seen.competitors = vec![competitor(60, "stress", 2_400), competitor(61, "stress", 2_400)];
    assert_eq!(judge(&seen)[0].remedy.command.as_deref(), Some("renice -n 19 -p 60 61"));
}

#[test]
fn another_program_is_named_if_threads_wait_for_its_processor() {
    let mut seen = watched(&[actor(1, 1_000, 0, ThreadActivity::Arrived), actor(2, 500, 500, ThreadActivity::Part)]);
    assert_eq!(first(&seen), None, "nobody else was there");
    seen.competitors = vec![competitor(77, "cc1", 1_500)];
    assert_eq!(first(&seen), Some((WaitCause::OtherProgram, Certainty::Sure)));
    assert!(judge(&seen)[0].verdict.contains("cc1 (process 77)"));
    let remedy = |seen: &Observation| judge(seen)[0].remedy.clone();
    assert_eq!(remedy(&seen).command.as_deref(), Some("OMP_WAIT_POLICY=passive ./sum"));
    assert!(remedy(&seen).step.ends_with("nice -n 19 (renice -n 19 -p 77)"), "{}", remedy(&seen).step);
    seen.programs[0].runtimes.clear();
    assert_eq!(remedy(&seen).command.as_deref(), Some("renice -n 19 -p 77"), "no setting lets these threads sleep");
    seen.competitors[0].cpu = Nanos::from_ms(60);
    assert_eq!(first(&seen), None, "it hardly ran");
}

#[test]
fn a_thread_that_is_late_with_no_more_work_has_another_cause() {
    let actors = [actor(1, 0, 0, ThreadActivity::Arrived), actor(2, 1_000, 0, ThreadActivity::Part)];
    let mut seen = with_episodes(watched(&actors), 2, 3_000, 500);
    let mut known = |thread: ThreadId, known_ns: u64| {
        let record = seen.ledger.threads.get_mut(&thread).unwrap().recorded.as_mut().unwrap();
        record.part_work = KnownWork { stretches: 100, known: 50, known_ns };
    };
    known(1, 50_000_000);
    known(2, 51_000_000);
    assert_eq!(first(&seen), None);
    let record = seen.ledger.threads.get_mut(&2).unwrap().recorded.as_mut().unwrap();
    record.part_work.known_ns = 60_000_000;
    assert_eq!(first(&seen), Some((WaitCause::LateThread, Certainty::Sure)));
}

#[test]
fn a_late_member_is_told_by_how_it_spent_the_waits_of_the_others() {
    let waiter = actor(1, 0, 0, ThreadActivity::Arrived);
    let works = with_episodes(watched(&[waiter.clone(), actor(2, 1_000, 0, ThreadActivity::Part)]), 2, 3_000, 500);
    assert_eq!(first(&works), Some((WaitCause::LateThread, Certainty::Sure)));
    assert!(judge(&works)[0].evidence.contains("-50 %"), "{}", judge(&works)[0].evidence);
    let reads =
        PlantedThread { state: TaskState::Sleeping, call: Some(SystemCall::File), ..actor(2, 0, 0, ThreadActivity::Part) };
    let reads = with_episodes(watched(&[waiter.clone(), reads]), 2, 3_000, 500);
    assert_eq!(first(&reads), Some((WaitCause::IoBehindBarrier, Certainty::Sure)));
    let mut changing = with_episodes(watched(&[waiter, actor(2, 1_000, 0, ThreadActivity::Part)]), 2, 1_500, 500);
    changing = with_episodes(changing, 1, 1_500, 500);
    assert_eq!(first(&changing), Some((WaitCause::LateThread, Certainty::Likely)));
}

#[test]
fn a_late_thread_is_known_although_others_are_last_at_barriers_that_cost_nothing() {
    let waiter = actor(1, 0, 0, ThreadActivity::Arrived);
    let mut seen = watched(&[waiter, actor(2, 1_000, 0, ThreadActivity::Part)]);
    // Three barriers in each region: one thread is late at the first, and any thread is last at the others.
    for (last, late_us) in [(2, 900), (1, 2), (2, 2)] {
        seen = with_episodes(seen, last, 1_000, late_us);
    }
    for (last, late_us) in [(2, 900), (1, 2), (1, 2)] {
        seen = with_episodes(seen, last, 1_000, late_us);
    }
    assert_eq!(first(&seen), Some((WaitCause::LateThread, Certainty::Sure)));
    let late = &judge(&seen)[0];
    assert!(late.verdict.starts_with("thread 2 (sum) has more work"), "{}", late.verdict);
    assert!(late.evidence.starts_with("thread 2 made 100 % of the delay at 6000 barriers"), "{}", late.evidence);
}

#[test]
fn locks_regions_and_idle_workers_are_named_by_their_counts() {
    let mut locks = actor(2, 0, 0, ThreadActivity::Lock);
    locks.counts = ActivityCounts { locks: 500, ..ActivityCounts::default() };
    assert_eq!(
        first(&watched(&[actor(1, 1_000, 0, ThreadActivity::Own), locks])),
        Some((WaitCause::LockConvoy, Certainty::Sure))
    );
    let starved = watched(&[actor(1, 1_000, 0, ThreadActivity::Own), actor(2, 0, 0, ThreadActivity::Lock)]);
    assert_eq!(first(&starved), Some((WaitCause::LockConvoy, Certainty::Sure)), "in its first wait");
    let mut leader = actor(1, 1_000, 0, ThreadActivity::Part);
    leader.counts =
        ActivityCounts { regions: 1_000_000, region_ns: 2_900_000_000, parts: 2_000_000, ..ActivityCounts::default() };
    leader.part_ns = 1_000_000_000;
    let tiny = watched(&[leader.clone(), actor(2, 1_000, 0, ThreadActivity::Arrived)]);
    assert_eq!(first(&tiny), Some((WaitCause::TinyRegions, Certainty::Sure)));
    assert_eq!(judge(&tiny)[0].remedy.command.as_deref(), Some("OMP_NUM_THREADS=1 ./sum"));
    leader.counts.sized = 5;
    let sized = watched(&[leader.clone(), actor(2, 1_000, 0, ThreadActivity::Arrived)]);
    let command = judge(&sized)[0].remedy.command.clone();
    assert_eq!(command.as_deref(), Some("OMP_NUM_THREADS=1 OMP_THREAD_LIMIT=1 ./sum"), "the program gives the number");
    leader.part_ns = 5_000_000_000;
    assert_eq!(first(&watched(&[leader, actor(2, 1_000, 0, ThreadActivity::Part)])), None, "regions that pay");
    let idle = watched(&[actor(1, 1_000, 0, ThreadActivity::Own), actor(2, 1_000, 0, ThreadActivity::Idle)]);
    assert_eq!(first(&idle), Some((WaitCause::IdleSpin, Certainty::Sure)));
    assert_eq!(judge(&idle)[0].remedy.command.as_deref(), Some("OMP_WAIT_POLICY=passive ./sum"));
    assert_eq!(judge(&idle)[0].remedy.rounding, crate::Rounding::SameBits);
    let mut busy = actor(1, 1_000, 0, ThreadActivity::Part);
    busy.counts = ActivityCounts { regions: 400, region_ns: 2_950_000_000, ..ActivityCounts::default() };
    let open = watched(&[busy, actor(2, 1_000, 0, ThreadActivity::Idle)]);
    assert_eq!(first(&open), None, "looks that fell between regions by chance");
    let mut few = idle;
    few.ledger.looks = 20;
    assert_eq!(first(&few), Some((WaitCause::IdleSpin, Certainty::Likely)), "few looks");
}

#[test]
fn workers_that_spin_through_short_gaps_are_not_sent_to_sleep() {
    let spinning = |regions: u64, region_us: u64, part_us: u64| {
        let counts =
            ActivityCounts { regions, region_ns: regions * region_us * 1_000, parts: regions, ..ActivityCounts::default() };
        let part_ns = regions * part_us * 1_000;
        let leader = PlantedThread { counts, part_ns, ..actor(1, 1_000, 0, ThreadActivity::Own) };
        let counts = ActivityCounts { regions: 0, region_ns: 0, ..counts };
        let mut seen = watched(&[leader, PlantedThread { counts, part_ns, ..actor(2, 1_000, 0, ThreadActivity::Idle) }]);
        seen.programs[0].runtimes.push("OpenBLAS".into());
        judge(&seen)
    };
    let named = |causes: &[NamedCause]| causes.iter().map(|found| found.cause).collect::<Vec<_>>();
    assert_eq!(named(&spinning(50_000, 40, 35)), [], "gaps of 20 us between regions that pay");
    let tiny = spinning(50_000, 40, 5);
    assert_eq!(named(&tiny), [WaitCause::TinyRegions], "gaps of 20 us between regions that do not pay");
    assert_eq!(tiny[0].remedy.command.as_deref(), Some("OMP_NUM_THREADS=1 ./sum"));
    assert!(tiny[0].remedy.step.contains("foregather exec"), "{}", tiny[0].remedy.step);
    let pays = spinning(50_000, 20, 12);
    assert_eq!(named(&pays), [WaitCause::TinyRegions], "small regions in which two threads are faster than one");
    assert_eq!(pays[0].remedy.command, None);
    let long = spinning(300, 1_000, 900);
    assert_eq!(named(&long), [WaitCause::IdleSpin], "gaps of 9 ms");
    assert_eq!(long[0].verdict, "1 worker spins while no region is open");
    assert!(long[0].evidence.contains("9.0 ms between two regions"), "{}", long[0].evidence);
}

#[test]
fn a_hang_needs_threads_that_only_others_can_wake() {
    let sleeper = |thread, call, activity| PlantedThread { call: Some(call), ..actor(thread, 0, 0, activity) };
    let futex = SystemCall::Futex { address: 0x10, has_timeout: false };
    let stuck = watched(&[sleeper(1, futex, ThreadActivity::Arrived), sleeper(2, futex, ThreadActivity::Own)]);
    assert_eq!(first(&stuck), Some((WaitCause::Hang, Certainty::Sure)));
    // A signal ends it while it is looked at.
    let mut dying = stuck.clone();
    let end = dying.ledger.ended;
    let mut last = reading(&sleeper(1, futex, ThreadActivity::Arrived), 3_010);
    last.ran += Nanos::from_us(300);
    dying.ledger.add(end + Nanos::from_ms(10), &[last, reading(&sleeper(2, futex, ThreadActivity::Own), 3_010)], &[]);
    assert_eq!(first(&dying), Some((WaitCause::Hang, Certainty::Sure)), "it ran when it was ended");
    for call in [SystemCall::Sleep, SystemCall::Events, SystemCall::Child, SystemCall::Futex { address: 0x10, has_timeout: true }]
    {
        let waits = watched(&[sleeper(1, futex, ThreadActivity::Condition), sleeper(2, call, ThreadActivity::Own)]);
        assert_eq!(first(&waits), None, "{call:?}");
    }
}

#[test]
fn refused_threads_stand_above_what_they_bring_about() {
    let mut seen = with_episodes(
        watched(&[actor(1, 0, 0, ThreadActivity::Arrived), actor(2, 1_000, 0, ThreadActivity::Part)]),
        2,
        3_000,
        500,
    );
    seen.creations = Some(Creations { created: 2, refused: 3, errno: 11, without_slot: 0 });
    let causes: BTreeMap<_, _> = judge(&seen).into_iter().enumerate().map(|(at, found)| (found.cause, at)).collect();
    assert!(causes[&WaitCause::RefusedThreads] < causes[&WaitCause::LateThread], "{causes:?}");
}

#[test]
fn each_cause_is_decided_by_a_layer() {
    use crate::layers::{Knowledge, sight};
    for cause in WaitCause::ALL {
        let (by_proc, by_records) = sight(cause);
        assert!(by_proc == Knowledge::Decides || by_records == Knowledge::Decides, "{}", cause.name());
    }
}

/// A second of samples of a thread.
fn sampled(mut seen: Observation, thread: ThreadId, name: &str, library: &str) -> Observation {
    let mut samples = seen.samples.take().unwrap_or_default();
    for at in 0..100 {
        let function = SampledFunction { name: Some(name.into()), library: library.into(), is_runtime: library == "libgomp" };
        samples.add(thread, ThreadActivity::Own, Nanos::from_ms(at * 10), function);
    }
    seen.samples = Some(samples);
    seen
}

#[test]
fn a_pool_that_yields_without_work_is_named_only_by_samples() {
    let mut worker = actor(2, 990, 0, ThreadActivity::Own);
    worker.pool = "libscipy_openblas64_-ff651d7f.so+0x20";
    let mut seen = watched(&[actor(1, 990, 0, ThreadActivity::Own), worker]);
    seen.programs[0].runtimes.push("OpenBLAS".into());
    assert_eq!(first(&seen), None, "it looks like work");
    let seen = sampled(sampled(seen, 1, "burn", "sum"), 2, "__sched_yield", "libc");
    assert_eq!(first(&seen), Some((WaitCause::IdleSpin, Certainty::Likely)));
    let named = &judge(&seen)[0];
    assert!(
        named.verdict.contains("1 thread of the pool of libscipy_openblas64_ spins without work, in __sched_yield (libc)"),
        "{named:?}"
    );
    assert_eq!(named.remedy.command.as_deref(), Some("OPENBLAS_THREAD_TIMEOUT=4 ./sum"));
    assert!(seen.spent().idle_spun > Nanos::from_ms(2_900) && seen.spent().work < Nanos::from_ms(3_000));
}

#[test]
fn spin_locks_are_waits_for_a_lock_where_samples_show_them() {
    let threads = || [1, 2].map(|thread| actor(thread, 990, 0, ThreadActivity::Own));
    let work = sampled(watched(&threads()), 1, "burn", "sum");
    assert_eq!(first(&work), None);
    let seen = sampled(work, 2, "pthread_spin_lock", "libc");
    assert_eq!(first(&seen), Some((WaitCause::LockConvoy, Certainty::Sure)));
    assert!(judge(&seen)[0].evidence.contains("samples"), "{:?}", judge(&seen)[0].evidence);
}

#[test]
fn the_function_of_a_late_thread_is_named() {
    let late = actor(2, 990, 0, ThreadActivity::Part);
    let seen = with_episodes(watched(&[actor(1, 500, 0, ThreadActivity::Arrived), late]), 2, 0, 0);
    let seen = sampled(seen, 2, "burn", "sum");
    let mut seen = with_episodes(seen, 2, 2_000, 500);
    if let Some(samples) = &mut seen.samples {
        samples.settle(2, Nanos::from_ms(5), Nanos::from_ms(400));
    }
    let named = judge(&seen).into_iter().find(|found| found.cause == WaitCause::LateThread).unwrap();
    assert_eq!(named.verdict, "thread 2 (sum) has more work than its partners, mostly in burn (sum)");
}

#[test]
fn the_program_that_ran_in_place_of_threads_is_named_before_one_that_used_more_elsewhere() {
    let mut seen = watched(&[actor(1, 500, 500, ThreadActivity::Own)]);
    let other = |process: u32, name: &str, cpu_ms: u64, last_cpu: u32| Competitor {
        process,
        name: name.into(),
        cpu: Nanos::from_ms(cpu_ms),
        last_cpu,
        has_exited: false,
    };
    seen.competitors = vec![other(50, "elsewhere", 2_900, 1), other(60, "here", 1_500, 0)];
    let said = |seen: &Observation| judge(seen)[0].verdict.clone();
    assert_eq!(said(&seen), "elsewhere (process 50) uses processor 1 at the same time", "by processor time alone");
    seen.instead = Some([(60, Nanos::from_ms(1_400))].into());
    assert_eq!(said(&seen), "here (process 60) uses processor 0 at the same time");
    assert!(judge(&seen)[0].evidence.contains("1.4 s of it in place of waiting threads"), "{:?}", judge(&seen)[0].evidence);
    seen.instead = Some([(60, Nanos::from_ms(10))].into());
    assert_eq!(said(&seen), "elsewhere (process 50) uses processor 1 at the same time", "too little is known");
}
