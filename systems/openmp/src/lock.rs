//! Locks in the program's own memory: four bytes, or sixteen for locks that their owner may take again. All
//! zeros is a free lock.
use crate::frames;
use crate::here::threads_in_regions;
use crate::own_waiter::with_waiter;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};
use foregather_host::usage;
use foregather_machine::{Nanos, WaitContext, block_on};
use foregather_thread::{Scope, Thread, Word, own};
use foregather_wait::{WaitFor, Waiter};

/// A lock. A name of a critical section has one, and `omp_lock_t` is one.
#[derive(Default)]
#[repr(transparent)]
pub struct Lock(Word);

impl Lock {
    /// A free lock.
    pub const fn new() -> Self {
        Self(Word::zero())
    }

    /// Takes the lock, when it is free.
    #[inline]
    pub fn lock(&self) {
        if !self.0.try_lock() {
            self.lock_slowly();
        }
    }

    #[cold]
    fn lock_slowly(&self) {
        with_waiter(|cpu, waiter| self.wait(cpu, waiter));
    }

    fn wait(&self, cpu: &Thread, waiter: &Waiter) {
        let why = || (WaitContext::new("lock", 0).until(Nanos::MAX), WaitFor::Unseen(threads_in_regions()));
        let waited = waiter.wait(cpu, &self.0, false, why, || self.0.try_lock().then_some(()));
        // Without a deadline, and at a word that is never poisoned, the wait ends with the lock.
        let _ = block_on(waited.finish());
    }

    /// Takes the lock if it is free. Returns whether it has.
    #[inline]
    pub fn try_lock(&self) -> bool {
        self.0.try_lock()
    }

    /// Gives the lock back.
    #[inline]
    pub fn unlock(&self) {
        self.0.unlock(Scope::Private);
    }
}

/// A lock that its owner may take again: `omp_nest_lock_t`. It is free when it was given back as often. A
/// task owns it, so a region within another one finds it taken, even on the same thread (OpenMP 5.2 §18.9).
#[derive(Default)]
#[repr(C)]
pub struct NestLock {
    lock: Lock,
    depth: AtomicU32,
    /// The task that holds it; 0: none.
    owner: AtomicUsize,
}

impl NestLock {
    /// Takes the lock, when it is free, or once more. Returns how often it is taken.
    pub fn lock(&self) -> u32 {
        if !self.is_mine() {
            self.lock.lock();
            self.owner.store(this_task(), Relaxed);
        }
        self.again()
    }

    /// Takes the lock if it is free, or once more. Returns how often it is taken; 0: another task has it.
    pub fn try_lock(&self) -> u32 {
        if !self.is_mine() {
            if !self.lock.try_lock() {
                return 0;
            }
            self.owner.store(this_task(), Relaxed);
        }
        self.again()
    }

    /// Gives the lock back once.
    pub fn unlock(&self) {
        let depth = self.depth.load(Relaxed).saturating_sub(1);
        self.depth.store(depth, Relaxed);
        if depth == 0 {
            self.owner.store(0, Relaxed);
            self.lock.unlock();
        }
    }

    /// Only this task stores its own number, and takes it away again.
    fn is_mine(&self) -> bool {
        self.owner.load(Relaxed) == this_task()
    }

    fn again(&self) -> u32 {
        let depth = self.depth.load(Relaxed) + 1;
        self.depth.store(depth, Relaxed);
        depth
    }
}

/// A lock of eight bytes that its owner, a thread, may take again: `omp_nest_lock_t` before OpenMP 3.0. It is
/// free when it was given back as often.
#[derive(Default)]
#[repr(C)]
pub struct ThreadNestLock {
    lock: Lock,
    /// The thread that holds it, and how often, in the low bits; 0: none.
    held: AtomicU32,
}

/// Bits of a thread's number in `held`, above those of how often: Linux has no more.
const THREAD_BITS: u32 = 22;
const DEEPEST: u32 = (1 << (u32::BITS - THREAD_BITS)) - 1;

impl ThreadNestLock {
    /// Takes the lock, when it is free, or once more. Returns how often it is taken.
    ///
    /// # Panics
    /// If it was taken 1023 times.
    pub fn lock(&self) -> u32 {
        if self.is_mine() {
            return self.again();
        }
        self.lock.lock();
        self.first()
    }

    /// Takes the lock if it is free, or once more. Returns how often it is taken; 0: another thread has it.
    ///
    /// # Panics
    /// As [`ThreadNestLock::lock`].
    pub fn try_lock(&self) -> u32 {
        match () {
            () if self.is_mine() => self.again(),
            () if self.lock.try_lock() => self.first(),
            () => 0,
        }
    }

    /// Gives the lock back once.
    pub fn unlock(&self) {
        let held = self.held.load(Relaxed).saturating_sub(1);
        if held & DEEPEST > 0 {
            self.held.store(held, Relaxed);
        } else {
            self.held.store(0, Relaxed);
            self.lock.unlock();
        }
    }

    /// Only this thread stores its own number, and takes it away again.
    fn is_mine(&self) -> bool {
        self.held.load(Relaxed) & !DEEPEST == this_thread()
    }

    fn first(&self) -> u32 {
        self.held.store(this_thread() | 1, Relaxed);
        1
    }

    fn again(&self) -> u32 {
        let held = self.held.load(Relaxed);
        assert!(held & DEEPEST < DEEPEST, "a lock was taken {DEEPEST} times by one thread");
        self.held.store(held + 1, Relaxed);
        (held + 1) & DEEPEST
    }
}

/// This thread's number, as it stands in `held`.
fn this_thread() -> u32 {
    usage::this_thread() << (u32::BITS - THREAD_BITS)
}

/// A number that no other task has at this time: threads' marks are far apart, and a thread is in one
/// task for each frame.
fn this_task() -> usize {
    own::mark().wrapping_add(frames::depth())
}

// What programs have reserved for them.
const _: () = assert!(size_of::<Lock>() == 4 && size_of::<NestLock>() == 16 && size_of::<ThreadNestLock>() == 8);

/// The lock of all critical sections without a name.
pub static CRITICAL: Lock = Lock::new();
/// The lock of all updates for which the machine has no instruction.
pub static ATOMIC: Lock = Lock::new();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thread_at_a_time_has_the_lock() {
        let (lock, inside, sum) = (Lock::new(), AtomicU32::new(0), AtomicU32::new(0));
        std::thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| {
                    for _ in 0..2_000 {
                        lock.lock();
                        assert_eq!(inside.swap(1, Relaxed), 0, "another one is inside");
                        sum.store(sum.load(Relaxed) + 1, Relaxed);
                        inside.store(0, Relaxed);
                        lock.unlock();
                    }
                });
            }
        });
        assert_eq!(sum.into_inner(), 8_000);
        assert!(lock.try_lock() && !lock.try_lock());
    }

    #[test]
    fn the_owner_may_take_a_nested_lock_again() {
        let lock = NestLock::default();
        assert_eq!([lock.lock(), lock.lock(), lock.try_lock()], [1, 2, 3]);
        std::thread::scope(|threads| assert_eq!(threads.spawn(|| lock.try_lock()).join().unwrap(), 0));
        crate::parallel(1, &|| assert_eq!(lock.try_lock(), 0, "another task of this thread has it"));
        (0..3).for_each(|_| lock.unlock());
        std::thread::scope(|threads| {
            threads.spawn(|| assert_eq!((lock.lock(), lock.unlock()), (1, ())));
        });
        assert_eq!(lock.try_lock(), 1);
    }

    #[test]
    fn a_thread_may_take_its_older_lock_again() {
        let lock = ThreadNestLock::default();
        assert_eq!([lock.lock(), lock.lock(), lock.try_lock()], [1, 2, 3]);
        crate::parallel(1, &|| assert_eq!(lock.try_lock(), 4, "also in another task"));
        let elsewhere = || std::thread::scope(|threads| threads.spawn(|| lock.try_lock()).join().unwrap());
        for _ in 0..4 {
            assert_eq!(elsewhere(), 0);
            lock.unlock();
        }
        assert_eq!(elsewhere(), 1);
    }
}
