//! Every interleaving of copies beside copies (`core/message/src/broadcast/README.md`).
use foregather_machine::{ByteStore, SharedBytes};
use foregather_thread::{Scope::Private, Word};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering::Relaxed};
use loom::thread;

const OLD: [u8; 16] = [0; 16];
const NEW: [u8; 16] = [1; 16];

/// A writer that says that it writes over old bytes, and then does, beside a reader that copies them and then
/// asks. What the reader keeps is what it got if nothing was said.
fn overwriting<M: Send + Sync + 'static>(make: fn() -> M, store: fn(&M), load: fn(&M) -> [u8; 16]) {
    loom::model(move || {
        let shared = Arc::new((Word::default(), make()));
        let other = shared.clone();
        let writer = thread::spawn(move || {
            other.0.store(1);
            store(&other.1);
        });
        let copied = load(&shared.1);
        if shared.0.load() == 0 {
            assert_eq!(copied, OLD, "a torn copy was kept");
        }
        writer.join().unwrap();
    });
}

#[test]
fn a_copy_that_was_written_over_is_known() {
    overwriting(
        || SharedBytes::own(16),
        |bytes| bytes.store(0, &NEW),
        |bytes| {
            let mut copied = OLD;
            bytes.load(0, &mut copied);
            copied
        },
    );
}

/// The negative control: the same copies without fences.
#[test]
#[should_panic(expected = "a torn copy was kept")]
fn copies_without_fences_are_found() {
    overwriting(
        || [AtomicU64::new(0), AtomicU64::new(0)],
        |words| words.iter().for_each(|word| word.store(u64::from_ne_bytes([1; 8]), Relaxed)),
        |words| {
            let halves = words.each_ref().map(|word| word.load(Relaxed).to_ne_bytes());
            core::array::from_fn(|at| halves[at / 8][at % 8])
        },
    );
}

#[test]
fn whoever_sees_the_word_sees_the_bytes_before_it() {
    loom::model(|| {
        let shared = Arc::new((Word::default(), SharedBytes::own(16)));
        let other = shared.clone();
        let writer = thread::spawn(move || {
            other.1.store(0, &NEW);
            other.0.publish(1, Private);
        });
        if shared.0.load() == 1 {
            let mut copied = OLD;
            shared.1.load(0, &mut copied);
            assert_eq!(copied, NEW);
        }
        writer.join().unwrap();
    });
}
