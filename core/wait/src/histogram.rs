//! A compact histogram of durations, with four buckets per power of two. Each member has one.
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use foregather_machine::Nanos;

/// The base-2 logarithm of the number of buckets per power of two.
const STEP_BITS: u32 = 2;
const STEPS: usize = 1 << STEP_BITS;
/// Enough for 2^42 ns, more than an hour; longer durations are counted in the last bucket.
const BUCKETS: usize = 42 * STEPS;

/// A histogram of durations with a relative error of at most 1/8. It has one writer; any thread may read it
/// at any time.
pub struct Histogram([AtomicU64; BUCKETS]);

impl Default for Histogram {
    fn default() -> Self {
        Self([const { AtomicU64::new(0) }; BUCKETS])
    }
}

/// Returns the bucket of a duration, which depends on its leading bit and the `STEP_BITS` bits after that.
fn bucket(ns: u64) -> usize {
    let ns = ns.max(1);
    let power = 63 - ns.leading_zeros();
    let step = if power >= STEP_BITS { ns >> (power - STEP_BITS) } else { ns << (STEP_BITS - power) } as usize & (STEPS - 1);
    (power as usize * STEPS + step).min(BUCKETS - 1)
}

/// Returns the middle of a bucket, in nanoseconds.
fn middle(bucket: usize) -> u64 {
    let (power, step) = (bucket / STEPS, bucket % STEPS);
    let width = (1u64 << power) as f64 / STEPS as f64;
    ((1u64 << power) as f64 + (step as f64 + 0.5) * width) as u64
}

impl Histogram {
    /// Records one duration. Only the one writer may call this.
    #[inline]
    pub fn record(&self, duration: Nanos) {
        let slot = &self.0[bucket(duration.0)];
        slot.store(slot.load(Relaxed) + 1, Relaxed);
    }

    /// Returns the number of recorded durations.
    pub fn count(&self) -> u64 {
        self.0.iter().map(|slot| slot.load(Relaxed)).sum()
    }

    /// Returns the duration below which the fraction `quantile` (0 to 1) of the recorded durations lies, or
    /// `None` if none was recorded.
    pub fn quantile(&self, quantile: f64) -> Option<Nanos> {
        let total = self.count();
        let wanted = (total as f64 * quantile.clamp(0.0, 1.0)) as u64;
        let mut seen = 0;
        self.0.iter().enumerate().find_map(|(i, slot)| {
            seen += slot.load(Relaxed);
            (seen > wanted || (total > 0 && seen == total)).then(|| Nanos(middle(i)))
        })
    }

    /// Returns the non-empty buckets: their middle in nanoseconds and their count.
    pub fn buckets(&self) -> Vec<(u64, u64)> {
        let counts = self.0.iter().map(|slot| slot.load(Relaxed)).enumerate();
        counts.filter(|&(_, n)| n > 0).map(|(i, n)| (middle(i), n)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_within_an_eighth_of_what_it_holds() {
        for ns in (4..100_000u64).chain([1 << 30, (1 << 41) + 12_345]) {
            let error = middle(bucket(ns)).abs_diff(ns) as f64 / ns as f64;
            assert!(error <= 0.126, "{ns} ns is shown as {}", middle(bucket(ns)));
        }
    }

    #[test]
    fn quantiles_are_in_order_and_extremes_do_not_overflow() {
        let histogram = Histogram::default();
        assert_eq!(histogram.quantile(0.5), None);
        for ns in [0, 100, 1_000, u64::MAX] {
            histogram.record(Nanos(ns));
        }
        assert_eq!(histogram.count(), 4);
        let all = [0.0, 0.3, 0.6, 1.0].map(|q| histogram.quantile(q).unwrap());
        assert!(all.is_sorted(), "{all:?}");
    }
}
