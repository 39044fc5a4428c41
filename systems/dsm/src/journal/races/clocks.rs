//! Vector clocks: what each thread knows of what the others have done.
use std::collections::BTreeMap;

/// The clocks of all threads, and of locks.
pub(super) struct Clocks {
    /// By thread: the time up to which it knows each thread.
    threads: Vec<Vec<u32>>,
    /// By lock: the clock of the thread that left it last.
    locks: BTreeMap<u32, Vec<u32>>,
}

impl Clocks {
    /// Clocks of `threads` threads that know nothing of each other.
    pub(super) fn new(threads: usize) -> Self {
        let alone = |thread| (0..threads).map(|other| u32::from(other == thread)).collect();
        Self { threads: (0..threads).map(alone).collect(), locks: BTreeMap::new() }
    }

    /// A thread's own time.
    pub(super) fn own(&self, thread: usize) -> u32 {
        self.threads[thread][thread]
    }

    /// Whether a thread knows what `of` did at time `at`.
    pub(super) fn knows(&self, thread: usize, of: usize, at: u32) -> bool {
        at <= self.threads[thread][of]
    }

    /// Whether all threads know what `of` did at time `at`.
    pub(super) fn known_to_all(&self, of: usize, at: u32) -> bool {
        self.threads.iter().all(|clock| at <= clock[of])
    }

    /// A thread takes a lock: it learns what the thread that left it last knew.
    pub(super) fn acquire(&mut self, thread: usize, lock: u32) {
        if let Some(left) = self.locks.get(&lock) {
            learn(&mut self.threads[thread], left);
        }
    }

    /// A thread leaves a lock.
    pub(super) fn release(&mut self, thread: usize, lock: u32) {
        self.locks.insert(lock, self.threads[thread].clone());
        self.threads[thread][thread] += 1;
    }

    /// At a barrier all threads learn everything.
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
