//! The processor time of a thread's parts of regions.
//!
//! Looks find out only roughly what a thread did while it held a processor: a thread that spins at a barrier
//! for a tick and then computes is found at its spin. So the thread itself reads its processor time where
//! a part begins and ends. A reading is a system call, so it is made only while parts are long: a shorter
//! stretch was not preempted, and its time is its length.
use super::{KnownWork, ThreadSlot};
use crate::usage::thread_cpu;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use foregather_machine::Nanos;

/// A stretch that takes longer may have been preempted. Two readings take less than 1 % of it.
const LONG: Nanos = Nanos::from_us(100);
/// After a long stretch, the processor time of so many is read.
const READINGS: u64 = 16;

/// The stretches of a thread's parts: from its begin, or from a barrier, to the next barrier or its end.
#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct PartWork {
    /// All stretches; those with a known processor time; that time.
    stretches: AtomicU64,
    known: AtomicU64,
    known_ns: AtomicU64,
    /// The thread's processor time where this stretch began; 0: not read.
    began: AtomicU64,
    /// For how many more stretches it is read.
    readings: AtomicU64,
}

impl PartWork {
    pub(super) fn reset(&self) {
        for word in [&self.stretches, &self.known, &self.known_ns, &self.began, &self.readings] {
            word.store(0, Relaxed);
        }
    }

    pub(super) fn read(&self) -> KnownWork {
        let [stretches, known, known_ns] = [&self.stretches, &self.known, &self.known_ns].map(|word| word.load(Relaxed));
        KnownWork { stretches, known, known_ns }
    }

    /// Begins a stretch.
    #[inline]
    pub(super) fn begin(&self) {
        let left = self.readings.load(Relaxed);
        if left > 0 {
            self.readings.store(left - 1, Relaxed);
            self.began.store(thread_cpu().0, Relaxed);
        }
    }

    /// Ends a stretch that took `took`.
    #[inline]
    pub(super) fn end(&self, took: Nanos) {
        self.end_at(took, thread_cpu);
    }

    #[inline]
    fn end_at(&self, took: Nanos, cpu: impl FnOnce() -> Nanos) {
        ThreadSlot::add(&self.stretches, 1);
        let ran = if took < LONG {
            took
        } else {
            self.readings.store(READINGS, Relaxed);
            let began = self.began.load(Relaxed);
            if began == 0 {
                return;
            }
            cpu() - Nanos(began)
        };
        self.began.store(0, Relaxed);
        ThreadSlot::add(&self.known, 1);
        ThreadSlot::add(&self.known_ns, ran.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(work: &PartWork) -> [u64; 3] {
        [&work.stretches, &work.known, &work.known_ns].map(|word| word.load(Relaxed))
    }

    #[test]
    fn short_stretches_count_with_their_length_and_long_ones_with_their_processor_time() {
        let work = PartWork::default();
        work.begin();
        work.end_at(Nanos(20_000), || panic!("a short stretch reads no clock"));
        assert_eq!(sums(&work), [1, 1, 20_000]);
        // Nothing was read where the first long stretch began.
        work.begin();
        work.end_at(Nanos(4_000_000), || panic!("its begin is unknown"));
        assert_eq!(sums(&work), [2, 1, 20_000]);
        work.begin();
        let began = Nanos(work.began.load(Relaxed));
        work.end_at(Nanos(9_000_000), || began + Nanos(1_500));
        assert_eq!(sums(&work), [3, 2, 21_500], "it was preempted");
        for _ in 0..READINGS {
            work.begin();
            work.end_at(Nanos(1), || Nanos::ZERO);
        }
        work.begin();
        assert_eq!(work.began.load(Relaxed), 0, "after short ones no clock is read");
        work.reset();
        assert_eq!(sums(&work), [0; 3]);
    }
}
