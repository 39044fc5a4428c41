//! Every interleaving of the races in `src/slots/README.md`, in slots of two places and tables that begin
//! with one slot. Run with `RUSTFLAGS="--cfg loom"`.
#![cfg(loom)]
#![allow(dead_code, reason = "of the sources a part is tried")]

#[path = "../src/slots/slot.rs"]
mod slot;
#[path = "../src/slots/table.rs"]
mod table;

/// In place of the module of that name elsewhere.
mod primitive {
    pub(crate) use loom::cell::UnsafeCell;
    pub(crate) use loom::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

    pub(crate) const PLACES: usize = 2;
    pub(crate) const FIRST: usize = 1;
}

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicPtr, AtomicUsize};
use loom::thread;
use slot::{Closed, Slot, Stamp};
use std::ptr::null_mut;
use table::HandleTable;

/// A thing that knows which turn it is of; loom finds a use that does not come before the destruction.
type Thing = std::sync::Arc<UnsafeCell<u64>>;

fn thing(turn: u64) -> Thing {
    UnsafeCell::new(turn).into()
}

fn turn_of(thing: &Thing) -> u64 {
    // SAFETY: it is written when it is destroyed; loom checks that no thread reads it then.
    thing.with(|turn| unsafe { *turn })
}

fn destroyed(thing: &Thing) {
    // SAFETY: no thread uses what is destroyed; loom checks it.
    thing.with_mut(|turn| unsafe { *turn = 0 });
}

/// Destroys the thing as soon as no call is in. False if another thread has.
fn destroy(slot: &Slot<Thing>, turn: u64) -> bool {
    let Some(mut closed) = slot.close(turn) else { return false };
    loop {
        closed = match closed.empty() {
            Ok(thing) => break destroyed(&thing.expect("another thread has taken it")),
            Err(closed) => closed,
        };
        thread::yield_now();
    }
    true
}

/// A call with a handle of that turn.
fn call(slot: &Slot<Thing>, turn: u64, place: usize) {
    if let Some(inside) = slot.enter(turn, place) {
        assert_eq!(turn_of(&inside), turn, "the thing of another turn");
    }
}

/// A slot with a thing of turn 1, and two threads at it.
fn two(here: impl Fn(&Slot<Thing>) + Send + Sync + 'static, there: impl Fn(&Slot<Thing>) + Send + Sync + 'static) {
    let (here, there) = (std::sync::Arc::new(here), std::sync::Arc::new(there));
    let mut explorer = loom::model::Builder::new();
    explorer.preemption_bound = Some(3);
    explorer.check(move || {
        let slot = Arc::new(Slot::new());
        assert!(slot.fill(thing(1)).is_ok_and(|turn| turn == 1));
        let other = {
            let (slot, there) = (slot.clone(), there.clone());
            thread::spawn(move || there(&slot))
        };
        here(&slot);
        other.join().unwrap();
    });
}

#[test]
fn a_thing_is_destroyed_before_or_after_a_call() {
    for place in 0..2 {
        two(move |slot| call(slot, 1, place), |slot| assert!(destroy(slot, 1)));
    }
}

/// The negative control of race 1: a call that looks, and then counts itself in.
#[test]
#[should_panic(expected = "Causality violation")]
fn a_call_that_looks_before_it_counts_is_found() {
    let looks = |slot: &Slot<Thing>| {
        if slot.places[1].stamp() == Stamp::live(1) {
            slot.places[1].come();
            // SAFETY: what is tried; loom says that it is written meanwhile.
            slot.thing.with(|thing| drop(unsafe { (*thing).clone() }));
            slot.places[1].leave();
        }
    };
    two(looks, |slot| assert!(destroy(slot, 1)));
}

/// Destroys the thing of turn 1, and keeps another one.
fn renew(slot: &Slot<Thing>) {
    assert!(destroy(slot, 1));
    assert!(slot.fill(thing(2)).is_ok_and(|turn| turn == 2));
}

#[test]
fn a_handle_gets_the_thing_of_its_turn_or_none() {
    two(|slot| call(slot, 1, 1), renew);
}

/// The negative control of race 2: a call that takes any thing that is there.
#[test]
#[should_panic(expected = "the thing of another turn")]
fn a_call_that_compares_no_turn_is_found() {
    let takes_any = |slot: &Slot<Thing>| {
        let stamp = slot.places[1].come();
        if stamp == Stamp::live(1) || stamp == Stamp::live(2) {
            // SAFETY: it is counted in, and some thing is there.
            let it = slot.thing.with(|thing| unsafe { (*thing).clone() });
            assert_eq!(it.map(|it| turn_of(&it)), Some(1), "the thing of another turn");
        }
        slot.places[1].leave();
    };
    two(takes_any, renew);
}

#[test]
fn a_handle_that_is_made_up_gets_a_whole_thing_or_none() {
    two(|slot| call(slot, 2, 1), renew);
}

/// The negative control of race 3: a slot that lets calls in before the thing is there.
#[test]
#[should_panic(expected = "Causality violation")]
fn a_slot_that_is_open_before_it_is_filled_is_found() {
    let opens_first = |slot: &Slot<Thing>| {
        assert!(destroy(slot, 1));
        slot.places.iter().for_each(|place| place.put(Stamp::live(2)));
        // SAFETY: what is tried; loom says that it is read meanwhile.
        slot.thing.with_mut(|place| unsafe { *place = Some(thing(2)) });
    };
    two(|slot| call(slot, 2, 1), opens_first);
}

/// Two threads destroy the same thing by `close`, and each says whether it has.
fn two_destroy(close: fn(&Slot<Thing>, u64) -> bool) {
    loom::model(move || {
        let slot = Arc::new(Slot::new());
        assert!(slot.fill(thing(1)).is_ok_and(|turn| turn == 1));
        let other = {
            let slot = slot.clone();
            thread::spawn(move || close(&slot, 1))
        };
        let here = close(&slot, 1);
        assert!(here != other.join().unwrap(), "none, or both, have it");
    });
}

#[test]
fn of_two_that_destroy_a_thing_one_does() {
    two_destroy(destroy);
}

/// The negative control of race 4: a thread that looks, and then changes the stamp.
#[test]
#[should_panic(expected = "none, or both, have it")]
fn two_that_look_and_close_are_found() {
    two_destroy(|slot, turn| {
        let live = slot.places[0].stamp() == Stamp::live(turn);
        if live {
            slot.places[0].put(Stamp::changing(turn));
        }
        live
    });
}

/// A thread gives up to destroy the thing, by `open`; another one destroys it, and a call comes afterwards.
fn gives_up(open: fn(Closed<'_, Thing>, &Slot<Thing>)) {
    let here = move |slot: &Slot<Thing>| {
        if let Some(closed) = slot.close(1) {
            open(closed, slot);
        }
    };
    two(here, |slot| {
        if destroy(slot, 1) {
            assert!(slot.places[1].come() != Stamp::live(1), "calls are let in to what is destroyed");
            slot.places[1].leave();
        }
    });
}

#[test]
fn a_destruction_that_gives_up_leaves_it_to_the_next() {
    gives_up(|closed, _| closed.open());
}

/// The negative control of race 5: the place that decides which thread may change the slot is opened first.
#[test]
#[should_panic(expected = "calls are let in to what is destroyed")]
fn a_first_place_that_is_opened_first_is_found() {
    gives_up(|_, slot| slot.places.iter().for_each(|place| place.put(Stamp::live(1))));
}

/// A thread destroys the thing by `destroy`, another one keeps one as soon as the slot is free.
fn fills_again(destroy: fn(&Slot<Thing>)) {
    two(destroy, |slot| {
        if slot.fill(thing(2)).is_ok() {
            call(slot, 2, 1);
        }
    });
}

#[test]
fn a_slot_is_given_out_again_when_it_is_empty() {
    fills_again(|slot| assert!(destroy(slot, 1)));
}

/// The negative control of race 6: a slot that is free before its thing was taken.
#[test]
#[should_panic(expected = "Causality violation")]
fn a_slot_that_is_free_before_it_is_empty_is_found() {
    fills_again(|slot| {
        slot.close(1);
        slot.places[0].put(Stamp::free(1));
        // SAFETY: what is tried; loom says that it is written meanwhile.
        drop(slot.thing.with_mut(|thing| unsafe { (*thing).take() }));
    });
}

/// Two threads keep a thing each in a table that has no slot yet.
fn two_keep(grow: fn(&HandleTable<Thing>)) {
    let mut explorer = loom::model::Builder::new();
    explorer.preemption_bound = Some(2);
    explorer.check(move || {
        let chunks = std::array::from_fn(|_| AtomicPtr::new(null_mut()));
        let table = Arc::new(HandleTable { chunks, next: AtomicUsize::new(0) });
        let keep = move |table: &HandleTable<Thing>, number| {
            grow(table);
            let (index, turn) = table.fill(thing(number)).ok().expect("there is room");
            let inside = table.get(index).and_then(|slot| slot.enter(turn, 0));
            assert_eq!(inside.map(|thing| turn_of(&thing)), Some(number), "a thing is lost");
        };
        let other = {
            let table = table.clone();
            thread::spawn(move || keep(&table, 1))
        };
        keep(&table, 2);
        other.join().unwrap();
    });
}

#[test]
fn two_that_need_a_chunk_lose_no_thing() {
    two_keep(|_| ());
}

/// The negative control of race 7: a thread that looks for the chunk, and then stores its own.
#[test]
#[should_panic(expected = "a thing is lost")]
fn two_that_look_and_store_a_chunk_are_found() {
    two_keep(|table| {
        if table.get(0).is_none() {
            let new = Box::leak(Box::new(Slot::new()));
            table.chunks[0].store(new, loom::sync::atomic::Ordering::Release);
        }
    });
}
