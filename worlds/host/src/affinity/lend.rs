//! Moving a thread to a processor without leaving it bound there: it gets a mask of that processor alone, and
//! its own one back at once. The kernel has moved it by the time the first call returns, whether it ran or
//! was queued; and nothing moves it back.
//!
//! Another program may change the same mask at the same time. So a thread is left alone unless it has the
//! mask that it had when it agreed to be moved, and gets that mask back only while it has the lent one:
//! whatever two movers do, the mask that stays is the thread's own, or the stranger's. A stranger's change
//! that falls between the last look and the call is lost. A thread that was moved no longer follows a cpuset
//! that grows: the kernel takes its mask for one set on purpose.
//!
//! By the same rule a thread keeps off a processor while it sleeps ([`keep_off`]).
use super::Mask;
use core::marker::PhantomData;
use core::sync::atomic::{AtomicU64, Ordering::SeqCst};
use foregather_machine::{CpuId, ThreadId};

/// Lent masks: how many are lent now (low half), and how many ever were (high half).
static LENT: AtomicU64 = AtomicU64::new(0);
const OUT: u64 = u32::MAX as u64;

/// Counts one mask as lent, to another thread or for a moment to this one.
struct LentMask;

impl LentMask {
    fn one_more() -> Self {
        LENT.fetch_add((OUT + 1) | 1, SeqCst);
        Self
    }
}

impl Drop for LentMask {
    fn drop(&mut self) {
        LENT.fetch_sub(1, SeqCst);
    }
}

/// A part of its own mask, lent to a thread until this is dropped.
struct Lend {
    thread: Option<ThreadId>,
    own: Mask,
    /// `None` if the thread did not get it.
    lent: Option<Mask>,
}

impl Lend {
    fn to(thread: Option<ThreadId>, part: Option<Mask>, own: &Mask) -> Self {
        let lent = part.filter(|part| Mask::of(thread) == Some(*own) && part.give(thread));
        Self { thread, own: *own, lent }
    }
}

impl Drop for Lend {
    fn drop(&mut self) {
        if self.lent.is_some() && Mask::of(self.thread) == self.lent {
            self.own.give(self.thread);
        }
    }
}

/// Moves the calling thread to a processor of its mask, and gives it the mask back. `false`, and nothing has
/// changed, if its mask is no longer `own`, or the processor is not in it or has gone.
pub fn move_to(cpu: CpuId, own: &Mask) -> bool {
    let _out = LentMask::one_more();
    Lend::to(None, own.one(cpu), own).lent.is_some()
}

/// Keeps the calling thread off a processor until dropped.
pub struct KeepOff {
    _lend: Lend,
    /// It must not reach another thread, whose mask it does not concern.
    _this_thread: PhantomData<*const ()>,
}

/// Keeps the calling thread off a processor, as long as the result lives. `None`: nothing has changed, since
/// its mask is no longer `own`, has no other processor, or not that one.
pub fn keep_off(cpu: CpuId, own: &Mask) -> Option<KeepOff> {
    let lend = Lend::to(None, own.without(cpu), own);
    lend.lent.is_some().then_some(KeepOff { _lend: lend, _this_thread: PhantomData })
}

/// Moves another thread, of mask `own`, to a processor, gives it its mask back, and yields the caller's
/// processor, which should be that one. `false`, and nothing has changed, if that thread's mask is another,
/// or it is gone.
///
/// The mask is back before the yield: the caller may have to wait for long until it runs again, and threads
/// that the other starts meanwhile would inherit the lent one.
pub fn pull(thread: ThreadId, cpu: CpuId, own: &Mask) -> bool {
    let pulled = {
        let _out = LentMask::one_more();
        Lend::to(Some(thread), own.one(cpu), own).lent.is_some()
    };
    if pulled {
        std::thread::yield_now();
    }
    pulled
}

/// The calling thread's own mask; `None` while one is lent to some thread of this process, perhaps to this
/// one, or if the kernel does not tell.
pub fn settled() -> Option<Mask> {
    let before = LENT.load(SeqCst);
    if before & OUT != 0 {
        return None;
    }
    Mask::of(None).filter(|_| LENT.load(SeqCst) == before)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{affinity, usage};
    use core::sync::atomic::{AtomicBool, AtomicU32};
    use std::sync::Barrier;
    use std::thread;

    /// Runs on a thread of its own, whose mask concerns no other test.
    fn alone(body: impl FnOnce(Mask) + Send) {
        thread::scope(|threads| {
            threads.spawn(|| body(Mask::of(None).unwrap()));
        });
    }

    #[test]
    fn a_moved_thread_has_been_there_and_keeps_its_mask() {
        alone(|own| {
            for cpu in affinity::allowed().into_iter().cycle().take(20) {
                let lend = Lend::to(None, own.one(cpu), &own);
                assert_eq!(affinity::current(), cpu, "moved by the time the call returns");
                drop(lend);
                assert!(move_to(cpu, &own));
                assert_eq!(Mask::of(None), Some(own));
            }
        });
    }

    #[test]
    fn a_mask_is_given_back_when_the_stack_unwinds() {
        alone(|own| {
            let first = affinity::allowed()[0];
            let panicked = std::panic::catch_unwind(|| {
                let _lend = Lend::to(None, own.one(first), &own);
                std::panic::resume_unwind(Box::new(()));
            });
            assert!(panicked.is_err() && Mask::of(None) == Some(own));
        });
    }

    #[test]
    fn a_mask_that_somebody_else_has_set_stays() {
        alone(|own| {
            let allowed = affinity::allowed();
            let [first, .., last] = allowed[..] else { return };
            let theirs = Mask::only(last).unwrap();
            assert!(theirs.give(None));
            assert!(!move_to(first, &own), "changed before");
            assert_eq!(Mask::of(None), Some(theirs));
            assert!(own.give(None));
            let lend = Lend::to(None, own.one(first), &own);
            assert!(theirs.give(None));
            drop(lend);
            assert_eq!(Mask::of(None), Some(theirs), "changed meanwhile");
        });
    }

    #[test]
    fn a_thread_keeps_off_a_processor_until_it_is_dropped() {
        alone(|own| {
            let allowed = affinity::allowed();
            for &cpu in &allowed {
                let kept = keep_off(cpu, &own);
                assert_eq!(kept.is_some(), allowed.len() > 1);
                assert_eq!(affinity::allowed().contains(&cpu), kept.is_none());
                assert!(kept.is_none() || affinity::current() != cpu && !move_to(cpu, &own), "one mask is lent at a time");
                drop(kept);
                assert_eq!(Mask::of(None), Some(own));
            }
            assert!(keep_off(own.highest().unwrap() + 1, &own).is_none());
            let [first, _, ..] = allowed[..] else { return };
            let (kept, theirs) = (keep_off(first, &own).unwrap(), Mask::only(first).unwrap());
            assert!(theirs.give(None));
            drop(kept);
            assert_eq!(Mask::of(None), Some(theirs), "set meanwhile");
        });
    }

    #[test]
    fn processors_outside_the_mask_are_refused() {
        alone(|own| {
            for cpu in [own.highest().unwrap() + 1, 1023, 1024, u32::MAX] {
                assert!(!move_to(cpu, &own) && Mask::of(None) == Some(own), "{cpu}");
            }
        });
    }

    #[test]
    fn a_pulled_thread_keeps_its_mask_and_one_that_has_ended_is_refused() {
        let (name, stop) = (AtomicU32::new(0), AtomicBool::new(false));
        alone(|own| {
            thread::scope(|threads| {
                let other = threads.spawn(|| {
                    name.store(usage::this_thread(), SeqCst);
                    while !stop.load(SeqCst) {
                        thread::yield_now();
                    }
                });
                while name.load(SeqCst) == 0 {
                    thread::yield_now();
                }
                let thread = name.load(SeqCst);
                let kept = (0..100).all(|_| pull(thread, affinity::current(), &own) && Mask::of(Some(thread)) == Some(own));
                stop.store(true, SeqCst);
                assert!(kept);
                other.join().unwrap();
                while Mask::of(Some(thread)).is_some() {
                    thread::yield_now();
                }
                assert!(!pull(thread, affinity::current(), &own));
            });
        });
    }

    #[test]
    fn threads_that_pull_each_other_end_with_their_own_masks() {
        const THREADS: usize = 3;
        let (names, gate) = (<[AtomicU32; THREADS]>::default(), Barrier::new(THREADS));
        let (own, allowed) = (Mask::of(None).unwrap(), affinity::allowed());
        thread::scope(|threads| {
            for rank in 0..THREADS {
                let (names, gate, allowed) = (&names, &gate, &allowed);
                threads.spawn(move || {
                    names[rank].store(usage::this_thread(), SeqCst);
                    gate.wait();
                    let other = names[(rank + 1) % THREADS].load(SeqCst);
                    for cpu in allowed.iter().copied().cycle().take(300) {
                        move_to(cpu, &own);
                        pull(other, cpu, &own);
                    }
                    gate.wait();
                    assert_eq!(Mask::of(None), Some(own));
                });
            }
        });
    }

    #[test]
    fn no_mask_is_settled_while_one_is_lent() {
        alone(|own| {
            let out = LentMask::one_more();
            assert_eq!(settled(), None);
            drop(out);
            // Other tests lend, too.
            let seen = (0..10_000).any(|_| {
                thread::sleep(std::time::Duration::from_millis(1));
                settled() == Some(own)
            });
            assert!(seen);
        });
    }
}
