//! A member that is woken on the leader's processor moves away if there is another one, and a member that
//! blocks avoids the leader's processor.
use foregather_barrier::ForkJoin;
use foregather_host::affinity::{self, Mask};
use foregather_machine::{Placement, block_on};
use foregather_team::Team;
use foregather_thread::Thread;
use foregather_wait::Policy;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Runs one region of a team of `size` in which the leader and the first worker are on the first processor.
/// Returns where the worker ran before and after it left the leader's processor, if it did.
fn region(size: u32) -> Option<(u32, u32)> {
    let allowed = affinity::allowed();
    let team = ForkJoin::<Thread>::new(size).unwrap();
    std::thread::scope(|scope| {
        for rank in 2..size {
            let team = &team;
            scope.spawn(move || {
                let mut worker = team.join(Thread::current(), rank).unwrap();
                while block_on(worker.wait()).unwrap().is_some() {
                    worker.done().unwrap();
                }
            });
        }
        let worker = scope.spawn(|| {
            let cpu = Thread::current();
            let mut worker = team.worker(cpu, 1, Policy::adaptive(&cpu.costs())).unwrap();
            block_on(worker.wait()).unwrap().unwrap();
            block_on(cpu.move_to(allowed[0]));
            let (before, with) = (affinity::current(), worker.is_with_leader());
            let left = block_on(worker.leave_leader()).then(|| (before, affinity::current()));
            worker.done().unwrap();
            assert!(block_on(worker.wait()).unwrap().is_none());
            left.filter(|_| with)
        });
        let cpu = Thread::current();
        block_on(cpu.move_to(allowed[0]));
        let mut leader = team.leader(cpu, Policy::adaptive(&cpu.costs())).unwrap();
        leader.fork().unwrap();
        block_on(leader.join()).unwrap();
        leader.finish().unwrap();
        worker.join().unwrap()
    })
}

#[test]
fn a_member_leaves_the_leaders_processor_if_there_is_another_one() {
    let several = affinity::allowed().len() > 1;
    // The kernel may move either of them in between.
    let left = (0..200).find_map(|_| region(2));
    assert_eq!(left.is_some(), several, "{left:?}");
    assert!(left.is_none_or(|(before, after)| before != after), "{left:?}");
}

#[test]
fn a_member_of_a_team_larger_than_its_processors_stays() {
    let more = affinity::allowed().len() as u32 + 1;
    assert_eq!((0..50).find_map(|_| region(more.max(2))), None);
}

/// Returns how many processors the worker's mask contains, in its part and in the pause after it.
fn masks() -> Vec<(u32, u32)> {
    let (team, caller) = (Team::new(2).unwrap(), Thread::current().identity());
    let count = |thread| Mask::of(thread).unwrap().count();
    (0..20)
        .filter_map(|_| {
            let worker = Mutex::new(None);
            team.run(|member| {
                let began = Instant::now();
                if member.rank() == 1 {
                    *worker.lock().unwrap() = Some((Thread::current().identity(), count(None)));
                }
                while began.elapsed() < Duration::from_millis(1) {}
            });
            std::thread::sleep(Duration::from_millis(5));
            let (worker, inside) = worker.into_inner().unwrap().unwrap();
            // If the worker was late, the caller ran its part.
            (worker != caller).then(|| (inside, count(worker)))
        })
        .collect()
}

#[test]
fn a_worker_keeps_off_the_leaders_processor_while_it_sleeps_and_no_longer() {
    let all = Mask::of(None).unwrap().count();
    // The kernel may move either of them in between, and background load may shrink the team to one member.
    let masks = (0..20).map(|_| masks()).find(|masks| masks.iter().any(|&(_, asleep)| asleep < all) || all < 2).unwrap();
    assert!(masks.iter().all(|&(_, asleep)| asleep + 1 >= all), "{masks:?}");
    // Under load, the leader pulls a worker that has no processor, which changes its mask for a moment.
    assert!(masks.iter().filter(|&&(inside, _)| inside == all).count() * 2 > masks.len(), "{masks:?}");
}
