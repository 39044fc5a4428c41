//! The interleavings of the ring's races (`README.md`). Run with `RUSTFLAGS="--cfg loom"`.
#![cfg(loom)]

use foregather_openmp::ring::{LoopSlot, Singles};
use foregather_openmp::{IterationSpace, Schedule, ScheduleKind};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering::*};
use loom::thread;

/// Two members meet two loops that use the same slot, one after the other, and count what they take of each.
fn two_loops(leave: fn(&LoopSlot, u32) -> bool) {
    let mut explorer = loom::model::Builder::new();
    explorer.preemption_bound = Some(2);
    explorer.check(move || {
        let slot = Arc::new(LoopSlot::default());
        let taken: Arc<[AtomicU32; 2]> = Arc::new(Default::default());
        let member = move |slot: Arc<LoopSlot>, taken: Arc<[AtomicU32; 2]>| {
            let space = IterationSpace::signed(Schedule::new(ScheduleKind::Dynamic, 1), 0, 1, 1);
            for (number, taken) in [0, foregather_openmp::ring::SLOTS as u32].into_iter().zip(&*taken) {
                while !slot.is_for(number) {
                    thread::yield_now();
                }
                while slot.take(&space, false, 2).is_some() {
                    taken.fetch_add(1, Relaxed);
                }
                leave(&slot, 2);
            }
        };
        let other = {
            let (slot, taken) = (slot.clone(), taken.clone());
            thread::spawn(move || member(slot, taken))
        };
        member(slot, taken.clone());
        other.join().unwrap();
        assert!(taken.iter().all(|taken| taken.load(Relaxed) == 1), "an iteration was lost, or done twice");
    });
}

#[test]
fn every_iteration_is_done_once_though_the_slot_is_used_again() {
    two_loops(LoopSlot::leave);
}

/// The negative control: a slot that the first member opens again deals its iterations twice.
#[test]
#[should_panic(expected = "an iteration was lost, or done twice")]
fn a_slot_that_is_opened_by_the_first_deals_twice() {
    two_loops(|slot, _| slot.leave(1));
}

/// Two members meet two constructs of which each has one member.
fn two_singles(choose: fn(&Singles, u32) -> bool) {
    loom::model(move || {
        let singles = Arc::new(Singles::default());
        let member = move |singles: &Singles| [choose(singles, 0), choose(singles, 1)];
        let other = {
            let singles = singles.clone();
            thread::spawn(move || member(&singles))
        };
        let (here, there) = (member(&singles), other.join().unwrap());
        assert!(here.into_iter().zip(there).all(|(here, there)| here != there), "none, or both, were chosen");
    });
}

#[test]
fn one_member_is_chosen_for_each_construct() {
    two_singles(Singles::choose);
}

/// The negative control of race 2.
#[test]
#[should_panic(expected = "none, or both, were chosen")]
fn members_that_look_and_store_are_both_chosen() {
    two_singles(Singles::choose_by_a_look);
}
