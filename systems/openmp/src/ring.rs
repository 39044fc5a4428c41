//! What a team shares of its loops: each loop that the members meet takes a slot of a ring.
//!
//! All members meet the same loops in the same order, so the number of a loop says which slot is its own, and
//! each member brings the loop's bounds itself: a slot holds only how far the team has come. The first member
//! need not fill it and the others need not wait for that. A slot is reset by the last member that leaves it,
//! which opens it for the loop that comes a ring's length later. States and races: `README.md`.
use crate::iteration_space::IterationSpace;
use crate::primitive::{AtomicU32, AtomicU64, Ordering::*};
use core::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// How many loops the fastest member may be ahead of the slowest, in loops without a barrier at their end.
pub const SLOTS: usize = 16;

/// How many constructs of one member have found theirs.
#[derive(Default)]
pub struct Singles(AtomicU32);

impl Singles {
    /// No construct was met yet.
    pub fn reset(&self) {
        self.0.store(0, Relaxed);
    }

    /// Returns whether the caller is the member that runs the construct `number`, counted from 0. Each member
    /// must ask for all constructs, in order.
    #[inline]
    pub fn choose(&self, number: u32) -> bool {
        // Relaxed: nothing but the choice is handed over.
        self.0.load(Relaxed) == number && self.0.compare_exchange(number, number.wrapping_add(1), Relaxed, Relaxed).is_ok()
    }

    /// The negative control of race 2: looks, and then stores.
    #[cfg(loom)]
    pub fn choose_by_a_look(&self, number: u32) -> bool {
        let free = self.0.load(Relaxed) == number;
        if free {
            self.0.store(number.wrapping_add(1), Relaxed);
        }
        free
    }
}

/// One slot: what the members of one loop share.
#[derive(Default)]
pub struct LoopSlot {
    /// The number of the loop that it is for, or of one that is over.
    loop_number: AtomicU32,
    /// How many members have left the loop.
    left: AtomicU32,
    /// Chunks that were taken; for a guided loop iterations.
    taken: AtomicU64,
    /// The first iteration whose part in order is not done.
    pub turn: AtomicU64,
    /// Words that the members share, for either use, and the number of the loop that they are of.
    words: [Mutex<Option<LoopWords>>; 2],
}

/// The number of a loop, and the words of its members.
type LoopWords = (u32, Arc<[AtomicU64]>);

/// What the members of a loop share words for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordsFor {
    /// Iterations that others wait for.
    Posts,
    /// The program.
    Program,
}

impl LoopSlot {
    /// Returns whether this slot belongs to the loop `loop_number`.
    #[inline]
    pub fn is_for(&self, loop_number: u32) -> bool {
        self.loop_number.load(Acquire) == loop_number
    }

    /// Makes it that of a loop, before any member has come.
    pub fn reset(&self, loop_number: u32) {
        self.left.store(0, Relaxed);
        self.taken.store(0, Relaxed);
        self.turn.store(0, Relaxed);
        self.loop_number.store(loop_number, Release);
    }

    /// Makes it that of a loop of another region, which knows nothing of this one's words.
    pub fn renew(&self, loop_number: u32) {
        self.reset(loop_number);
        self.words.iter().for_each(|words| _ = words.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Takes iterations of a loop whose chunks go to members as they arrive.
    #[inline]
    pub fn take(&self, space: &IterationSpace, is_guided: bool, size: u32) -> Option<Range<u64>> {
        // Relaxed: the number is all that is handed over.
        if !is_guided {
            return space.chunk(self.taken.fetch_add(1, Relaxed));
        }
        let mut from = self.taken.load(Relaxed);
        loop {
            let chunk = space.guided(from, size)?;
            match self.taken.compare_exchange(from, chunk.end, Relaxed, Relaxed) {
                Ok(_) => return Some(chunk),
                Err(now) => from = now,
            }
        }
    }

    /// `count` words of zeros that the members of a loop share. The first to come makes them. They stay until
    /// the slot's next loop with words, for members that still look at them when the loop is over.
    pub fn words(&self, loop_number: u32, what: WordsFor, count: usize) -> Arc<[AtomicU64]> {
        let mut words = self.words[what as usize].lock().unwrap_or_else(PoisonError::into_inner);
        match &*words {
            Some((of, words)) if *of == loop_number => Arc::clone(words),
            _ => {
                let new: Arc<[AtomicU64]> = (0..count).map(|_| AtomicU64::new(0)).collect();
                *words = Some((loop_number, Arc::clone(&new)));
                new
            }
        }
    }

    /// A member takes nothing more of the loop. The last of `size` opens the slot for a later one; returns
    /// whether this was the last.
    #[inline]
    pub fn leave(&self, size: u32) -> bool {
        // Both ways: the last one resets what all others have used.
        let is_last = self.left.fetch_add(1, AcqRel) + 1 == size;
        if is_last {
            self.reset(self.loop_number.load(Relaxed).wrapping_add(SLOTS as u32));
        }
        is_last
    }
}
