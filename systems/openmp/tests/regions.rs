//! Regions and what divides their work, as programs use them.
#![cfg(not(loom))]

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::*};
use foregather_openmp::worksharing::{
    AtEnd, Cancels, barrier, begin, cancel, end, hand_over, is_cancelled, next, next_section, ordered,
};
use foregather_openmp::worksharing::{single, single_copy};
use foregather_openmp::{
    Icvs, IterationSpace, RegionSpec, Schedule, ScheduleKind, ancestor, change, close, icvs, members, open, parallel, pause, task,
};
use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

const ROUNDS: usize = 200;

fn space(kind: ScheduleKind, chunk: u64, count: i64) -> IterationSpace {
    IterationSpace::signed(Schedule::new(kind, chunk), 0, count, 1)
}

fn one(calls: &AtomicU32) {
    calls.fetch_add(1, Relaxed);
}

fn add(sum: &AtomicU64, number: u64) {
    sum.fetch_add(number, Relaxed);
}

/// Does all iterations that the calling thread gets.
fn all(mut each: impl FnMut(u64)) {
    while let Some((from, to)) = next() {
        (from..to).for_each(&mut each);
    }
}

#[test]
fn each_member_is_a_thread_of_its_own_and_keeps_its_number() {
    let threads: [Mutex<HashSet<ThreadId>>; 4] = Default::default();
    for _ in 0..ROUNDS {
        let ranks = AtomicU32::new(0);
        parallel(4, &|| {
            let here = task();
            assert_eq!((here.size, here.level, here.active), (4, 1, 1));
            ranks.fetch_or(1 << here.rank, Relaxed);
            threads[here.rank as usize].lock().unwrap().insert(thread::current().id());
        });
        assert_eq!(ranks.into_inner(), 0b1111);
        assert_eq!((task().size, task().level), (1, 0));
    }
    let threads = threads.map(|ids| ids.into_inner().unwrap());
    assert!(threads.iter().all(|ids| ids.len() == 1), "{threads:?}");
    assert!(threads[0].contains(&thread::current().id()), "the opener is the first member");
    assert_eq!(threads.iter().flatten().collect::<HashSet<_>>().len(), 4);
}

#[test]
fn a_pause_ends_the_threads_of_the_regions_so_far() {
    let threads = || {
        let threads = Mutex::new(HashSet::new());
        parallel(3, &|| _ = threads.lock().unwrap().insert(thread::current().id()));
        threads.into_inner().unwrap()
    };
    let before = threads();
    assert_eq!(threads(), before);
    assert!(pause());
    let after = threads();
    assert_eq!(before.intersection(&after).collect::<Vec<_>>(), [&thread::current().id()]);
    parallel(2, &|| assert!(!pause(), "this region's threads are needed"));
}

#[test]
fn sizes_may_change_from_region_to_region() {
    for size in [1, 2, 5, 3, 40, 2, 1, 4] {
        let (calls, met) = (AtomicU32::new(0), AtomicU32::new(0));
        parallel(size, &|| {
            calls.fetch_add(1, Relaxed);
            barrier();
            assert_eq!(calls.load(Relaxed), size);
            met.fetch_add(1, Relaxed);
        });
        assert_eq!((calls.into_inner(), met.into_inner()), (size, size));
    }
}

#[test]
fn no_member_passes_a_barrier_before_all_have_come() {
    let phase = AtomicU32::new(0);
    parallel(3, &|| {
        for round in 0..ROUNDS as u32 {
            phase.fetch_add(1, Relaxed);
            barrier();
            assert!(phase.load(Relaxed) >= 3 * (round + 1));
            barrier();
        }
    });
    assert_eq!(phase.into_inner(), 3 * ROUNDS as u32);
}

#[test]
fn every_iteration_is_done_once_by_every_schedule() {
    for kind in [ScheduleKind::Static, ScheduleKind::Dynamic, ScheduleKind::Guided, ScheduleKind::Auto] {
        for (size, chunk, count) in [(1, 3, 100), (2, 1, 100), (3, 7, 1_000), (4, 0, 5), (3, 2, 0)] {
            let done: Vec<AtomicU32> = (0..count).map(|_| AtomicU32::new(0)).collect();
            parallel(size, &|| {
                for _ in 0..20 {
                    begin(space(kind, chunk, count));
                    all(|at| one(&done[at as usize]));
                    end(AtEnd::Barrier);
                }
            });
            assert!(done.iter().all(|done| done.load(Relaxed) == 20), "{kind:?}, {size} members");
        }
    }
}

#[test]
fn a_fast_member_may_be_a_ring_ahead_in_loops_without_a_barrier() {
    let (done, late) = (AtomicU64::new(0), AtomicBool::new(false));
    parallel(3, &|| {
        if task().rank == 2 {
            thread::sleep(std::time::Duration::from_millis(20));
            late.store(true, Relaxed);
        }
        for number in 0..100 {
            begin(space(ScheduleKind::Dynamic, 1, 10));
            all(|_| add(&done, 1));
            end(AtEnd::NoWait);
            assert!(number < 16 || late.load(Relaxed), "a member is more than a ring ahead");
        }
    });
    assert_eq!(done.into_inner(), 1_000);
}

#[test]
fn a_region_may_be_a_loop_or_sections() {
    for _ in 0..ROUNDS {
        let sum = AtomicU64::new(0);
        parallel(RegionSpec { threads: 3, space: Some(space(ScheduleKind::Guided, 1, 100)), ..RegionSpec::default() }, &|| {
            all(|at| add(&sum, at));
            end(AtEnd::NoWait);
        });
        assert_eq!(sum.into_inner(), 4_950);
        let done = AtomicU32::new(0);
        parallel(RegionSpec { threads: 2, space: Some(IterationSpace::sections(5)), ..RegionSpec::default() }, &|| {
            while let Some(section) = next_section() {
                assert_eq!(done.fetch_or(1 << section, Relaxed) & 1 << section, 0, "twice");
            }
            end(AtEnd::NoWait);
        });
        assert_eq!(done.into_inner(), 0b11_1110);
    }
    // A team of one does them one by one, too.
    begin(IterationSpace::sections(3));
    assert_eq!([next_section(), next_section(), next_section(), next_section()], [Some(1), Some(2), Some(3), None]);
    end(AtEnd::Barrier);
}

#[test]
fn parts_in_order_come_in_order() {
    for (kind, chunk) in [
        (ScheduleKind::Dynamic, 1),
        (ScheduleKind::Dynamic, 3),
        (ScheduleKind::Static, 0),
        (ScheduleKind::Static, 2),
        (ScheduleKind::Guided, 1),
    ] {
        let order = Mutex::new(Vec::new());
        parallel(3, &|| {
            begin(space(kind, chunk, 60).ordered(true));
            all(|at| {
                // Not every iteration has a part in order.
                if at % 7 != 3 {
                    ordered();
                    order.lock().unwrap().push(at);
                }
            });
            end(AtEnd::Barrier);
        });
        let expected: Vec<u64> = (0..60).filter(|at| at % 7 != 3).collect();
        assert_eq!(order.into_inner().unwrap(), expected, "{kind:?}, {chunk}");
    }
}

#[test]
fn one_member_does_what_is_for_one_and_may_hand_it_over() {
    let chosen = AtomicUsize::new(0);
    parallel(3, &|| {
        for round in 0..ROUNDS {
            if single() {
                chosen.fetch_add(1, Relaxed);
            }
            let mine = [round, 7];
            let theirs = match single_copy() {
                None => {
                    hand_over(mine.as_ptr().cast_mut().cast());
                    mine.as_ptr() as usize
                }
                Some(data) => data as usize,
            };
            assert_ne!(theirs, 0);
            barrier();
        }
    });
    assert_eq!(chosen.into_inner(), ROUNDS);
    assert!(single() && single_copy().is_none());
}

#[test]
fn a_region_within_a_region_has_threads_of_its_own_if_it_may() {
    let leaves = Mutex::new(Vec::new());
    parallel(2, &|| {
        assert_eq!(members(2), 1, "one level is the default");
        change(|icvs| icvs.active_levels = 2);
        for _ in 0..20 {
            parallel(2, &|| {
                barrier();
                let here = task();
                assert_eq!((here.level, here.active, here.size), (2, 2, 2));
                let outer = ancestor(1).unwrap();
                assert_eq!(ancestor(0).unwrap().size, 1);
                assert!(ancestor(3).is_none());
                leaves.lock().unwrap().push((outer.rank, here.rank));
            });
            barrier();
        }
    });
    let mut leaves = leaves.into_inner().unwrap();
    leaves.sort_unstable();
    let expected: Vec<_> = [(0, 0), (0, 1), (1, 0), (1, 1)].into_iter().flat_map(|leaf| [leaf; 20]).collect();
    assert_eq!(leaves, expected);
}

#[test]
fn the_opener_of_a_region_may_do_its_part_itself() {
    for size in [1, 3, 2] {
        for _ in 0..ROUNDS {
            let calls = Arc::new(AtomicU32::new(0));
            let body = {
                let calls = Arc::clone(&calls);
                move || {
                    calls.fetch_or(1 << task().rank, Relaxed);
                    barrier();
                    begin(space(ScheduleKind::Dynamic, 1, 5));
                    all(|at| {
                        calls.fetch_add(1 << (8 + at), Relaxed);
                    });
                    end(AtEnd::Barrier);
                }
            };
            open(size, body.clone());
            assert_eq!((task().rank, task().size, task().level), (0, size, 1));
            body();
            close();
            assert_eq!(calls.load(Relaxed), 0b1_1111 << 8 | ((1 << size) - 1));
            assert_eq!(task().level, 0);
        }
    }
    // None is open.
    close();
}

#[test]
fn a_serial_region_hides_the_team_around_it() {
    let sum = AtomicU64::new(0);
    parallel(2, &|| {
        begin(space(ScheduleKind::Dynamic, 1, 10));
        while let Some((from, _)) = next() {
            // Within it a loop is this thread's alone, and a barrier meets no other thread.
            parallel(1, &|| {
                assert_eq!((task().size, task().level, task().active), (1, 2, 1));
                begin(space(ScheduleKind::Dynamic, 1, 10));
                all(|at| add(&sum, at + from));
                end(AtEnd::Barrier);
                barrier();
            });
        }
        end(AtEnd::Barrier);
    });
    assert_eq!(sum.into_inner(), 10 * 45 + 10 * 45);
}

#[test]
fn what_a_task_goes_by_is_its_own() {
    let before = icvs();
    change(|icvs| icvs.threads = 3);
    parallel(0, &|| {
        assert_eq!((task().size, icvs().threads), (3, 3));
        change(|icvs| *icvs = Icvs { threads: 9, ..*icvs });
    });
    assert_eq!(icvs(), Icvs { threads: 3, ..before });
    change(|icvs| icvs.thread_limit = 2);
    assert!(members(8) <= 2);
    change(|icvs| *icvs = before);
}

#[test]
fn nothing_is_cancelled_unless_the_environment_allows_it() {
    parallel(2, &|| {
        assert!(!cancel(Cancels::Region) && !cancel(Cancels::Loop));
        assert!(!is_cancelled(Cancels::Region) && !barrier());
    });
}

#[test]
fn a_panic_of_a_member_is_the_openers_and_the_threads_work_on() {
    for rank in 0..2 {
        let end = std::panic::catch_unwind(|| parallel(2, &|| assert!(task().rank != rank, "rank {rank} fails")));
        assert!(end.unwrap_err().downcast::<String>().unwrap().contains("fails"));
        assert_eq!(task().level, 0);
    }
    let calls = AtomicU32::new(0);
    parallel(2, &|| one(&calls));
    assert_eq!(calls.into_inner(), 2);
}

#[test]
fn threads_that_opened_regions_leave_none_behind() {
    let threads_now = || std::fs::read_dir("/proc/self/task").unwrap().count();
    let region = || {
        parallel(3, &|| {
            barrier();
        });
    };
    thread::spawn(region).join().unwrap();
    for _ in 0..200 {
        thread::spawn(region).join().unwrap();
    }
    // Other tests of this program have threads, too; the members of a thread that has gone end by themselves.
    let left = |_| {
        thread::sleep(std::time::Duration::from_millis(10));
        threads_now() < 120
    };
    assert!((0..500).any(left), "{} threads", threads_now());
}
