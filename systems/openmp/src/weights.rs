//! How long bodies of tasks compute, by their code: what tells whether the next one of the same code is worth
//! another thread's coming.
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use foregather_machine::Nanos;
use foregather_task::WAKE_WEIGHT;

/// Codes that are known at once. Two in one place make each other unknown.
const PLACES: usize = 64;
const WEIGHT_BITS: u32 = 8;

/// The weights of codes: each its code, and its weight in the bits below.
static WEIGHTS: [AtomicU64; PLACES] = [const { AtomicU64::new(0) }; PLACES];

/// A code's place, and how it is told there from others.
fn place(code: usize) -> (&'static AtomicU64, u64) {
    let spread = (code as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (&WEIGHTS[(spread >> 58) as usize], (code as u64) << WEIGHT_BITS)
}

/// The weight of a task of that code. `None`: nothing is known of it.
pub(crate) fn of(code: usize) -> Option<u32> {
    let (place, name) = place(code);
    let known = place.load(Relaxed);
    (code != 0 && known & !u64::from(u8::MAX) == name).then_some((known & u64::from(u8::MAX)) as u32)
}

/// A body of that code has computed for `took`, where it takes `wake` to wake a thread. A longer one than
/// before counts at once, shorter ones bit by bit, so that many short ones do not hide a long one.
pub(crate) fn learn(code: usize, took: Nanos, wake: Nanos) {
    let now = (took.0.saturating_mul(u64::from(WAKE_WEIGHT)) / wake.0.max(1)).min(u64::from(WAKE_WEIGHT)) as u32;
    let known = of(code);
    let next = match known {
        Some(before) if now < before => before - (before - now).div_ceil(8),
        _ => now,
    };
    // Written when it changes: all members read it.
    if known != Some(next) && code != 0 {
        let (place, name) = place(code);
        place.store(name | u64::from(next), Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_body_counts_at_once_and_short_ones_bit_by_bit() {
        let (code, wake) = (0x1000, Nanos(6_400));
        assert_eq!(of(code), None);
        learn(code, Nanos(50), wake);
        assert_eq!(of(code), Some(0), "half of a 64th");
        learn(code, Nanos(3_200), wake);
        assert_eq!(of(code), Some(32));
        learn(code, Nanos(0), wake);
        assert_eq!(of(code), Some(28));
        (0..60).for_each(|_| learn(code, Nanos(0), wake));
        assert_eq!(of(code), Some(0));
        learn(code, Nanos::MAX, wake);
        assert_eq!(of(code), Some(WAKE_WEIGHT));
        assert_eq!(of(code + 1), None, "another code");
        learn(0, Nanos(50), wake);
        assert_eq!(of(0), None, "no code");
    }
}
