//! Every interleaving of the races in `src/fabric/README.md` that are inside a ring or a duel. Run with
//! `RUSTFLAGS="--cfg loom"`.
#![cfg(loom)]
#![allow(dead_code, reason = "of the sources a part is tried")]

#[path = "../src/fabric/duel.rs"]
mod duel;
#[path = "../src/fabric/ring.rs"]
mod ring;

/// Replaces the module of that name.
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
use ring::{INLINE, Receiving, RingBuffer, Sending, Slot};

struct Channel {
    slots: [Slot; 2],
    consumed: AtomicU32,
}

impl Channel {
    fn new() -> Arc<Self> {
        let slot = || Slot { word: AtomicU64::new(0), bytes: UnsafeCell::new([0; INLINE]) };
        Arc::new(Self { slots: [slot(), slot()], consumed: AtomicU32::new(0) })
    }

    fn ring(&self) -> RingBuffer<'_> {
        RingBuffer { slots: &self.slots, consumed: &self.consumed }
    }
}

fn first_byte(slot: &Slot) -> u8 {
    // SAFETY: the frame is not released, so the sender writes nothing there; loom checks it.
    slot.bytes.with(|bytes| unsafe { (*bytes)[0] })
}

/// Three frames through two slots: the third one must wait for a release, and belongs to the second lap.
#[test]
fn frames_arrive_in_order_and_no_slot_is_written_while_it_is_read() {
    loom::model(|| {
        let channel = Channel::new();
        let sender = {
            let channel = channel.clone();
            thread::spawn(move || {
                let sending = Sending::new();
                for number in 1..=3_u8 {
                    while !sending.send(channel.ring(), number.into(), 1, &[number]).unwrap() {
                        thread::yield_now();
                    }
                }
            })
        };
        let receiving = Receiving::new();
        for number in 1..=3_u8 {
            let (frame, slot) = loop {
                match receiving.peek(channel.ring()) {
                    Some(found) => break found,
                    None => thread::yield_now(),
                }
            };
            assert_eq!((frame.head, frame.size, first_byte(slot)), (number.into(), 1, number));
            receiving.release(channel.ring());
        }
        assert!(receiving.peek(channel.ring()).is_none());
        sender.join().unwrap();
    });
}

/// Publishes one frame with `publish`, which is wrong in some way.
fn misuse(publish: fn(&Channel)) {
    loom::model(move || {
        let channel = Channel::new();
        let sender = {
            let channel = channel.clone();
            thread::spawn(move || publish(&channel))
        };
        let receiving = Receiving::new();
        if let Some((_, slot)) = receiving.peek(channel.ring()) {
            assert_eq!(first_byte(slot), 7);
        }
        sender.join().unwrap();
    });
}

fn write(channel: &Channel) {
    // SAFETY: the receiver reads nothing there before the word is published; loom checks it.
    channel.slots[0].bytes.with_mut(|bytes| unsafe { (*bytes)[0] = 7 });
}

/// A negative control: the word is stored without release ordering.
#[test]
#[should_panic(expected = "Causality violation")]
fn a_word_that_is_stored_relaxed_shows_bytes_too_early() {
    misuse(|channel| {
        write(channel);
        channel.slots[0].word.store(1, Relaxed);
    });
}

/// The second control: the word is stored first.
#[test]
#[should_panic(expected = "Causality violation")]
fn a_word_that_is_stored_before_the_bytes_shows_them_too_early() {
    misuse(|channel| {
        channel.slots[0].word.store(1, Release);
        write(channel);
    });
}

/// The correct order, in the same frame.
#[test]
fn a_word_that_is_released_after_the_bytes_shows_them() {
    misuse(|channel| {
        write(channel);
        channel.slots[0].word.store(1, Release);
    });
}

/// Sends three frames through two slots; the receiver reads the first.
fn third(send: fn(&Sending, &Channel)) {
    loom::model(move || {
        let channel = Channel::new();
        let sender = {
            let channel = channel.clone();
            thread::spawn(move || {
                let sending = Sending::new();
                (0..2).for_each(|_| assert_eq!(sending.send(channel.ring(), 0, 1, &[7]), Ok(true)));
                send(&sending, &channel);
            })
        };
        let receiving = Receiving::new();
        if let Some((_, slot)) = receiving.peek(channel.ring()) {
            assert_eq!(first_byte(slot), 7);
            receiving.release(channel.ring());
        }
        sender.join().unwrap();
    });
}

#[test]
fn a_sender_looks_for_a_release_before_it_uses_a_slot_again() {
    third(|sending, channel| assert!(sending.send(channel.ring(), 0, 1, &[8]).is_ok()));
}

/// The negative control of race 2: the sender writes without checking what was released.
#[test]
#[should_panic(expected = "Causality violation")]
fn a_slot_that_is_used_again_without_a_look_is_found() {
    third(|_, channel| write(channel));
}

/// Race 6: a sender leaves. A receiver that sees this must find its last frame.
fn leave(frame_first: bool) {
    loom::model(move || {
        let (channel, left) = (Channel::new(), Arc::new(AtomicU32::new(0)));
        let sender = {
            let (channel, left) = (channel.clone(), left.clone());
            thread::spawn(move || {
                if !frame_first {
                    left.store(1, Release);
                }
                assert_eq!(Sending::new().send(channel.ring(), 1, 0, &[]), Ok(true));
                if frame_first {
                    left.store(1, Release);
                }
            })
        };
        if left.load(Acquire) == 1 {
            assert!(Receiving::new().peek(channel.ring()).is_some(), "its last frame is lost");
        }
        sender.join().unwrap();
    });
}

#[test]
fn who_sees_that_a_sender_has_left_finds_its_last_frame() {
    leave(true);
}

/// The negative control: the sender reports that it has left, and then sends.
#[test]
#[should_panic(expected = "its last frame is lost")]
fn a_sender_that_leaves_before_its_last_frame_is_found() {
    leave(false);
}

const CHUNKS: u32 = 3;

/// A getter and a helper share the chunks of a copy; the getter reads all of them as soon as `finished`
/// returns true.
fn copy(finished: fn(&Duel, u32) -> bool) {
    loom::model(move || {
        let shared = Arc::new((Duel::new(), [0, 1, 2].map(|_| UnsafeCell::new(0_u8))));
        let helper = {
            let shared = shared.clone();
            thread::spawn(move || {
                let (duel, chunks) = &*shared;
                while let Some(chunk) = duel.claim_bottom() {
                    // SAFETY: the helper has claimed the chunk, so no other thread touches it; loom checks
                    // it.
                    chunks[chunk as usize].with_mut(|chunk| unsafe { *chunk += 1 });
                    duel.wrote(true);
                }
            })
        };
        let (duel, chunks) = &*shared;
        duel.open(CHUNKS, u32::MAX);
        while let Some(chunk) = duel.claim_top() {
            // SAFETY: the getter has claimed the chunk, so no other thread touches it; loom checks it.
            chunks[chunk as usize].with_mut(|chunk| unsafe { *chunk += 1 });
        }
        let helpers = duel.close();
        while !finished(duel, helpers) {
            thread::yield_now();
        }
        for chunk in chunks {
            // SAFETY: the helper has finished its chunks, so no thread writes to them; loom checks it.
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

/// Race 9: two copies, one after another. The getter writes the list before each; the helper reads it inside
/// a claim or before it.
fn lists(read_first: bool) {
    loom::model(move || {
        let shared = Arc::new((Duel::new(), UnsafeCell::new(0_u32)));
        // SAFETY: the list does not change within a claim; loom checks it.
        let read = |list: &UnsafeCell<u32>| list.with(|list| unsafe { *list });
        let helper = {
            let shared = shared.clone();
            thread::spawn(move || {
                let (duel, list) = &*shared;
                for _ in 0..2 {
                    let early = read_first.then(|| read(list));
                    if duel.claim_bottom().is_some() {
                        let seen = early.unwrap_or_else(|| read(list));
                        assert!(seen == 1 || seen == 2, "no list of a copy");
                        duel.wrote(true);
                    }
                }
            })
        };
        let (duel, list) = &*shared;
        for copy in 1..=2 {
            // SAFETY: the helper has finished its claims, so no thread reads the list; loom checks it.
            list.with_mut(|list| unsafe { *list = copy });
            duel.open(1, u32::MAX);
            let helpers = duel.close();
            while duel.finished(helpers).is_none() {
                thread::yield_now();
            }
        }
        helper.join().unwrap();
    });
}

#[test]
fn a_list_that_is_read_within_a_claim_stays() {
    lists(false);
}

/// The negative control of race 9.
#[test]
#[should_panic(expected = "Causality violation")]
fn a_list_that_is_read_before_the_claim_changes() {
    lists(true);
}

/// The chunks of a copy, which share the slots of a stage: the second chunk needs the slot of the first.
const STAGED: u32 = 2;

/// Race 13: a helper stages chunks in one slot. The getter empties it and then raises the limit with `raise`.
fn stage(raise: fn(&Duel, u32), before_it_empties: bool) {
    loom::model(move || {
        let shared = Arc::new((Duel::new(), UnsafeCell::new(0_u32)));
        let helper = {
            let shared = shared.clone();
            thread::spawn(move || {
                let (duel, slot) = &*shared;
                let mut staged = 0;
                while staged < STAGED {
                    match duel.claim_bottom() {
                        Some(chunk) => {
                            assert!(duel.has_room(chunk));
                            // SAFETY: the chunk is claimed and below the limit; loom checks it.
                            slot.with_mut(|slot| unsafe { *slot = chunk + 1 });
                            duel.wrote(true);
                            staged += 1;
                        }
                        None => thread::yield_now(),
                    }
                }
            })
        };
        let (duel, slot) = &*shared;
        duel.open(STAGED, 1);
        for chunk in 0..STAGED {
            while duel.written() <= chunk {
                thread::yield_now();
            }
            if before_it_empties {
                raise(duel, chunk + 2);
            }
            // SAFETY: the chunk is staged, and the limit keeps the helper from the slot; loom checks it.
            slot.with(|slot| assert_eq!(unsafe { *slot }, chunk + 1));
            if !before_it_empties {
                raise(duel, chunk + 2);
            }
        }
        assert_eq!((duel.close(), duel.finished(STAGED)), (STAGED, Some(true)));
        helper.join().unwrap();
    });
}

#[test]
fn a_slot_of_a_stage_is_filled_again_once_it_was_emptied() {
    stage(Duel::raise, false);
}

/// The negative control of race 13.
#[test]
#[should_panic(expected = "Causality violation")]
fn a_limit_that_is_raised_before_the_slot_is_emptied_is_found() {
    stage(Duel::raise, true);
}
