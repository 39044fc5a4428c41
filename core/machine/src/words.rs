//! Memory that threads share: words on which they wait, and wide counters beside them.
use core::cell::Cell;
use core::sync::atomic::{AtomicU32, AtomicU64};

/// The values a word can hold: those of 30 bits.
pub const VALUE_MASK: u32 = (1 << 30) - 1;

/// The memory of a world.
pub trait SharedWord: Default {
    /// 64 bits that are only counted up, and on which no thread parks; starts at 0.
    type Counter: Default + Send + Sync;
}

/// For tests of one thread.
impl SharedWord for Cell<u32> {
    type Counter = AtomicU64;
}

/// Plain memory, as hand-written benchmarks use it.
impl SharedWord for AtomicU32 {
    type Counter = AtomicU64;
}

/// The counter beside a world's words.
pub type CounterOf<W> = <<W as Words>::Word as SharedWord>::Counter;

/// Loads and stores of shared words.
///
/// # Ordering
/// `load` acquires; `store`, `publish` and `poison` release; `fetch_add` and `take_ticket` do both, and so
/// does `compare_exchange`, which acquires even when it fails.
pub trait Words {
    /// 30 bits in memory on which threads wait; starts at 0. Values wrap: compare them for equality or by
    /// distance.
    type Word: SharedWord;

    /// The word's value.
    fn load(&self, word: &Self::Word) -> u32;
    /// A plain store to a word on which no thread ever parks: cheaper than [`Words::publish`].
    fn store(&self, word: &Self::Word, value: u32);
    /// Stores `value` and wakes the threads that sleep on the word; no system call if there are none.
    fn publish(&self, word: &Self::Word, value: u32);
    /// Adds `n`, wakes like [`Words::publish`], and returns the value before.
    fn fetch_add(&self, word: &Self::Word, n: u32) -> u32;
    /// Adds 1 and wakes, if a thread may sleep on the word: what it looks for has changed elsewhere.
    fn ring(&self, word: &Self::Word) {
        self.fetch_add(word, 1);
    }
    /// [`Words::ring`] for words of which each has its own amount to add.
    fn ring_each(&self, words: &[(&Self::Word, u32)]) {
        words.iter().for_each(|(word, n)| _ = self.fetch_add(word, *n));
    }
    /// Adds `n` as the last that the calling thread does with this memory: a thread that waits for the sum
    /// may give the memory away at once, and is woken by the address alone.
    fn add_last(&self, word: &Self::Word, n: u32) {
        self.fetch_add(word, n);
    }
    /// If the word holds `expected`, publishes `new` like [`Words::publish`]. Of several threads that try,
    /// one succeeds.
    ///
    /// # Errors
    /// The value that the word holds instead.
    fn compare_exchange(&self, word: &Self::Word, expected: u32, new: u32) -> Result<u32, u32>;
    /// Marks the word forever and wakes its sleepers: waits on it that are not satisfied yet fail in
    /// [`Park::check`](crate::Park::check).
    fn poison(&self, word: &Self::Word);
    /// Counts the counter up by one and returns the value before.
    fn take_ticket(&self, counter: &CounterOf<Self>) -> u64;
}
