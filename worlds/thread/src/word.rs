//! A word on which threads wait: a value and two flags in 32 bits. So a store learns that no thread sleeps
//! from the value that it returns anyway. States, sequence and races: `README.md`.
use crate::primitive::Futex;
#[cfg(loom)]
use crate::primitive::Scope;
#[cfg(not(loom))]
use foregather_host::futex::Scope;
use foregather_machine::{Nanos, SharedWord};

#[cfg(not(loom))]
use core::sync::atomic::{AtomicU64, Ordering::*, fence};
#[cfg(loom)]
use loom::sync::atomic::{AtomicU64, Ordering::*, fence};

/// Bit 0: a thread sleeps, or is about to.
const ARMED: u32 = 1;
/// Bit 1: waits that are not satisfied yet never will be.
const POISONED: u32 = 1 << 1;
/// Bits 2 to 31: the value.
const VALUE_SHIFT: u32 = 2;

/// 30 bits of value, the armed and the poisoned flag.
#[derive(Default)]
#[repr(transparent)]
pub struct Word(Futex);

impl SharedWord for Word {
    type Counter = AtomicU64;
}

#[cfg(not(loom))]
impl Word {
    /// A word of value 0 without flags, as [`Word::default`].
    pub const fn zero() -> Self {
        Self(Futex(core::sync::atomic::AtomicU32::new(0)))
    }
}

impl Word {
    /// The value.
    #[inline]
    pub fn load(&self) -> u32 {
        self.0.0.load(Acquire) >> VALUE_SHIFT
    }

    /// A plain store, for words on which no thread parks.
    #[inline]
    pub fn store(&self, value: u32) {
        self.0.0.store(value << VALUE_SHIFT, Release);
    }

    /// Publishes a value; wakes the sleepers if there are any.
    #[inline]
    pub fn publish(&self, value: u32, scope: Scope) {
        let before = self.0.0.swap(value << VALUE_SHIFT, AcqRel);
        if before & (ARMED | POISONED) != 0 {
            self.settle(before, scope);
        }
    }

    /// Adds to the value and returns the one before; wakes the sleepers if there are any.
    #[inline]
    pub fn fetch_add(&self, n: u32, scope: Scope) -> u32 {
        let before = self.0.0.fetch_add(n << VALUE_SHIFT, AcqRel);
        if before & ARMED != 0 {
            self.settle(before, scope);
        }
        before >> VALUE_SHIFT
    }

    /// Adds 1 and wakes the sleepers, if there are any that may have missed a write elsewhere before this
    /// call (race 6).
    #[inline]
    pub fn ring(&self, scope: Scope) {
        if self.has_sleepers() {
            self.fetch_add(1, scope);
        }
    }

    /// [`Word::ring`] for several words at the price of one fence, with the amount that each is to add.
    #[inline]
    pub fn ring_each(words: &[(&Self, u32)], scope: Scope) {
        fence(SeqCst);
        for (word, n) in words {
            if word.is_armed() {
                word.fetch_add(*n, scope);
            }
        }
    }

    /// Adds to the value as the last that this thread does with the word: a thread that sleeps here may give
    /// its memory away at once. So the flags stay as they are (race 8).
    #[inline]
    pub fn add_last(&self, n: u32, scope: Scope) {
        if self.0.0.fetch_add(n << VALUE_SHIFT, AcqRel) & ARMED != 0 {
            self.0.wake_all(scope);
        }
    }

    /// Publishes `new` if the value is `expected`, whatever the flags; wakes the sleepers then, if there are
    /// any.
    ///
    /// # Errors
    /// The value, if it differs from `expected`.
    #[inline]
    pub fn compare_exchange(&self, expected: u32, new: u32, scope: Scope) -> Result<u32, u32> {
        let mut before = expected << VALUE_SHIFT;
        loop {
            match self.0.0.compare_exchange(before, new << VALUE_SHIFT, AcqRel, Acquire) {
                Ok(_) => break,
                // Only the flags differ.
                Err(seen) if seen >> VALUE_SHIFT == expected => before = seen,
                Err(seen) => return Err(seen >> VALUE_SHIFT),
            }
        }
        if before & (ARMED | POISONED) != 0 {
            self.settle(before, scope);
        }
        Ok(expected)
    }

    /// Takes the word as a lock, from 0 to 1, and leaves the flags as they are (race 7).
    #[inline]
    pub fn try_lock(&self) -> bool {
        let mut before = self.0.0.load(Relaxed);
        while before >> VALUE_SHIFT == 0 {
            match self.0.0.compare_exchange(before, before | 1 << VALUE_SHIFT, Acquire, Relaxed) {
                Ok(_) => return true,
                Err(seen) => before = seen,
            }
        }
        false
    }

    /// Gives the lock back, and wakes one of those that sleep for it.
    #[inline]
    pub fn unlock(&self, scope: Scope) {
        if self.0.0.swap(0, Release) & ARMED != 0 {
            self.0.wake_one(scope);
        }
    }

    /// After a change that found flags: poison stays, sleepers wake (races 1, 3 and 5 of the README).
    #[cold]
    fn settle(&self, before: u32, scope: Scope) {
        let mut flags = before;
        if before & POISONED != 0 {
            flags |= self.0.0.fetch_or(POISONED, AcqRel);
        }
        if flags & ARMED != 0 {
            self.0.0.fetch_and(!ARMED, AcqRel);
            self.0.wake_all(scope);
        }
    }

    /// Makes every unsatisfied wait fail, and ends the sleep of the waiters.
    #[cold]
    pub fn poison(&self, scope: Scope) {
        let before = self.0.0.fetch_or(POISONED, AcqRel);
        self.settle(before, scope);
    }

    /// Returns whether it was poisoned.
    #[inline]
    pub fn is_poisoned(&self) -> bool {
        self.0.0.load(Acquire) & POISONED != 0
    }

    /// Announces a sleeper; the result is for [`Word::park`].
    #[inline]
    pub fn prepare_park(&self) -> u32 {
        let armed = self.0.0.fetch_or(ARMED, AcqRel) | ARMED;
        // For threads that change something else than this word (race 6).
        fence(SeqCst);
        armed
    }

    /// Returns whether a thread sleeps here, or is about to, that may have missed a write elsewhere before
    /// this call. The caller must then change the word. This is cheaper than changing it every time, because
    /// the cache line stays with the threads that are about to sleep (race 6).
    #[inline]
    pub fn has_sleepers(&self) -> bool {
        fence(SeqCst);
        self.is_armed()
    }

    #[inline]
    fn is_armed(&self) -> bool {
        self.0.0.load(Relaxed) & ARMED != 0
    }

    /// Sleeps until the word is no longer as `arm` left it, for `timeout` at most, or spuriously.
    #[inline]
    pub fn park(&self, armed: u32, timeout: Option<Nanos>, scope: Scope) {
        self.0.wait(armed, timeout, scope);
    }

    /// The negative control of the loom tests: looks for sleepers first and then stores, so a thread that
    /// arms between the two is never woken (race 1).
    #[cfg(loom)]
    pub fn store_looking_first(&self, value: u32, scope: Scope) {
        let before = self.0.0.load(Acquire);
        self.0.0.store(value << VALUE_SHIFT, Release);
        if before & ARMED != 0 {
            self.0.wake_all(scope);
        }
    }

    /// The negative control of race 3: wakes the sleepers and then clears their bit, and with it that of a
    /// thread that armed in between.
    #[cfg(loom)]
    pub fn publish_waking_first(&self, value: u32, scope: Scope) {
        let before = self.0.0.swap(value << VALUE_SHIFT, AcqRel);
        if before & ARMED != 0 {
            self.0.wake_all(scope);
            self.0.0.fetch_and(!ARMED, AcqRel);
        }
    }

    /// The negative control of race 5: puts poison back without looking for a thread that armed meanwhile.
    #[cfg(loom)]
    pub fn publish_looking_once(&self, value: u32, scope: Scope) {
        let before = self.0.0.swap(value << VALUE_SHIFT, AcqRel);
        if before & POISONED != 0 {
            self.0.0.fetch_or(POISONED, AcqRel);
        }
        if before & ARMED != 0 {
            self.settle(before, scope);
        }
    }

    /// The negative control of race 7: takes the lock and the flags with it.
    #[cfg(loom)]
    pub fn try_lock_clearing(&self) -> bool {
        let before = self.0.0.load(Relaxed);
        before >> VALUE_SHIFT == 0 && self.0.0.compare_exchange(before, 1 << VALUE_SHIFT, Acquire, Relaxed).is_ok()
    }

    /// The negative control of race 6: looks for sleepers without a fence.
    #[cfg(loom)]
    pub fn has_sleepers_without_fence(&self) -> bool {
        self.0.0.load(Relaxed) & ARMED != 0
    }
}
