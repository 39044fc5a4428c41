//! Teams under random schedules: every step of every member may come before or after every step of the others.
mod scheduled;

use foregather_barrier::Team;
use foregather_machine::{Cause, Cpu, Error, Nanos, Why, run_ready};
use foregather_wait::Policy;
use scheduled::{Scheduled, Word, team};
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::sync::Arc;
use shuttle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use shuttle::{Config, Runner};

const SCHEDULES: usize = 400;
/// Enough changes of priority to hit a bug that needs three threads in a certain order.
const DEPTH: usize = 4;
const REGIONS: u32 = 3;

const POLICIES: [Policy; 3] = [Policy::Block, Policy::TwoPhase { spin: Nanos(10) }, Policy::Spin];

fn explore(scheduler: impl Scheduler + 'static, schedule: impl Fn() + Send + Sync + 'static) {
    let mut config = Config::new();
    // A wait is deep in a build without optimisation.
    config.stack_size = 256 << 10;
    Runner::new(scheduler, config).run(schedule);
}

fn check_random(schedule: impl Fn() + Send + Sync + 'static, schedules: usize) {
    explore(RandomScheduler::new(schedules), schedule);
}

fn check_pct(schedule: impl Fn() + Send + Sync + 'static, schedules: usize, depth: usize) {
    explore(PctScheduler::new(depth, schedules), schedule);
}

fn regions(policy: Policy, size: u32) {
    let fork_join = Team::<Scheduled>::new(size).unwrap();
    let done: [AtomicU32; REGIONS as usize] = Default::default();
    let forked = AtomicU32::new(0);
    team(size, move |rank| {
        if rank == 0 {
            let mut master = fork_join.master(Scheduled, policy).unwrap();
            for done in &done {
                forked.fetch_add(1, SeqCst);
                master.fork().unwrap();
                run_ready(master.join()).unwrap();
                assert_eq!(done.load(SeqCst), size - 1, "{policy:?}: joined too early");
            }
            return master.finish().unwrap();
        }
        let mut slave = fork_join.slave(Scheduled, rank, policy).unwrap();
        let mut last = 0;
        while let Some(region) = run_ready(slave.wait()).unwrap() {
            assert_eq!((region, forked.load(SeqCst)), (last + 1, region), "{policy:?}: rank {rank}");
            last = region;
            done[region as usize - 1].fetch_add(1, SeqCst);
            slave.done().unwrap();
        }
        assert_eq!(last, REGIONS, "{policy:?}: rank {rank} has missed regions");
    });
}

#[test]
fn regions_follow_each_other_whatever_the_schedule() {
    for policy in POLICIES {
        for size in 1..=4 {
            check_random(move || regions(policy, size), SCHEDULES / 2);
        }
        check_pct(move || regions(policy, 4), SCHEDULES / 2, DEPTH);
    }
}

/// Slave 1 leaves after its part of the first region. The join of that region may have its name or not, that of the second must;
/// nobody waits for ever.
#[test]
fn a_slave_that_leaves_is_named_whatever_the_schedule() {
    let schedule = || {
        let fork_join = Team::<Scheduled>::new(3).unwrap();
        team(3, move |rank| {
            let gone = Err(Error::from(Cause::Poisoned { by: Some(1) }));
            if rank == 0 {
                let mut master = fork_join.master(Scheduled, Policy::Block).unwrap();
                let both = (0..2).try_for_each(|_| master.fork().and_then(|_| run_ready(master.join())));
                return assert_eq!(both, gone);
            }
            let mut slave = fork_join.slave(Scheduled, rank, Policy::Block).unwrap();
            assert_eq!(run_ready(slave.wait()), Ok(Some(1)));
            slave.done().unwrap();
            if rank == 1 {
                return;
            }
            let end = loop {
                match run_ready(slave.wait()) {
                    Ok(_) => slave.done().unwrap(),
                    Err(error) => break Err(error),
                }
            };
            assert_eq!(end, gone);
        });
    };
    check_random(schedule, SCHEDULES);
    check_pct(schedule, SCHEDULES, DEPTH);
}

/// The master leaves after a fork: every slave does that region, then learns who has gone.
#[test]
fn a_master_that_leaves_spoils_no_region_that_it_forked() {
    let schedule = || {
        let fork_join = Team::<Scheduled>::new(3).unwrap();
        team(3, move |rank| {
            if rank == 0 {
                return drop(fork_join.master(Scheduled, Policy::Block).unwrap().fork());
            }
            let mut slave = fork_join.slave(Scheduled, rank, Policy::Block).unwrap();
            assert_eq!(run_ready(slave.wait()), Ok(Some(1)));
            slave.done().unwrap();
            assert_eq!(run_ready(slave.wait()), Err(Error::from(Cause::Poisoned { by: Some(0) })));
        });
    };
    check_random(schedule, SCHEDULES);
    check_pct(schedule, SCHEDULES, DEPTH);
}

/// Two regions with two slaves over bare words; the last to be done resets the counter before or after it lets the master go on.
fn bare(reset_first: bool) {
    let words: Arc<[Word; 3]> = Arc::default();
    team(3, move |rank| {
        let [epoch, count, joined] = &*words;
        let wait = |on: &Word, region| {
            let come = || (Scheduled.load(on) == region).then_some(());
            run_ready(Policy::Block.wait(&Scheduled, on, Why::new("bare", rank), false, come)).unwrap();
        };
        for region in 1..=2 {
            if rank == 0 {
                Scheduled.store(epoch, region);
                wait(joined, region);
                continue;
            }
            wait(epoch, region);
            if Scheduled.add(count, 1) == 1 {
                if reset_first {
                    Scheduled.note(count, 0);
                }
                Scheduled.store(joined, region);
                if !reset_first {
                    Scheduled.note(count, 0);
                }
            }
        }
    });
}

/// The negative control of race T1: the other slave is done with the next region before the counter is reset.
#[test]
#[should_panic(expected = "deadlock")]
fn resetting_the_counter_after_the_join_is_found() {
    check_random(|| bare(false), 4 * SCHEDULES);
}

#[test]
fn resetting_it_before_is_right() {
    check_random(|| bare(true), 4 * SCHEDULES);
}
