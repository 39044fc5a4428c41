//! Every interleaving of the races in `README.md`. Run with `RUSTFLAGS="--cfg loom"`.
#![cfg(loom)]

mod bytes;
mod central;

use foregather_thread::{Scope::Private, Word};
use loom::sync::Arc;
use loom::thread::{self, JoinHandle};

/// Waits with nothing but arm and park until `probe` is satisfied: the steps of `Policy::Block`.
fn block(word: &Word, mut probe: impl FnMut() -> bool) {
    loop {
        let armed = word.prepare_park();
        if probe() {
            return;
        }
        word.park(armed, None, Private);
    }
}

/// Every interleaving with at most two preemptions: all that two threads need, and more than the races of
/// three threads do.
fn model(body: impl Fn(Arc<Word>) -> Vec<JoinHandle<()>> + Send + Sync + 'static) {
    let mut explorer = loom::model::Builder::new();
    explorer.preemption_bound = Some(2);
    explorer.check(move || {
        for thread in body(Arc::new(Word::default())) {
            thread.join().unwrap();
        }
    });
}

fn spawn(word: &Arc<Word>, body: impl Fn(&Word) + 'static) -> JoinHandle<()> {
    let word = word.clone();
    thread::spawn(move || body(&word))
}

#[test]
fn a_store_wakes_whoever_armed() {
    model(|word| vec![spawn(&word, |w| block(w, || w.load() == 1)), spawn(&word, |w| w.publish(1, Private))]);
}

#[test]
fn a_store_wakes_two_sleepers() {
    model(|word| {
        let sleeper = || spawn(&word, |w| block(w, || w.load() == 1));
        let sleepers = vec![sleeper(), sleeper()];
        word.publish(1, Private);
        sleepers
    });
}

#[test]
fn additions_wake_whoever_waits_for_their_sum() {
    model(|word| {
        let adder = || {
            spawn(&word, |w| {
                w.fetch_add(1, Private);
            })
        };
        let adders = vec![adder(), adder()];
        block(&word, || word.load() == 2);
        adders
    });
}

fn poison(publish: fn(&Word)) {
    model(move |word| {
        let sleeper = spawn(&word, |w| block(w, || w.is_poisoned()));
        let other = spawn(&word, publish);
        word.poison(Private);
        sleeper.join().unwrap();
        other.join().unwrap();
        assert!(word.is_poisoned() && word.load() == 1);
        vec![]
    });
}

#[test]
fn poison_wakes_and_stays() {
    poison(|word| word.publish(1, Private));
}

/// The negative control of race 5.
#[test]
#[should_panic(expected = "deadlock")]
fn putting_poison_back_without_a_look_loses_a_sleeper() {
    poison(|word| word.publish_looking_once(1, Private));
}

/// One thread sleeps for the second of two changes.
fn two_changes(publish: fn(&Word, u32)) {
    model(move |word| {
        let sleeper = spawn(&word, |w| block(w, || w.load() == 2));
        publish(&word, 1);
        publish(&word, 2);
        vec![sleeper]
    });
}

#[test]
fn who_arms_again_is_woken_by_the_next_change() {
    two_changes(|word, value| word.publish(value, Private));
}

/// The negative control of race 3.
#[test]
#[should_panic(expected = "deadlock")]
fn clearing_the_bit_after_the_wake_loses_a_sleeper() {
    two_changes(|word, value| word.publish_waking_first(value, Private));
}

/// Race 2: one thread arms and looks, in this order or the other; the other thread changes the word. A thread
/// that has not seen the change and is still armed sleeps from then on.
fn sleep(look_last: bool) {
    loom::model(move || {
        let word = Arc::new(Word::default());
        let changer = spawn(&word, |word| word.publish(1, Private));
        let mut seen = false;
        if !look_last {
            seen = word.load() == 1;
        }
        word.prepare_park();
        if look_last {
            seen = word.load() == 1;
        }
        changer.join().unwrap();
        assert!(seen || !word.has_sleepers(), "slept forever");
    });
}

#[test]
fn a_change_after_the_look_takes_the_bit_away() {
    sleep(true);
}

/// The negative control: a thread misses a change before it arms.
#[test]
#[should_panic(expected = "slept forever")]
fn a_sleeper_that_arms_after_its_look_is_lost() {
    sleep(false);
}

#[test]
fn what_was_written_before_a_store_is_seen_after_it() {
    use loom::cell::UnsafeCell;
    loom::model(|| {
        let shared = Arc::new((UnsafeCell::new(0), Word::default()));
        let writer = {
            let shared = shared.clone();
            thread::spawn(move || {
                // SAFETY: the reader reads only after it has seen the store below; loom checks just that.
                shared.0.with_mut(|data| unsafe { *data = 7 });
                shared.1.publish(1, Private);
            })
        };
        block(&shared.1, || shared.1.load() == 1);
        // SAFETY: the writer is done with it.
        shared.0.with(|data| assert_eq!(unsafe { *data }, 7));
        writer.join().unwrap();
    });
}

/// The negative control: a store that looks for sleepers before it writes loses one, and loom finds the
/// deadlock.
#[test]
#[should_panic(expected = "deadlock")]
fn looking_before_storing_loses_a_sleeper() {
    model(|word| vec![spawn(&word, |w| block(w, || w.load() == 1)), spawn(&word, |w| w.store_looking_first(1, Private))]);
}

/// Race 6: a frame is stored elsewhere, and the word is changed only if a thread sleeps. A thread that armed
/// and did not see the frame would sleep from then on unless the word changes.
fn ring(frame_first: bool, ring: fn(&Word)) {
    use loom::sync::atomic::{AtomicU32, Ordering::*};
    loom::model(move || {
        let (frame, bell) = (Arc::new(AtomicU32::new(0)), Arc::new(Word::default()));
        let sent = frame.clone();
        let sender = spawn(&bell, move |bell| {
            if frame_first {
                sent.store(1, Release);
            }
            ring(bell);
            sent.store(1, Release);
        });
        bell.prepare_park();
        let seen = frame.load(Acquire) == 1;
        sender.join().unwrap();
        assert!(seen || !bell.has_sleepers(), "slept forever");
    });
}

#[test]
fn a_bell_rings_for_whoever_armed_before_the_frame_came() {
    ring(true, |bell| bell.ring(Private));
}

/// Race 6 with two that wait: the second one may arm again what the ring has found, and go. A word that is as
/// the first one has armed it lets that one sleep.
fn ring_beside_another(ring: fn(&Word)) {
    use loom::sync::atomic::{AtomicU32, Ordering::*};
    loom::model(move || {
        let (frame, bell) = (Arc::new(AtomicU32::new(0)), Arc::new(Word::default()));
        let sent = frame.clone();
        let sender = spawn(&bell, move |bell| {
            sent.store(1, Release);
            ring(bell);
        });
        let other = spawn(&bell, |bell| _ = bell.prepare_park());
        bell.prepare_park();
        let seen = frame.load(Acquire) == 1;
        sender.join().unwrap();
        other.join().unwrap();
        assert!(seen || bell.load() != 0 || !bell.has_sleepers(), "slept forever");
    });
}

#[test]
fn a_bell_rings_beside_another_sleeper() {
    ring_beside_another(|bell| bell.ring(Private));
}

/// The third control of race 6: a ring that leaves the value.
#[test]
#[should_panic(expected = "slept forever")]
fn a_ring_that_leaves_the_value_loses_a_sleeper() {
    ring_beside_another(|bell| {
        if bell.has_sleepers() {
            bell.fetch_add(0, Private);
        }
    });
}

/// The negative control of race 6: a thread that arms between the look and the frame sleeps forever.
#[test]
#[should_panic(expected = "slept forever")]
fn looking_before_storing_the_frame_loses_a_sleeper() {
    ring(false, |bell| bell.ring(Private));
}

/// The other control of race 6: without the fence the look may come before the frame can be seen.
#[test]
#[should_panic(expected = "slept forever")]
fn looking_without_a_fence_loses_a_sleeper() {
    ring(true, |bell| {
        if bell.has_sleepers_without_fence() {
            bell.fetch_add(1, Private);
        }
    });
}

#[test]
fn an_exchange_wakes_the_armed_thread_and_is_not_hindered_by_it() {
    model(|word| {
        let sleeper = spawn(&word, |w| block(w, || w.load() == 1));
        assert_eq!(word.compare_exchange(0, 1, Private), Ok(0), "only a flag has changed");
        vec![sleeper]
    });
}

/// Two threads take the word from 0 to a value of their own.
fn two_take(take: fn(&Word, u32) -> bool) {
    model(move |word| {
        let wins = Arc::new(loom::sync::atomic::AtomicU32::new(0));
        let both: Vec<_> = [1, 2]
            .into_iter()
            .map(|new| {
                let wins = wins.clone();
                spawn(&word, move |w| {
                    if take(w, new) {
                        wins.fetch_add(1, loom::sync::atomic::Ordering::Relaxed);
                    }
                })
            })
            .collect();
        both.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(wins.load(loom::sync::atomic::Ordering::Relaxed), 1, "who has taken it");
        Vec::new()
    });
}

#[test]
fn of_two_exchanges_one_succeeds() {
    two_take(|word, new| word.compare_exchange(0, new, Private).is_ok());
}

/// The negative control: of two threads that look and then store, both may succeed.
#[test]
#[should_panic(expected = "who has taken it")]
fn of_two_that_look_and_store_both_may_succeed() {
    two_take(|word, new| {
        let free = word.load() == 0;
        if free {
            word.publish(new, Private);
        }
        free
    });
}

#[test]
fn an_exchange_takes_no_poison_away() {
    model(|word| {
        let poisoner = spawn(&word, |w| w.poison(Private));
        assert_eq!(word.compare_exchange(0, 1, Private), Ok(0));
        poisoner.join().unwrap();
        assert!(word.is_poisoned());
        Vec::new()
    });
}

/// Race 7: two threads sleep for a lock that a third holds; each must get it.
fn locks(take: fn(&Word) -> bool) {
    model(move |word| {
        assert!(take(&word), "it is free");
        let locker = || {
            spawn(&word, move |w| {
                block(w, || take(w));
                w.unlock(Private);
            })
        };
        let lockers = vec![locker(), locker()];
        word.unlock(Private);
        lockers
    });
}

#[test]
fn all_that_sleep_for_a_lock_get_it() {
    locks(Word::try_lock);
}

/// The negative control of race 7.
#[test]
#[should_panic(expected = "deadlock")]
fn taking_a_lock_without_its_flags_loses_a_sleeper() {
    locks(Word::try_lock_clearing);
}

#[test]
fn of_two_that_lock_one_succeeds() {
    two_take(|word, _| word.try_lock());
}
