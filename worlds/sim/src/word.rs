//! A word of virtual memory: its value, and its watchers.
//!
//! Its fields are relaxed atomics only to make it `Sync`, as real words are, so one conformance suite covers
//! both. A simulation runs on one thread.
use foregather_machine::SharedWord;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

/// The number of no thread.
pub(crate) const NONE: u32 = u32::MAX;

/// A number that the whole simulation shares.
pub(crate) struct Shared(AtomicU32);

impl Shared {
    pub(crate) const fn new(value: u32) -> Self {
        Self(AtomicU32::new(value))
    }
    #[inline]
    pub(crate) fn get(&self) -> u32 {
        self.0.load(Relaxed)
    }
    #[inline]
    pub(crate) fn set(&self, value: u32) {
        self.0.store(value, Relaxed);
    }
    #[inline]
    pub(crate) fn replace(&self, value: u32) -> u32 {
        let before = self.get();
        self.set(value);
        before
    }
}

/// A simulated word. Its watchers form a list through the threads, so a store touches no other thread.
pub struct SimWord {
    pub(crate) value: Shared,
    /// Counts changes: the result of `prepare_park`.
    pub(crate) version: Shared,
    pub(crate) first_watcher: Shared,
    /// Where the next watcher queues up: sleepers are woken in the order in which they began to wait.
    pub(crate) last_watcher: Shared,
    poisoned: AtomicBool,
}

impl SharedWord for SimWord {
    type Counter = AtomicU64;
}

impl SimWord {
    pub(crate) fn is_poisoned(&self) -> bool {
        self.poisoned.load(Relaxed)
    }
    pub(crate) fn poison(&self) {
        self.poisoned.store(true, Relaxed);
    }
}

impl Default for SimWord {
    fn default() -> Self {
        let (value, version) = (Shared::new(0), Shared::new(0));
        let (first_watcher, last_watcher) = (Shared::new(NONE), Shared::new(NONE));
        Self { value, version, first_watcher, last_watcher, poisoned: AtomicBool::new(false) }
    }
}
