//! Every interleaving of the races in `src/fabric/README.md` that are within a ring or a duel. Run with `RUSTFLAGS="--cfg loom"`.
#![cfg(loom)]
#![allow(dead_code, reason = "of the sources a part is tried")]

#[path = "../src/fabric/duel.rs"]
mod duel;
#[path = "../src/fabric/ring.rs"]
mod ring;

/// In place of the one that those sources have elsewhere.
mod primitive {
    pub(crate) use loom::cell::UnsafeCell;
    pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};

    pub(crate) fn about_to_write<T>(_: &T) {}
}

use duel::Duel;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};
use loom::thread;
use ring::{INLINE, Receiving, Ring, Sending, Slot};

struct Way {
    slots: [Slot; 2],
    consumed: AtomicU32,
}

impl Way {
    fn new() -> Arc<Self> {
        let slot = || Slot { word: AtomicU64::new(0), bytes: UnsafeCell::new([0; INLINE]) };
        Arc::new(Self { slots: [slot(), slot()], consumed: AtomicU32::new(0) })
    }

    fn ring(&self) -> Ring<'_> {
        Ring { slots: &self.slots, consumed: &self.consumed }
    }
}

fn first_byte(slot: &Slot) -> u8 {
    // SAFETY: loom checks that nobody writes there meanwhile.
    slot.bytes.with(|bytes| unsafe { (*bytes)[0] })
}

/// Three frames through two slots: the third one has to wait for a release, and is of the second lap.
#[test]
fn frames_arrive_in_order_and_no_slot_is_written_while_it_is_read() {
    loom::model(|| {
        let way = Way::new();
        let sender = {
            let way = way.clone();
            thread::spawn(move || {
                let sending = Sending::new();
                for number in 1..=3_u8 {
                    while !sending.send(way.ring(), number.into(), 1, &[number]).unwrap() {
                        thread::yield_now();
                    }
                }
            })
        };
        let receiving = Receiving::new();
        for number in 1..=3_u8 {
            let (frame, slot) = loop {
                match receiving.peek(way.ring()) {
                    Some(found) => break found,
                    None => thread::yield_now(),
                }
            };
            assert_eq!((frame.head, frame.size, first_byte(slot)), (number.into(), 1, number));
            receiving.release(way.ring());
        }
        assert!(receiving.peek(way.ring()).is_none());
        sender.join().unwrap();
    });
}

/// One frame is published by `publish`, which is wrong in one way or another.
fn misuse(publish: fn(&Way)) {
    loom::model(move || {
        let way = Way::new();
        let sender = {
            let way = way.clone();
            thread::spawn(move || publish(&way))
        };
        let receiving = Receiving::new();
        if let Some((_, slot)) = receiving.peek(way.ring()) {
            assert_eq!(first_byte(slot), 7);
        }
        sender.join().unwrap();
    });
}

fn write(way: &Way) {
    // SAFETY: loom checks that nobody reads there meanwhile.
    way.slots[0].bytes.with_mut(|bytes| unsafe { (*bytes)[0] = 7 });
}

/// A negative control: the word is not released.
#[test]
#[should_panic(expected = "Causality violation")]
fn a_word_that_is_stored_relaxed_shows_bytes_too_early() {
    misuse(|way| {
        write(way);
        way.slots[0].word.store(1, Relaxed);
    });
}

/// Another one: the word comes first.
#[test]
#[should_panic(expected = "Causality violation")]
fn a_word_that_is_stored_before_the_bytes_shows_them_too_early() {
    misuse(|way| {
        way.slots[0].word.store(1, Release);
        write(way);
    });
}

/// And what is right, in the same frame.
#[test]
fn a_word_that_is_released_after_the_bytes_shows_them() {
    misuse(|way| {
        write(way);
        way.slots[0].word.store(1, Release);
    });
}

const CHUNKS: u32 = 3;

/// A getter and a helper share the chunks of a copy; the getter reads all of them as soon as `finished`.
fn copy(finished: fn(&Duel, u32) -> bool) {
    loom::model(move || {
        let shared = Arc::new((Duel::new(), [0, 1, 2].map(|_| UnsafeCell::new(0_u8))));
        let helper = {
            let shared = shared.clone();
            thread::spawn(move || {
                let (duel, chunks) = &*shared;
                while let Some(chunk) = duel.claim_bottom() {
                    // SAFETY: loom checks that nobody else is there.
                    chunks[chunk as usize].with_mut(|chunk| unsafe { *chunk += 1 });
                    duel.wrote(true);
                }
            })
        };
        let (duel, chunks) = &*shared;
        duel.open(CHUNKS);
        while let Some(chunk) = duel.claim_top() {
            // SAFETY: as above.
            chunks[chunk as usize].with_mut(|chunk| unsafe { *chunk += 1 });
        }
        let helpers = duel.close();
        while !finished(duel, helpers) {
            thread::yield_now();
        }
        for chunk in chunks {
            // SAFETY: as above.
            chunk.with(|chunk| assert_eq!(unsafe { *chunk }, 1, "copied once"));
        }
        helper.join().unwrap();
    });
}

#[test]
fn each_chunk_is_copied_once_and_all_are_there_in_the_end() {
    copy(|duel, helpers| duel.finished(helpers) == Some(true));
}

/// The negative control: a getter that returns while the helper is in the middle of a chunk.
#[test]
#[should_panic(expected = "Causality violation")]
fn a_getter_that_does_not_wait_for_its_helper_returns_too_early() {
    copy(|_, _| true);
}
