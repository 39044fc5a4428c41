//! Tasks as programs use them, on threads.
#![cfg(not(loom))]

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};
use foregather_openmp::tasking::{
    TaskBody, TaskDispatch, TaskKind, TaskSpec, begin_group, end_group, is_final, reduce, reduced, spawn, wait_for,
    wait_for_children, yield_to_others,
};
use foregather_openmp::worksharing::{barrier, single};
use foregather_openmp::{parallel, task};
use foregather_task::{Depend, DependenceType, GroupOf, Reductions, Traits};
use proptest::prelude::*;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

const PLAIN: TaskSpec<'static> = TaskSpec {
    deferred: true,
    kind: TaskKind { is_final: false, is_needed: false },
    traits: Traits { priority: 0, undeferred: false, detached: false },
    depends: &[],
    code: 0,
};

/// Makes a task.
fn make(spec: TaskSpec<'_>, body: impl FnOnce() + Send + 'static) {
    match spawn(spec) {
        TaskDispatch::Discard => {}
        TaskDispatch::Run(now) => now.run(body),
        TaskDispatch::Defer(later) => later.hand_over(Box::new(body)),
    }
}

fn fib(n: u64, sum: &Arc<AtomicU64>) {
    if n < 2 {
        sum.fetch_add(n, Relaxed);
        return;
    }
    for less in [1, 2] {
        let sum = Arc::clone(sum);
        make(PLAIN, move || fib(n - less, &sum));
    }
    wait_for_children();
}

#[test]
fn a_tree_of_tasks_is_done_whatever_the_size_of_the_region() {
    for size in [1, 2, 4, 7] {
        let sum = Arc::new(AtomicU64::new(0));
        parallel(size, &|| {
            if single() {
                fib(15, &sum);
            }
        });
        assert_eq!(sum.load(Relaxed), 610, "{size} members");
    }
}

#[test]
fn a_barrier_and_the_end_of_a_region_wait_for_all_tasks() {
    for size in [1, 2, 5] {
        let (done, by) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        parallel(size, &|| {
            for _ in 0..50 {
                let (done, by) = (Arc::clone(&done), Arc::clone(&by));
                make(PLAIN, move || {
                    let grandchild = Arc::clone(&done);
                    make(PLAIN, move || _ = grandchild.fetch_add(1, Relaxed));
                    done.fetch_add(1, Relaxed);
                    by.fetch_or(1 << task().rank, Relaxed);
                });
            }
            barrier();
            assert_eq!(done.load(Relaxed), 100 * size);
            barrier();
            let done = Arc::clone(&done);
            make(PLAIN, move || _ = done.fetch_add(1, Relaxed));
        });
        assert_eq!(done.load(Relaxed), 101 * size);
        assert!(by.load(Relaxed) < 1 << size);
    }
}

#[test]
fn members_that_have_nothing_left_to_do_help() {
    let by = Arc::new(Mutex::new(std::collections::HashSet::new()));
    // The others are at the region's end long before the first task is made.
    parallel(3, &|| {
        if task().rank == 0 {
            thread::sleep(Duration::from_millis(20));
            for _ in 0..6 {
                let by = Arc::clone(&by);
                make(PLAIN, move || {
                    by.lock().unwrap().insert(thread::current().id());
                    thread::sleep(Duration::from_millis(20));
                });
            }
        }
    });
    assert!(by.lock().unwrap().len() > 1, "one thread did them all");
}

#[test]
fn a_group_waits_for_descendants_and_children_are_waited_for_alone() {
    parallel(2, &|| {
        if !single() {
            return;
        }
        let done = Arc::new(AtomicU32::new(0));
        begin_group(GroupOf::Program);
        for _ in 0..20 {
            let done = Arc::clone(&done);
            make(PLAIN, move || {
                for _ in 0..3 {
                    let done = Arc::clone(&done);
                    make(PLAIN, move || _ = done.fetch_add(1, Relaxed));
                }
            });
        }
        end_group();
        assert_eq!(done.load(Relaxed), 60);
    });
}

#[test]
fn tasks_that_name_an_address_keep_their_order() {
    for size in [1, 2, 4] {
        let seen = Arc::new(Mutex::new(Vec::new()));
        parallel(size, &|| {
            if single() {
                for number in 0..200 {
                    let seen = Arc::clone(&seen);
                    let depends = [Depend { address: 8, access: DependenceType::Out }];
                    make(TaskSpec { depends: &depends, ..PLAIN }, move || seen.lock().unwrap().push(number));
                }
                wait_for(&[Depend { address: 8, access: DependenceType::In }]);
                assert_eq!(seen.lock().unwrap().len(), 200);
            }
        });
        assert!(seen.lock().unwrap().is_sorted());
    }
}

#[test]
fn a_chain_of_a_million_tasks_needs_no_stack_and_keeps_nothing() {
    let done = Arc::new(AtomicU32::new(0));
    parallel(2, &|| {
        if single() {
            for _ in 0..1_000_000 {
                let done = Arc::clone(&done);
                make(TaskSpec { depends: &[Depend { address: 8, access: DependenceType::Out }], ..PLAIN }, move || {
                    _ = done.fetch_add(1, Relaxed)
                });
            }
        }
    });
    assert_eq!(done.load(Relaxed), 1_000_000);
    assert_eq!(Arc::strong_count(&done), 1, "a task is kept");
}

/// Makes one task, which makes the next.
fn next_of(left: u32, done: Arc<AtomicU32>) {
    done.fetch_add(1, Relaxed);
    if left > 0 {
        make(PLAIN, move || next_of(left - 1, done));
    }
}

#[test]
fn tasks_may_outlive_those_that_have_made_them() {
    let done = Arc::new(AtomicU32::new(0));
    parallel(2, &|| {
        if single() {
            next_of(300_000, Arc::clone(&done));
        }
    });
    assert_eq!((done.load(Relaxed), Arc::strong_count(&done)), (300_001, 1));
}

#[test]
fn descendants_of_a_final_task_are_done_where_they_are_met() {
    parallel(3, &|| {
        if !single() {
            return;
        }
        make(TaskSpec { kind: TaskKind { is_final: true, ..PLAIN.kind }, ..PLAIN }, || {
            let here = thread::current().id();
            assert!(is_final());
            let seen = Arc::new(AtomicU32::new(0));
            for _ in 0..10 {
                let seen = Arc::clone(&seen);
                make(PLAIN, move || {
                    assert!(is_final() && thread::current().id() == here);
                    seen.fetch_add(1, Relaxed);
                });
            }
            assert_eq!(seen.load(Relaxed), 10, "without a wait");
        });
    });
    assert!(!is_final());
}

#[test]
fn a_detached_task_is_complete_when_its_event_is_fulfilled() {
    for size in [1, 3] {
        parallel(size, &|| {
            if !single() {
                return;
            }
            let (fulfilled, after) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(9)));
            let depends = [Depend { address: 8, access: DependenceType::Out }];
            let detached = TaskSpec { traits: Traits { detached: true, ..PLAIN.traits }, depends: &depends, ..PLAIN };
            let TaskDispatch::Defer(later) = spawn(detached) else { panic!("it has an event") };
            let event = later.event();
            later.hand_over(Box::new(|| {}));
            let (seen, told) = (Arc::clone(&fulfilled), Arc::clone(&after));
            make(TaskSpec { depends: &depends, ..PLAIN }, move || told.store(seen.load(Acquire), Relaxed));
            // By a thread that has no region.
            let told = Arc::clone(&fulfilled);
            let other = thread::spawn(move || {
                thread::sleep(Duration::from_millis(5));
                told.store(1, Release);
                event.fulfil();
            });
            wait_for_children();
            assert_eq!(after.load(Relaxed), 1, "{size} members: the one after it came before its event");
            other.join().unwrap();
        });
    }
}

#[test]
fn values_are_reduced_over_copies() {
    let mut copies = vec![0_u64; 4 * 8];
    let mut total = 0_u64;
    let (at, original) = (copies.as_mut_ptr().addr(), core::ptr::from_mut(&mut total).addr());
    parallel(4, &|| {
        if single() {
            begin_group(GroupOf::Program);
            reduce(Reductions { copies: at, bytes: 64, members: 4, values: vec![(original, 16)], memory: None });
            for _ in 0..40 {
                make(PLAIN, move || {
                    let (copy, of) = reduced(original).unwrap();
                    assert_eq!((copy, of), (at + 64 * task().rank as usize + 16, original));
                    assert_eq!(reduced(copy), Some((copy, original)));
                });
            }
            end_group();
            assert_eq!(reduced(original), None, "the group is over");
        }
    });
    drop((copies, total));
}

#[test]
fn a_thread_that_yields_may_do_a_child() {
    parallel(2, &|| {
        if single() {
            let done = Arc::new(AtomicU32::new(0));
            let told = Arc::clone(&done);
            make(PLAIN, move || told.store(1, Release));
            while done.load(Acquire) == 0 {
                yield_to_others();
            }
        }
    });
}

/// What is not worth fetching is done all the same when its maker does not come: here within the patience of
/// the member that waits, for which the maker has a thousand times as long.
#[test]
fn a_light_task_is_done_by_another_member_if_its_maker_stays_away() {
    // One with a priority is not done where it is met, although there are no priorities unless a user asks.
    const URGENT: Traits = Traits { priority: 1, undeferred: false, detached: false };
    const LIGHT: TaskSpec<'static> = TaskSpec { code: 0x2000, traits: URGENT, ..PLAIN };
    parallel(2, &|| {
        if single() {
            for _ in 0..200 {
                make(LIGHT, || {});
                wait_for_children();
            }
            for _ in 0..20 {
                let done = Arc::new(AtomicU32::new(0));
                let told = Arc::clone(&done);
                make(LIGHT, move || told.store(1 + task().rank, Release));
                let began = Instant::now();
                while done.load(Acquire) == 0 {
                    assert!(began.elapsed() < Duration::from_secs(60), "no member does it");
                    thread::yield_now();
                }
                assert_eq!(done.load(Acquire), 2 - task().rank, "by the other one");
            }
        }
    });
}

/// Each task makes the next one, at once or not: the stack stays.
#[test]
fn a_line_of_light_tasks_that_make_each_other_needs_no_deep_stack() {
    fn make_next(left: u32, done: &Arc<AtomicU32>) {
        const LIGHT: TaskSpec<'static> = TaskSpec { code: 0x5000, ..PLAIN };
        let done = Arc::clone(done);
        make(LIGHT, move || {
            done.fetch_add(1, Relaxed);
            if left > 1 {
                make_next(left - 1, &done);
            }
        });
    }
    parallel(2, &|| {
        if single() {
            let done = Arc::new(AtomicU32::new(0));
            (0..1_000).for_each(|_| make_next(1, &done));
            make_next(300_000, &done);
            wait_for_children();
            barrier();
            assert_eq!(done.load(Relaxed), 301_000);
        } else {
            barrier();
        }
    });
}

/// One step of a program of tasks.
#[derive(Clone, Debug)]
enum Step {
    /// Makes a task with these uses, and with children of its own.
    Make {
        uses: Vec<(u8, u8)>,
        children: Vec<Step>,
        deferred: bool,
        priority: u8,
    },
    Wait,
    WaitFor(u8),
    Group(Vec<Step>),
}

fn program() -> impl Strategy<Value = Vec<Step>> {
    let uses = prop::collection::vec((0_u8..5, 0_u8..3), 0..3);
    let leaf = prop_oneof![
        4 => (uses.clone(), any::<bool>(), 0_u8..3)
            .prop_map(|(uses, rarely, priority)| Step::Make { uses, children: vec![], deferred: !rarely || priority > 0, priority }),
        1 => Just(Step::Wait),
        1 => (1_u8..5).prop_map(Step::WaitFor),
    ];
    let step = leaf.prop_recursive(3, 60, 6, move |inner| {
        let steps = prop::collection::vec(inner, 0..6);
        prop_oneof![
            3 => (uses.clone(), steps.clone())
                .prop_map(|(uses, children)| Step::Make { uses, children, deferred: true, priority: 0 }),
            1 => steps.prop_map(Step::Group),
        ]
    });
    prop::collection::vec(step, 1..14)
}

/// What happened, in an order in which it may have.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Happened {
    Began(u32),
    Ended(u32),
}

/// What a run of a program shows.
#[derive(Default)]
struct Trace {
    happened: Mutex<Vec<Happened>>,
    tasks: AtomicU32,
    /// Pairs of tasks, the first of which ends before the second one begins.
    ordered: Mutex<Vec<(u32, u32)>>,
}

impl Trace {
    fn note(&self, what: Happened) {
        self.happened.lock().unwrap().push(what);
    }

    /// Runs the steps of one task. What must come before what is found by looking at all earlier siblings.
    fn run(self: &Arc<Self>, steps: &[Step], all_below: &mut Vec<u32>) {
        let mut siblings: Vec<(u32, Vec<(u8, u8)>)> = Vec::new();
        self.run_within(steps, &mut siblings, all_below);
    }

    fn run_within(self: &Arc<Self>, steps: &[Step], siblings: &mut Vec<(u32, Vec<(u8, u8)>)>, all_below: &mut Vec<u32>) {
        for step in steps {
            match step {
                Step::Make { uses, children, deferred, priority } => {
                    self.make(uses, children, *deferred, *priority, siblings, all_below)
                }
                Step::Wait => {
                    wait_for_children();
                    self.are_over(siblings.iter().map(|(task, _)| *task));
                }
                Step::WaitFor(address) => {
                    wait_for(&[Depend { address: *address as usize * 8, access: DependenceType::Out }]);
                    let named = |uses: &[(u8, u8)]| uses.iter().any(|(of, _)| of == address || *of == 0);
                    self.are_over(siblings.iter().filter(|(_, uses)| named(uses)).map(|(task, _)| *task));
                }
                Step::Group(steps) => {
                    begin_group(GroupOf::Program);
                    let mut below = Vec::new();
                    self.run_within(steps, siblings, &mut below);
                    end_group();
                    self.are_over(below.iter().copied());
                    all_below.extend(below);
                }
            }
        }
    }

    fn make(
        self: &Arc<Self>,
        uses: &[(u8, u8)],
        children: &[Step],
        deferred: bool,
        priority: u8,
        siblings: &mut Vec<(u32, Vec<(u8, u8)>)>,
        all_below: &mut Vec<u32>,
    ) {
        let number = self.tasks.fetch_add(1, Relaxed);
        let access = |kind| [DependenceType::In, DependenceType::Out, DependenceType::InOutSet][kind as usize];
        let depends: Vec<Depend> =
            uses.iter().map(|&(address, kind)| Depend { address: address as usize * 8, access: access(kind) }).collect();
        for (earlier, theirs) in siblings.iter() {
            if conflict(theirs, uses) {
                self.ordered.lock().unwrap().push((*earlier, number));
            }
        }
        siblings.push((number, uses.to_vec()));
        all_below.push(number);
        let (trace, is_leaf, children) = (Arc::clone(self), children.is_empty(), children.to_vec());
        let below = Arc::new(Mutex::new(Vec::new()));
        let body: TaskBody = Box::new({
            let below = Arc::clone(&below);
            move || {
                trace.note(Happened::Began(number));
                let mut all = Vec::new();
                trace.run(&children, &mut all);
                below.lock().unwrap().extend(all);
                trace.note(Happened::Ended(number));
            }
        });
        let traits = Traits { priority: priority.into(), ..PLAIN.traits };
        // Leaves are known to be light before long.
        let code = if is_leaf { 0x4000 } else { 0 };
        make(TaskSpec { deferred, traits, depends: &depends, code, ..PLAIN }, body);
    }

    /// Those tasks have ended by now.
    fn are_over(&self, tasks: impl Iterator<Item = u32>) {
        let happened = self.happened.lock().unwrap();
        for task in tasks {
            assert!(happened.contains(&Happened::Ended(task)), "task {task} is waited for, and not over: {happened:?}");
        }
    }
}

/// Returns whether two siblings with these uses must keep their order, judging by the pairs alone.
fn conflict(first: &[(u8, u8)], second: &[(u8, u8)]) -> bool {
    let kind = |uses: &[(u8, u8)], address: u8| {
        let mut kinds = uses.iter().filter(|(of, _)| *of == address).map(|(_, kind)| *kind);
        let one = kinds.next()?;
        Some(if kinds.all(|other| other == one) { one } else { 1 })
    };
    let any = |uses: &[(u8, u8)]| uses.iter().any(|(of, _)| *of == 0);
    let (first_all, second_all) = (any(first), any(second));
    if first_all || second_all {
        return !first.is_empty() && !second.is_empty();
    }
    (1..5).any(|address| match (kind(first, address), kind(second, address)) {
        (Some(first), Some(second)) => first == 1 || second == 1 || first != second,
        _ => false,
    })
}

/// Runs a program in a region, and holds what happened against what must.
fn hold(program: &[Step], size: u32) {
    let trace = Arc::new(Trace::default());
    parallel(size, &|| {
        if single() {
            trace.run(program, &mut Vec::new());
        }
    });
    let happened = trace.happened.lock().unwrap();
    let at = |what| happened.iter().position(|&happened| happened == what);
    let tasks = trace.tasks.load(Relaxed);
    assert_eq!(happened.len() as u32, 2 * tasks, "each task is done once");
    for &(first, second) in trace.ordered.lock().unwrap().iter() {
        let (ended, began) = (at(Happened::Ended(first)), at(Happened::Began(second)));
        assert!(ended.is_some() && ended < began, "task {second} began before task {first} had ended: {happened:?}");
    }
}

/// `FOREGATHER_TASK_PROGRAMS` says how many.
fn programs() -> u32 {
    std::env::var("FOREGATHER_TASK_PROGRAMS").ok().and_then(|number| number.parse().ok()).unwrap_or(300)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: programs(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_programs_keep_every_order_that_they_ask_for(program in program(), size in 1_u32..5) {
        hold(&program, size);
    }
}
