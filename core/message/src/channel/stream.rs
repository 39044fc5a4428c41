//! What one member sends to another one: words through a ring, with one writer and one reader.
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use foregather_barrier::CachePadded;
use foregather_machine::{Cpu, VALUE_MASK};

/// A ring of words. How many were ever put in and taken out stands beside it, modulo 2^30, which its length divides.
///
/// The words themselves are atomic, and relaxed, only so that no unsafe code is needed: the two counts order them.
pub(super) struct Stream<C: Cpu> {
    put: CachePadded<C::Word>,
    taken: CachePadded<C::Word>,
    ring: Box<[AtomicU64]>,
}

impl<C: Cpu> Stream<C> {
    /// An empty ring of so many words, a power of two.
    pub(super) fn new(words: u32) -> Self {
        Self { put: CachePadded::default(), taken: CachePadded::default(), ring: (0..words).map(|_| AtomicU64::new(0)).collect() }
    }

    fn words(&self) -> u32 {
        self.ring.len() as u32
    }

    /// After so many words the other side gets to know.
    pub(super) fn piece(&self) -> u32 {
        self.words() / 4
    }

    fn at(&self, count: u32) -> &AtomicU64 {
        &self.ring[count as usize & (self.ring.len() - 1)]
    }

    /// The writer's view: room for how many words, if it has put `put` and reckons with `taken`?
    pub(super) fn room(&self, put: u32, taken: u32) -> u32 {
        self.words() - (put.wrapping_sub(taken) & VALUE_MASK)
    }

    /// How many the reader has taken.
    pub(super) fn taken(&self, cpu: &C) -> u32 {
        cpu.load(&self.taken)
    }

    /// The writer puts words behind the `put` that it has put, and shows them; how many it has put now.
    pub(super) fn put(&self, cpu: &C, put: u32, words: impl Iterator<Item = u64>) -> u32 {
        let mut count = put;
        words.for_each(|word| {
            self.at(count).store(word, Relaxed);
            count = count.wrapping_add(1);
        });
        cpu.store(&self.put, count & VALUE_MASK);
        count & VALUE_MASK
    }

    /// The reader's view: how many words there are behind the `taken` that it has taken.
    pub(super) fn filled(&self, cpu: &C, taken: u32) -> u32 {
        cpu.load(&self.put).wrapping_sub(taken) & VALUE_MASK
    }

    /// Words that are there, without giving their room back.
    pub(super) fn words_at(&self, taken: u32, count: u32) -> impl Iterator<Item = u64> {
        (0..count).map(move |i| self.at(taken.wrapping_add(i)).load(Relaxed))
    }

    /// Gives back the room of all before `taken`, where it was given back up to `before`. Must the writer's bell be rung?
    ///
    /// Twice a round is enough: a writer waits only for a ring that is full.
    pub(super) fn give_back(&self, cpu: &C, before: u32, taken: u32) -> bool {
        cpu.store(&self.taken, taken);
        let half = self.words() / 2;
        before / half != taken / half
    }
}
