//! Vector clocks: what each thread knows about the actions of the others.
use std::collections::BTreeMap;

/// The clocks of all threads, and of locks.
pub(super) struct Clocks {
    /// For each thread: the time up to which it knows each other thread.
    threads: Vec<Vec<u32>>,
    /// For each lock: the clock of the thread that released it last.
    locks: BTreeMap<u32, Vec<u32>>,
}

impl Clocks {
    /// Creates the clocks of `threads` threads that know nothing about each other.
    pub(super) fn new(threads: usize) -> Self {
        let alone = |thread| (0..threads).map(|other| u32::from(other == thread)).collect();
        Self { threads: (0..threads).map(alone).collect(), locks: BTreeMap::new() }
    }

    /// Returns a thread's own time.
    pub(super) fn own(&self, thread: usize) -> u32 {
        self.threads[thread][thread]
    }

    /// Returns whether a thread knows what `of` did at time `at`.
    pub(super) fn knows(&self, thread: usize, of: usize, at: u32) -> bool {
        at <= self.threads[thread][of]
    }

    /// Returns whether all threads know what `of` did at time `at`.
    pub(super) fn known_to_all(&self, of: usize, at: u32) -> bool {
        self.threads.iter().all(|clock| at <= clock[of])
    }

    /// Acquires a lock: the thread learns what the last thread that released it knew.
    pub(super) fn acquire(&mut self, thread: usize, lock: u32) {
        if let Some(left) = self.locks.get(&lock) {
            learn(&mut self.threads[thread], left);
        }
    }

    /// Releases a lock.
    pub(super) fn release(&mut self, thread: usize, lock: u32) {
        self.locks.insert(lock, self.threads[thread].clone());
        self.threads[thread][thread] += 1;
    }

    /// Passes a barrier: all threads learn everything.
    pub(super) fn meet(&mut self) {
        let mut all = vec![0; self.threads.len()];
        self.threads.iter().for_each(|clock| learn(&mut all, clock));
        for (number, clock) in self.threads.iter_mut().enumerate() {
            clock.clone_from(&all);
            clock[number] += 1;
        }
    }
}

fn learn(clock: &mut [u32], from: &[u32]) {
    clock.iter_mut().zip(from).for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
}
