//! A barrier in the 32 bytes that programs have for one.
//!
//! One for the threads of a process is a [`ThreadBarrier`], at the end of a pointer: it shows its
//! members where the others run. What a waiting thread uses of it is its own share, so the object may go as
//! soon as a thread is back. One that processes share has all in the object, and is a [`Transient`].
use core::mem::ManuallyDrop;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::*};
use foregather_barrier::{Central, Transient};
use foregather_host::forks::undivided;
use foregather_machine::{Placement, block_on};
use foregather_thread::barrier::ThreadBarrier;
use foregather_thread::{Thread, Word};
use foregather_wait::{Policy, Waiter};
use std::sync::{Arc, Mutex, PoisonError};

/// The most members: those of a [`ThreadBarrier`].
const MOST: u32 = 1 << 24;
/// Marks of objects that this library has made. Other values are another library's.
const PRIVATE: u32 = 0xf09e_6a71;
const SHARED: u32 = 0xf09e_6a72;

/// `pthread_barrier_t`.
#[derive(Debug)]
#[repr(C)]
pub struct BarrierObject {
    mark: AtomicU32,
    size: u32,
    /// An `Arc` of its own; null once it is destroyed.
    private: AtomicPtr<ThreadBarrier>,
    shared: ProcessBarrier,
}

/// The words of a barrier that processes share.
#[derive(Default)]
#[repr(C)]
struct ProcessBarrier {
    epoch: Word,
    left: Word,
    tickets: AtomicU64,
}

// What programs have reserved for it.
const _: () = assert!(size_of::<BarrierObject>() == 32 && size_of::<BarrierObject>() == size_of::<libc::pthread_barrier_t>());
const _: () = assert!(align_of::<BarrierObject>() <= align_of::<libc::pthread_barrier_t>());

/// How a thread waits at barriers that processes share.
struct Guest {
    cpu: Thread,
    waiter: Waiter,
}

thread_local! { static GUEST: Guest = Guest::new(); }

impl Guest {
    fn new() -> Self {
        let cpu = Thread::shared();
        Self { cpu, waiter: Waiter::new(Policy::adaptive(&cpu.costs()), 0) }
    }
}

impl BarrierObject {
    /// A barrier for `size` threads; `None` if there can be none for that many.
    pub(crate) fn new(size: u32, shared: bool) -> Option<Self> {
        if !(1..=MOST).contains(&size) {
            return None;
        }
        let (mark, private) = if shared { (SHARED, core::ptr::null_mut()) } else { (PRIVATE, barrier(size)) };
        Some(Self { mark: AtomicU32::new(mark), size, private: AtomicPtr::new(private), shared: ProcessBarrier::default() })
    }

    /// Waits until all have come. True in one thread of each meeting; `None` if another library has made the
    /// barrier.
    pub(crate) fn wait(&self) -> Option<bool> {
        match self.mark.load(Relaxed) {
            PRIVATE => Some(self.wait_here()),
            SHARED => Some(self.wait_shared()),
            _ => None,
        }
    }

    fn wait_here(&self) -> bool {
        loop {
            let seen = self.private.load(Acquire);
            if seen.is_null() {
                self.renew(seen);
                continue;
            }
            // SAFETY: the pointer comes from `barrier`, and the barrier lives until all threads of an
            // episode have arrived. From then on the waiting thread uses its own share of it, and this copy
            // is not dropped.
            let barrier = ManuallyDrop::new(unsafe { Arc::from_raw(seen) });
            match barrier.wait(None) {
                Ok(is_leader) => return is_leader,
                Err(_) => self.renew(seen),
            }
        }
    }

    /// Replaces a barrier that refuses a wait or was destroyed. One refuses a wait only in a child of a fork:
    /// the child's threads are not the parent's, so they get a barrier of their own. POSIX leaves a wait
    /// after the destruction undefined; the C library's barrier still works then, so this one does, too.
    #[cold]
    fn renew(&self, seen: *mut ThreadBarrier) {
        static RENEWS: Mutex<()> = Mutex::new(());
        undivided(|| {
            let _turn = RENEWS.lock().unwrap_or_else(PoisonError::into_inner);
            // The parent's stays as it is: threads that are not here may have their shares of it in hand.
            if self.private.load(Relaxed) == seen {
                self.private.store(barrier(self.size), Release);
            }
        });
    }

    #[inline]
    fn transient(&self) -> Transient<'_, Thread> {
        let ProcessBarrier { epoch, left, tickets } = &self.shared;
        Transient::over(Central::of(epoch, tickets, self.size), left)
    }

    fn wait_shared(&self) -> bool {
        let meet = |guest: &Guest| block_on(self.transient().meet(&guest.cpu, &guest.waiter));
        // A thread that ends has none of its own any more. Without a deadline, at words that are never
        // poisoned, a wait ends well.
        GUEST.try_with(meet).unwrap_or_else(|_| meet(&Guest::new())).is_ok_and(|is_last| is_last)
    }

    /// Destroys the barrier when all threads have left it. Returns `false` if an episode is not over, and
    /// `None` if another library has initialised it. To destroy it again does nothing.
    pub(crate) fn destroy(&self) -> Option<bool> {
        match self.mark.load(Relaxed) {
            PRIVATE => {
                let barrier = self.private.swap(core::ptr::null_mut(), AcqRel);
                if !barrier.is_null() {
                    // SAFETY: the pointer comes from `barrier`, and is taken out once.
                    unsafe { Arc::from_raw(barrier) }.retire();
                }
            }
            SHARED => {
                let tickets = self.shared.tickets.load(Acquire);
                if !tickets.is_multiple_of(u64::from(self.size)) {
                    return Some(false);
                }
                let _ = block_on(self.transient().dissolve(&Thread::shared(), tickets));
            }
            _ => return None,
        }
        Some(true)
    }
}

/// A new barrier, as the pointer of an `Arc`.
fn barrier(size: u32) -> *mut ThreadBarrier {
    Arc::into_raw(Arc::new(ThreadBarrier::new(size as usize))).cast_mut()
}

foregather_machine::debug_by! { [] ProcessBarrier, "ProcessBarrier", |this| epoch: this.epoch.load(), left: this.left.load() }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_barrier_at_which_a_thread_waits_is_not_destroyed() {
        let object = BarrierObject::new(2, true).unwrap();
        object.shared.tickets.store(1, Relaxed);
        assert_eq!(object.destroy(), Some(false));
        object.shared.tickets.store(2, Relaxed);
        object.shared.left.add_last(2, foregather_thread::Scope::Private);
        assert_eq!((object.destroy(), object.destroy()), (Some(true), Some(true)));
    }

    #[test]
    fn a_destroyed_barrier_may_be_destroyed_or_used_again() {
        for shared in [false, true] {
            let object = BarrierObject::new(1, shared).unwrap();
            assert_eq!((object.wait(), object.destroy(), object.destroy()), (Some(true), Some(true), Some(true)));
            assert_eq!((object.wait(), object.destroy()), (Some(true), Some(true)), "shared: {shared}");
        }
        assert_eq!(BarrierObject { mark: AtomicU32::new(7), ..BarrierObject::new(1, true).unwrap() }.wait(), None);
    }
}
