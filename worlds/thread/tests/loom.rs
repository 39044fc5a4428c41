//! Every interleaving of the races in `README.md`. Run with `RUSTFLAGS="--cfg loom"`.
#![cfg(loom)]
use foregather_thread::{Scope::Private, Word};
use loom::sync::Arc;
use loom::thread::{self, JoinHandle};

/// Waits with nothing but arm and park until `probe` is content: what `Policy::Block` does.
fn block(word: &Word, mut probe: impl FnMut() -> bool) {
    loop {
        let armed = word.arm();
        if probe() {
            return;
        }
        word.park(armed, None, Private);
    }
}

/// Every interleaving with at most two preemptions: all that two threads need, and more than three threads' races do.
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
    model(|word| vec![spawn(&word, |w| block(w, || w.load() == 1)), spawn(&word, |w| w.store(1, Private))]);
}

#[test]
fn a_store_wakes_two_sleepers() {
    model(|word| {
        let sleeper = || spawn(&word, |w| block(w, || w.load() == 1));
        let sleepers = vec![sleeper(), sleeper()];
        word.store(1, Private);
        sleepers
    });
}

#[test]
fn additions_wake_whoever_waits_for_their_sum() {
    model(|word| {
        let adder = || {
            spawn(&word, |w| {
                w.add(1, Private);
            })
        };
        let adders = vec![adder(), adder()];
        block(&word, || word.load() == 2);
        adders
    });
}

#[test]
fn poison_wakes_and_stays() {
    model(|word| {
        let sleeper = spawn(&word, |w| block(w, || w.is_poisoned()));
        let other = spawn(&word, |w| w.store(1, Private));
        word.poison(Private);
        sleeper.join().unwrap();
        other.join().unwrap();
        assert!(word.is_poisoned() && word.load() == 1);
        vec![]
    });
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
                shared.1.store(1, Private);
            })
        };
        block(&shared.1, || shared.1.load() == 1);
        // SAFETY: the writer is done with it.
        shared.0.with(|data| assert_eq!(unsafe { *data }, 7));
        writer.join().unwrap();
    });
}

/// The negative control: a store that looks for sleepers before it writes loses one, and loom finds the deadlock.
#[test]
#[should_panic(expected = "deadlock")]
fn looking_before_storing_loses_a_sleeper() {
    model(|word| vec![spawn(&word, |w| block(w, || w.load() == 1)), spawn(&word, |w| w.store_looking_first(1, Private))]);
}
