//! Tasks under random schedules.
mod explore;
mod scheduled;

use explore::{check_pct, check_random};
use foregather_barrier::{Algorithm, Group};
use foregather_conformance::tasks::{TaskMistake, TaskProgram, TaskRun};
use foregather_machine::{Nanos, WaitContext, Words, block_on};
use foregather_task::{TaskScope, TaskTeam, TeamTask, Traits};
use foregather_wait::{Policy, Waiter};
use scheduled::{Scheduled, Word, team};
use shuttle::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const DEPTH: usize = 4;

/// How many random programs, each under a schedule of its own: `FOREGATHER_TASK_PROGRAMS`.
fn programs() -> usize {
    std::env::var("FOREGATHER_TASK_PROGRAMS").ok().and_then(|number| number.parse().ok()).unwrap_or(600)
}

/// A run by two or three members.
fn run(program: TaskProgram, size: u32, policy: Policy, mistake: TaskMistake) {
    let run = Arc::new(TaskRun::<Scheduled>::new(program, size, policy, Nanos(1), mistake));
    let shared = Arc::clone(&run);
    team(size, move |rank| block_on(shared.part(Scheduled, rank)));
    run.hold();
}

/// Two regions, one after the other.
fn run_regions(program: TaskProgram, size: u32, policy: Policy, mistake: TaskMistake) {
    let run = Arc::new(TaskRun::<Scheduled>::new(program, size, policy, Nanos(1), mistake));
    let shared = Arc::clone(&run);
    team(size, move |rank| block_on(shared.part_of_regions(Scheduled, rank, 2)));
    run.hold();
}

/// Another program each time that it is called.
fn drawn(run: impl Fn(TaskProgram, u32) + Send + Sync + 'static) -> impl Fn() + Send + Sync + 'static {
    let seed = AtomicU64::new(0);
    move || {
        let seed = seed.fetch_add(1, Relaxed);
        run(TaskProgram::drawn(seed, 3 + seed as usize % 8), 2 + seed as u32 % 2);
    }
}

#[test]
fn tasks_keep_their_order_and_are_complete_at_the_end_whatever_the_schedule() {
    for policy in [Policy::Block, Policy::TwoPhase { spin: Nanos(10) }] {
        let drawn = || drawn(move |program, size| run(program, size, policy, TaskMistake::Nothing));
        check_random(drawn(), programs() / 4);
        check_pct(drawn(), programs() / 4, DEPTH);
    }
}

#[test]
fn a_region_ends_when_its_tasks_are_complete_and_no_member_does_those_of_the_next_whatever_the_schedule() {
    for policy in [Policy::Block, Policy::TwoPhase { spin: Nanos(10) }] {
        let drawn = || drawn(move |program, size| run_regions(program, size, policy, TaskMistake::Nothing));
        check_random(drawn(), programs() / 4);
        check_pct(drawn(), programs() / 4, DEPTH);
    }
}

#[test]
#[should_panic(expected = "a member has left before all tasks were complete")]
fn a_join_that_does_not_ask_for_tasks_is_found() {
    check_random(|| run_regions(TaskProgram::drawn(1, 8), 2, Policy::Block, TaskMistake::PlainMeeting), programs());
}

/// A worker that has seen that its region is open takes a task, while the leader forks the next one: by hand.
fn early(looks_again: bool) {
    let words = Arc::new((Word::default(), Word::default()));
    team(2, move |rank| {
        let (epoch, queue) = &*words;
        if rank == 0 {
            Scheduled.publish(epoch, 1);
            return Scheduled.publish(queue, 1);
        }
        if Scheduled.load(epoch) == 0 && Scheduled.compare_exchange(queue, 1, 0).is_ok() {
            let is_open = Scheduled.load(epoch) == 0;
            if looks_again && !is_open {
                return Scheduled.publish(queue, 1);
            }
            assert!(is_open, "a member does a task of a region that it has not begun");
        }
    });
}

#[test]
fn a_task_of_the_next_region_is_put_back() {
    check_random(|| early(true), programs());
}

#[test]
#[should_panic(expected = "a member does a task of a region that it has not begun")]
fn a_worker_that_does_not_look_again_is_found() {
    check_random(|| early(false), programs());
}

/// The negative controls.
#[test]
#[should_panic(expected = "a member has left before all tasks were complete")]
fn a_meeting_that_does_not_ask_for_tasks_is_found() {
    check_random(|| run(TaskProgram::drawn(1, 8), 2, Policy::Block, TaskMistake::PlainMeeting), programs());
}

#[test]
#[should_panic(expected = "a task is found without its body")]
fn a_task_that_is_found_before_it_has_its_body_is_found() {
    check_random(|| run(TaskProgram::chain(3), 2, Policy::Block, TaskMistake::BodyLater), programs());
}

/// A member that ends a task lets the one that waits for it go on: by hand.
fn ended(rings_first: bool) {
    let words = Arc::new((Word::default(), Word::default()));
    Scheduled.store(&words.0, 1);
    team(2, move |rank| {
        let (unfinished, bell) = &*words;
        if rank == 0 {
            let over = || (Scheduled.load(unfinished) == 0).then_some(());
            block_on(Policy::Block.wait(&Scheduled, bell, WaitContext::new("by hand", rank), over)).unwrap();
            return;
        }
        if rings_first {
            Scheduled.ring(bell);
        }
        Scheduled.store(unfinished, 0);
        if !rings_first {
            Scheduled.ring(bell);
        }
    });
}

#[test]
fn a_member_that_waits_is_woken_by_the_end_of_the_last_task() {
    check_random(|| ended(false), programs());
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_ring_before_the_end_of_the_task_is_found() {
    check_random(|| ended(true), programs());
}

/// A task is followed by another one while it ends: by hand. The follower runs when its count is 0.
fn followed(asks: bool) {
    let words = Arc::new([(); 4].map(|()| Word::default()));
    team(2, move |rank| {
        let [noted, complete, before, bell] = &*words;
        if rank == 0 {
            Scheduled.store(before, 1);
            // The list and the flag stand behind one lock: these two are one step in the real thing.
            let is_complete = Scheduled.load(complete) == 1;
            if asks && is_complete {
                Scheduled.store(before, 0);
            } else {
                Scheduled.store(noted, 1);
                if asks && Scheduled.load(complete) == 1 {
                    Scheduled.store(before, 0);
                }
            }
            let may_run = || (Scheduled.load(before) == 0).then_some(());
            block_on(Policy::Block.wait(&Scheduled, bell, WaitContext::new("by hand", rank), may_run)).unwrap();
        } else {
            Scheduled.store(complete, 1);
            if Scheduled.load(noted) == 1 {
                Scheduled.store(before, 0);
                Scheduled.ring(bell);
            }
        }
    });
}

#[test]
fn a_task_that_follows_one_that_ends_is_not_forgotten() {
    check_random(|| followed(true), programs());
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_follower_that_does_not_ask_whether_the_task_is_complete_is_found() {
    check_random(|| followed(false), programs());
}

/// A member has kept a light task, and then waits in another one, which the light one is not within, so that
/// it may not begin it. A second member waits for the light task, too.
fn kept(looks: bool) {
    let team_of_tasks = TaskTeam::<Scheduled, ()>::new(Group::new(Algorithm::Central, 2).unwrap(), None);
    let root = std::sync::Arc::new(TeamTask::new(None, None, Traits::default()));
    root.begins(0);
    let child = || std::sync::Arc::new(TeamTask::new(Some(&root), None, Traits::default()).of_weight(0));
    let (around, light) = (child(), child());
    let shared = Arc::new((team_of_tasks, std::sync::Arc::clone(&root), around, light));
    team(2, move |rank| {
        let (tasks, root, around, light) = &*shared;
        let wait = |within| {
            let waiter = Waiter::new(Policy::Block, rank);
            let scope = TaskScope::Within(within);
            block_on(tasks.wait((&Scheduled, &waiter, rank), "by hand", &scope, || light.is_complete())).unwrap()
        };
        if rank == 0 {
            tasks.count(&Scheduled, light, root);
            root.order(&Scheduled, light, &[]);
            assert!(light.is_made(&Scheduled, Some(())));
            tasks.keep(&Scheduled, rank, std::sync::Arc::clone(light));
            if looks {
                assert!(wait(around).is_none(), "it is not within that");
            }
        } else if let Some(task) = wait(root) {
            assert!(task.take_body(rank).is_some());
            assert!(tasks.end(&Scheduled, rank, &task, None).is_none());
        }
    });
}

#[test]
fn what_its_owner_may_not_begin_is_found_by_the_others() {
    check_random(|| kept(true), programs());
}

/// The one that waits for it sleeps forever, as there is no patience without a clock.
#[test]
#[should_panic(expected = "deadlock")]
fn a_member_that_does_not_look_at_what_it_has_kept_is_found() {
    check_random(|| kept(false), programs());
}

/// A line of tasks of which each makes the next one, while its members meet: counts of makers come back to 0
/// now and then, and those of the region may not.
fn counted(before_it_is_found: bool) {
    const TASKS: u32 = 3;
    let group = Group::new(Algorithm::Central, 2).unwrap();
    let shared = Arc::new((
        TaskTeam::<Scheduled, ()>::new(group.clone(), None),
        group,
        [(); 2].map(|()| Word::default()),
        AtomicU64::new(0),
    ));
    let all = Arc::clone(&shared);
    team(2, move |rank| {
        let (tasks, group, [begun, over], missing) = &*shared;
        let make = |parent: &std::sync::Arc<TeamTask<Scheduled, ()>>| {
            let task = std::sync::Arc::new(TeamTask::new(Some(parent), None, Traits::default()));
            let count = || tasks.count(&Scheduled, &task, parent);
            if before_it_is_found {
                count();
            }
            parent.order(&Scheduled, &task, &[]);
            assert!(task.is_made(&Scheduled, Some(())));
            tasks.put(&Scheduled, rank, std::sync::Arc::clone(&task));
            if !before_it_is_found {
                count();
            }
        };
        if rank == 0 {
            let root = std::sync::Arc::new(TeamTask::new(None, None, Traits::default()));
            root.begins(rank);
            make(&root);
        }
        let mut member = group.member(Scheduled, rank, Policy::Block).unwrap();
        while let Some(task) = block_on(tasks.meet(&mut member)).unwrap() {
            assert!(task.take_body(rank).is_some());
            if Scheduled.fetch_add(begun, 1) + 1 < TASKS {
                make(&task);
            }
            Scheduled.fetch_add(over, 1);
            assert!(tasks.end(&Scheduled, rank, &task, None).is_none());
        }
        missing.fetch_max((TASKS - Scheduled.load(over)).into(), Relaxed);
    });
    assert_eq!(all.3.load(Relaxed), 0, "a member leaves before all tasks are complete");
}

#[test]
fn a_meeting_outlasts_makers_whose_counts_come_and_go() {
    check_random(|| counted(true), programs());
    check_pct(|| counted(true), programs(), DEPTH);
}

#[test]
#[should_panic(expected = "a member leaves before all tasks are complete")]
fn a_task_that_is_counted_after_it_may_be_found_is_found() {
    check_pct(|| counted(false), programs(), DEPTH);
}
