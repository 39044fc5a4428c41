//! Weights, and the virtual time that they divide.
//!
//! Virtual time runs at the speed of real time for a thread of nice 0, slower for heavier ones, so that
//! threads that have had their fair shares have had the same virtual time. Integers only: the same trace on
//! every machine.
use foregather_machine::Nanos;

/// A point or a span of virtual time: 1/1024 ns of a thread of nice 0.
pub(super) type Virtual = i128;

/// Weights are kept 1024 times as large as Linux prints them, so that a share of a share is not rounded away.
const SCALE: u64 = 1 << 10;

/// The weight of a thread of nice 0, and of a group of weight 100.
pub(super) const NICE_0: u64 = 1024 * SCALE;

/// From nice -20 to 19, `sched_prio_to_weight` of Linux: each step is a quarter more or less.
const BY_NICE: [u64; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904, 3906, 3121, 2501, 1991, 1586,
    1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87, 70, 56, 45, 36, 29, 23, 18, 15,
];

/// The weight of a nice value from -20 to 19.
pub(super) fn of_nice(nice: i8) -> u64 {
    BY_NICE[(i16::from(nice) + 20) as usize] * SCALE
}

/// The weight of a group, which is 100 by default (`cpu.weight`).
pub(super) fn of_group(weight: u32) -> u64 {
    (u64::from(weight) * 1024 + 50) / 100 * SCALE
}

/// The virtual time that a span of real time is to a thread of that weight.
#[inline]
pub(super) fn virtual_span(span: Nanos, weight: u64) -> Virtual {
    let fine = Virtual::from(span.0) << 10;
    if weight == NICE_0 { fine } else { fine * Virtual::from(NICE_0) / Virtual::from(weight) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_of_weight_100_weighs_as_much_as_a_thread_of_nice_0() {
        assert_eq!((of_nice(0), of_group(100)), (NICE_0, NICE_0));
        assert_eq!((of_nice(-20), of_nice(19)), (88761 * SCALE, 15 * SCALE));
        assert!((1..=10_000).all(|weight| of_group(weight) > 0));
    }

    #[test]
    fn virtual_time_runs_slower_for_heavier_threads() {
        let ms = Nanos::from_ms(1);
        let [light, plain, heavy] = [10, 0, -10].map(|nice| virtual_span(ms, of_nice(nice)));
        assert_eq!(plain, 1_024_000_000);
        assert_eq!((light, heavy), (plain * 1024 / 110, plain * 1024 / 9548));
        // Even the lightest thread may run for centuries.
        assert!(virtual_span(Nanos::MAX, 1) > 0);
    }
}
