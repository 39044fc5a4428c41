//! The protocol of regions in virtual time: the same code as on threads, on simulated machines.
use foregather_barrier::ForkJoin;
use foregather_machine::{Clock, Nanos, Placement};
use foregather_sim::event::Heap;
use foregather_sim::smp::{Eevdf, MachineSpec, Scheduler, Smp, SmpCpu};
use foregather_team::protocol::{Course, HelpPolicy, TeamLeader, TeamWorker};
use foregather_wait::Policy;
use std::cell::{Cell, RefCell};

const GRAIN: Nanos = Nanos::from_us(100);
const REGIONS: u32 = 200;
/// Longer than any run here takes.
const LONG: Nanos = Nanos::from_ms(2_000);

/// The timing of every region of a run, and how often each part of each region ran.
#[derive(PartialEq, Debug)]
struct Seen {
    courses: Vec<Course>,
    done: Vec<Vec<u32>>,
}

/// Runs a team of `size` on `cpus` processors, with `hogs` threads that never stop computing. Each part
/// computes for [`GRAIN`].
fn run(cpus: u32, size: u32, hogs: u32, policy: Policy, help_after: HelpPolicy) -> Seen {
    run_parts_of(GRAIN, cpus, size, hogs, policy, help_after)
}

fn run_parts_of(grain: Nanos, cpus: u32, size: u32, hogs: u32, policy: Policy, help_after: HelpPolicy) -> Seen {
    let machine = MachineSpec { cpus, scheduler: Scheduler::Eevdf(Eevdf::LINUX), ..MachineSpec::tsafrir2002() };
    let team = ForkJoin::new(size).unwrap();
    let (done, courses) = (RefCell::new(vec![vec![0; size as usize]; REGIONS as usize]), RefCell::new(Vec::new()));
    let (region, over) = (Cell::new(0), Cell::new(false));
    let smp: Smp<Heap> = Smp::new(&machine, size + hogs, 3);
    let ended = smp.run(|cpu: SmpCpu<'_, Heap>| {
        let (team, done, courses, region, over) = (&team, &done, &courses, &region, &over);
        async move {
            let part = async |rank: u32| {
                let here = region.get();
                cpu.delay(grain).await;
                assert_eq!(region.get(), here, "the region was over before part {rank}");
                done.borrow_mut()[here][rank as usize] += 1;
            };
            match cpu.number() {
                0 => {
                    let mut leader = TeamLeader::new(team.leader(cpu, policy).unwrap(), cpu.costs().remote_wake);
                    for number in 0..REGIONS as usize {
                        region.set(number);
                        let course = leader.region(help_after, part).await.unwrap();
                        courses.borrow_mut().push(course);
                    }
                    over.set(true);
                    leader.handle.finish().unwrap();
                }
                rank if rank < size => {
                    TeamWorker::new(team.worker(cpu, rank, policy).unwrap(), policy).serve(part).await.unwrap();
                }
                _ => {
                    while !over.get() && cpu.now() < LONG {
                        cpu.delay(GRAIN).await;
                    }
                }
            }
        }
    });
    assert!(ended.iter().all(Option::is_some), "somebody waits forever");
    Seen { courses: courses.into_inner(), done: done.into_inner() }
}

fn policies() -> [Policy; 3] {
    [Policy::default(), Policy::Block, Policy::TwoPhase { spin: Nanos::from_us(20) }]
}

#[test]
fn each_part_is_done_once_whatever_the_machine() {
    for policy in policies() {
        for help_after in [HelpPolicy::AfterOwnTime, HelpPolicy::AtOnce] {
            for (cpus, size, hogs) in [(1, 1, 0), (1, 3, 0), (2, 2, 0), (2, 2, 1), (2, 4, 2), (4, 3, 0), (8, 7, 3)] {
                let seen = run(cpus, size, hogs, policy, help_after);
                assert!(seen.done.iter().flatten().all(|&times| times == 1), "{policy:?} {cpus} {size} {hogs}");
                assert_eq!(seen.courses.len(), REGIONS as usize);
            }
        }
    }
}

#[test]
fn with_a_processor_each_nobody_is_late_and_a_region_takes_little_more_than_a_part() {
    let seen = run(4, 4, 0, Policy::default(), HelpPolicy::AfterOwnTime);
    // In the first regions, workers have not arrived yet.
    for course in &seen.courses[10..] {
        assert_eq!((course.own, course.late), (GRAIN, 0));
        assert!(course.whole < GRAIN + Nanos::from_us(60), "{course:?}");
    }
}

/// On one processor a worker cannot start before the leader blocks, and a leader that spins waits in vain.
#[test]
fn a_leader_alone_on_its_processor_does_the_parts_of_those_who_cannot_come() {
    let seen = run(1, 3, 0, Policy::TwoPhase { spin: GRAIN * 4 }, HelpPolicy::AfterOwnTime);
    let late: u32 = seen.courses.iter().map(|course| course.late).sum();
    assert!(late > REGIONS / 2, "{late} of {} parts", 2 * REGIONS);
}

/// Four members per processor: a member that has finished its part hands the processor to the next one at
/// once, and the leader runs the parts that no member has started.
#[test]
fn a_team_larger_than_the_machine_keeps_every_processor_at_work() {
    for (grain, most) in [(Nanos::from_us(5), Nanos::from_us(33)), (Nanos::from_us(20), Nanos::from_us(108))] {
        let seen = run_parts_of(grain, 2, 8, 0, Policy::default(), HelpPolicy::AfterOwnTime);
        let settled = &seen.courses[10..];
        let whole = Nanos(settled.iter().map(|course| course.whole.0).sum::<u64>() / settled.len() as u64);
        assert!(whole <= most, "parts of {grain}: {whole} a region");
    }
}

#[test]
fn without_patience_whatever_was_not_begun_is_done_by_the_leader() {
    let seen = run(2, 2, 0, Policy::Block, HelpPolicy::AtOnce);
    assert!(seen.courses.iter().all(|course| course.whole <= GRAIN * 2 + Nanos::from_us(60)), "{:?}", seen.courses);
}

#[test]
fn the_same_run_goes_the_same_way() {
    let again = || run(2, 3, 2, Policy::default(), HelpPolicy::AfterOwnTime);
    assert_eq!(again(), again());
}
