//! Teams under random schedules: every step of every member may come before or after every step of the
//! others.
mod scheduled;

use foregather_barrier::ForkJoin;
use foregather_machine::{Cause, Error, Nanos, WaitContext, Words, block_on};
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
    // Without optimisation a wait is deep.
    config.stack_size = 256 << 10;
    Runner::new(scheduler, config).run(schedule);
}

fn check_random(schedule: impl Fn() + Send + Sync + 'static, schedules: usize) {
    explore(RandomScheduler::new(schedules), schedule);
}

/// A fault must be found under the same schedules everywhere: other schedules may show another consequence of
/// it first.
fn find(schedule: impl Fn() + Send + Sync + 'static, schedules: usize) {
    explore(RandomScheduler::new_from_seed(1, schedules), schedule);
}

fn check_pct(schedule: impl Fn() + Send + Sync + 'static, schedules: usize, depth: usize) {
    explore(PctScheduler::new(depth, schedules), schedule);
}

fn regions(policy: Policy, size: u32) {
    let fork_join = ForkJoin::<Scheduled>::new(size).unwrap();
    let done: [AtomicU32; REGIONS as usize] = Default::default();
    let forked = AtomicU32::new(0);
    team(size, move |rank| {
        if rank == 0 {
            let mut leader = fork_join.leader(Scheduled, policy).unwrap();
            for done in &done {
                forked.fetch_add(1, SeqCst);
                leader.fork().unwrap();
                block_on(leader.join()).unwrap();
                assert_eq!(done.load(SeqCst), size - 1, "{policy:?}: joined too early");
            }
            return leader.finish().unwrap();
        }
        let mut worker = fork_join.worker(Scheduled, rank, policy).unwrap();
        let mut last = 0;
        while let Some(region) = block_on(worker.wait()).unwrap() {
            assert_eq!((region, forked.load(SeqCst)), (last + 1, region), "{policy:?}: rank {rank}");
            last = region;
            done[region as usize - 1].fetch_add(1, SeqCst);
            worker.done().unwrap();
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

/// Worker 1 leaves after its part of the first region. The join of that region may have its name or not, that
/// of the second must; no member waits forever.
#[test]
fn a_slave_that_leaves_is_named_whatever_the_schedule() {
    let schedule = || {
        let fork_join = ForkJoin::<Scheduled>::new(3).unwrap();
        team(3, move |rank| {
            let gone = Err(Error::from(Cause::Poisoned { by: Some(1) }));
            if rank == 0 {
                let mut leader = fork_join.leader(Scheduled, Policy::Block).unwrap();
                let both = (0..2).try_for_each(|_| leader.fork().and_then(|_| block_on(leader.join())));
                return assert_eq!(both, gone);
            }
            let mut worker = fork_join.worker(Scheduled, rank, Policy::Block).unwrap();
            assert_eq!(block_on(worker.wait()), Ok(Some(1)));
            worker.done().unwrap();
            if rank == 1 {
                return;
            }
            let end = loop {
                match block_on(worker.wait()) {
                    Ok(_) => worker.done().unwrap(),
                    Err(error) => break Err(error),
                }
            };
            assert_eq!(end, gone);
        });
    };
    check_random(schedule, SCHEDULES);
    check_pct(schedule, SCHEDULES, DEPTH);
}

/// The leader leaves after a fork: every worker does that region, then learns that the leader has gone.
#[test]
fn a_master_that_leaves_spoils_no_region_that_it_forked() {
    let schedule = || {
        let fork_join = ForkJoin::<Scheduled>::new(3).unwrap();
        team(3, move |rank| {
            if rank == 0 {
                return drop(fork_join.leader(Scheduled, Policy::Block).unwrap().fork());
            }
            let mut worker = fork_join.worker(Scheduled, rank, Policy::Block).unwrap();
            assert_eq!(block_on(worker.wait()), Ok(Some(1)));
            worker.done().unwrap();
            assert_eq!(block_on(worker.wait()), Err(Error::from(Cause::Poisoned { by: Some(0) })));
        });
    };
    check_random(schedule, SCHEDULES);
    check_pct(schedule, SCHEDULES, DEPTH);
}

/// Two regions with two workers over bare words; the last to be done resets the counter before or after it
/// lets the leader go on.
fn bare(reset_first: bool) {
    let words: Arc<[Word; 3]> = Arc::default();
    team(3, move |rank| {
        let [epoch, count, joined] = &*words;
        let wait = |on: &Word, region| {
            let come = || (Scheduled.load(on) == region).then_some(());
            block_on(Policy::Block.wait(&Scheduled, on, WaitContext::new("bare", rank), come)).unwrap();
        };
        for region in 1..=2 {
            if rank == 0 {
                Scheduled.publish(epoch, region);
                wait(joined, region);
                continue;
            }
            wait(epoch, region);
            if Scheduled.fetch_add(count, 1) == 1 {
                if reset_first {
                    Scheduled.store(count, 0);
                }
                Scheduled.publish(joined, region);
                if !reset_first {
                    Scheduled.store(count, 0);
                }
            }
        }
    });
}

/// The negative control of race T1: the other worker is done with the next region before the counter is
/// reset.
#[test]
#[should_panic(expected = "deadlock")]
fn resetting_the_counter_after_the_join_is_found() {
    check_random(|| bare(false), 4 * SCHEDULES);
}

#[test]
fn resetting_it_before_is_right() {
    check_random(|| bare(true), 4 * SCHEDULES);
}

/// Each part is done once, by its worker or by the leader, which takes what it finds, and no member sees a
/// descriptor of another region: the leader empties it as soon as it has joined.
fn late(policy: Policy, size: u32) {
    let fork_join = ForkJoin::<Scheduled>::new(size).unwrap();
    let (descriptor, done) = (AtomicU32::new(0), AtomicU32::new(0));
    team(size, move |rank| {
        let part = |region| {
            assert_eq!(descriptor.load(SeqCst), region, "{policy:?}: a descriptor of another region");
            done.fetch_add(1, SeqCst);
            assert_eq!(descriptor.load(SeqCst), region, "{policy:?}: the region was joined too early");
        };
        if rank == 0 {
            let mut leader = fork_join.leader(Scheduled, policy).unwrap();
            for region in 1..=REGIONS {
                descriptor.store(region, SeqCst);
                leader.fork().unwrap();
                while leader.steal_part().unwrap().is_some() {
                    part(region);
                    leader.finish_stolen().unwrap();
                }
                block_on(leader.join()).unwrap();
                descriptor.store(0, SeqCst);
                assert_eq!(done.load(SeqCst), region * (size - 1), "{policy:?}: a part was done twice or never");
            }
            return leader.finish().unwrap();
        }
        let mut worker = fork_join.worker(Scheduled, rank, policy).unwrap();
        let mut last = 0;
        while let Some(region) = block_on(worker.wait()).unwrap() {
            assert!(region > last, "{policy:?}: rank {rank} goes back");
            last = region;
            part(region);
            worker.done().unwrap();
        }
    });
}

#[test]
fn a_part_is_done_once_whoever_takes_it() {
    for policy in POLICIES {
        for size in 2..=4 {
            check_random(move || late(policy, size), SCHEDULES / 2);
        }
        check_pct(move || late(policy, 3), SCHEDULES / 2, DEPTH);
    }
}

/// A worker that is away sees no region; it may be called back, or find the end, wherever it is when that
/// happens.
#[test]
fn who_is_called_back_takes_part_in_the_next_region() {
    let schedule = || {
        let fork_join = ForkJoin::<Scheduled>::new(3).unwrap();
        team(3, move |rank| {
            if rank == 0 {
                let mut leader = fork_join.leader(Scheduled, Policy::Block).unwrap();
                for region in 1..=6 {
                    match region {
                        2 => assert_eq!((leader.dismiss(1), leader.dismiss(1), leader.present()), (Ok(true), Ok(false), 2)),
                        4 => assert_eq!((leader.recall(1), leader.recall(1), leader.present()), (Ok(true), Ok(false), 3)),
                        6 => assert_eq!(leader.dismiss(1), Ok(true)),
                        _ => {}
                    }
                    leader.fork().unwrap();
                    block_on(leader.join()).unwrap();
                }
                return leader.finish().unwrap();
            }
            let mut worker = fork_join.worker(Scheduled, rank, Policy::Block).unwrap();
            let mut seen = Vec::new();
            while let Some(region) = block_on(worker.wait()).unwrap() {
                seen.push(region);
                worker.done().unwrap();
            }
            assert_eq!(seen, if rank == 1 { vec![1, 4, 5] } else { vec![1, 2, 3, 4, 5, 6] });
        });
    };
    check_random(schedule, SCHEDULES);
    check_pct(schedule, SCHEDULES, DEPTH);
}

#[test]
fn a_master_that_leaves_is_named_to_those_who_are_away() {
    let schedule = || {
        let fork_join = ForkJoin::<Scheduled>::new(2).unwrap();
        team(2, move |rank| {
            if rank == 0 {
                let mut leader = fork_join.leader(Scheduled, Policy::Block).unwrap();
                leader.dismiss(1).unwrap();
                leader.fork().unwrap();
                return block_on(leader.join()).unwrap();
            }
            let mut worker = fork_join.worker(Scheduled, rank, Policy::Block).unwrap();
            assert_eq!(block_on(worker.wait()), Err(Error::from(Cause::Poisoned { by: Some(0) })));
        });
    };
    check_random(schedule, SCHEDULES);
}

/// What the protocol of parts can leave out.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    Nothing,
    /// A released worker goes to work without having taken its part.
    TakesNothing,
    /// The leader goes on when all parts are taken, although they are not done.
    JoinsWhatIsTaken,
    /// A worker that has taken its part does not look again which region the part belongs to.
    LooksOnce,
}

/// One worker that may be late, regions numbered modulo 2, over bare words: so the third region has the
/// number of the first.
fn parts(fault: Fault) {
    let words: Arc<[Word; 4]> = Arc::default();
    let descriptor = Arc::new(AtomicU32::new(0));
    team(2, move |rank| {
        let [epoch, taken, joined, ended] = &*words;
        let wait = |on: &Word, come: &dyn Fn() -> bool| {
            block_on(Policy::Block.wait(&Scheduled, on, WaitContext::new("parts", rank), || come().then_some(()))).unwrap();
        };
        if rank == 0 {
            for region in 1..=REGIONS {
                let number = region % 2;
                descriptor.store(region, SeqCst);
                Scheduled.publish(epoch, number);
                if Scheduled.compare_exchange(taken, 1 - number, number).is_err() && fault != Fault::JoinsWhatIsTaken {
                    wait(joined, &|| Scheduled.load(joined) == number);
                }
                Scheduled.store(joined, number);
                descriptor.store(0, SeqCst);
            }
            Scheduled.publish(ended, 1);
            return Scheduled.publish(epoch, 2);
        }
        let mut seen = 0;
        loop {
            wait(epoch, &|| Scheduled.load(epoch) != seen);
            seen = Scheduled.load(epoch);
            if seen == 2 {
                return;
            }
            if fault != Fault::TakesNothing && Scheduled.compare_exchange(taken, 1 - seen, seen).is_err() {
                continue;
            }
            if fault != Fault::LooksOnce {
                wait(epoch, &|| Scheduled.load(epoch) == seen || Scheduled.load(ended) != 0);
                if Scheduled.load(ended) != 0 {
                    return;
                }
            }
            let region = descriptor.load(SeqCst);
            assert!(region != 0 && descriptor.load(SeqCst) == region, "a descriptor that is being written");
            Scheduled.publish(joined, seen);
        }
    });
}

#[test]
fn parts_that_are_taken_and_looked_at_again_are_safe() {
    check_random(|| parts(Fault::Nothing), 4 * SCHEDULES);
    check_pct(|| parts(Fault::Nothing), 4 * SCHEDULES, DEPTH);
}

/// The negative control of race T6.
#[test]
#[should_panic(expected = "being written")]
fn a_slave_that_takes_nothing_is_found() {
    find(|| parts(Fault::TakesNothing), 4 * SCHEDULES);
}

/// The negative control of race T7.
#[test]
#[should_panic(expected = "being written")]
fn a_descriptor_used_again_before_all_parts_are_done_is_found() {
    find(|| parts(Fault::JoinsWhatIsTaken), 4 * SCHEDULES);
}

/// The negative control of race T8: a worker that slept through all numbers.
#[test]
#[should_panic(expected = "being written")]
fn a_part_taken_before_its_region_is_found() {
    find(|| parts(Fault::LooksOnce), 16 * SCHEDULES);
}
