//! Time in about ten nanoseconds a reading: the processor's cycle counter where it ticks at one rate on every
//! processor, the kernel's monotonic clock elsewhere. A spin bounded in time reads it in its loop.
//!
//! Time counts from the same moment as `CLOCK_MONOTONIC`, so processes of one host may compare it; their
//! clocks drift apart by each process's calibration error ([`Facts::calibration_error_ppm`]). Code that must
//! be exact to the cycle across processes compares [`cycles`].
mod calibration;
mod counter;
mod offset;

use crate::forks::Once;
use calibration::{Calibrated, FirstLook};
use foregather_machine::Nanos;
use rustix::time::ClockId;

pub use calibration::Facts;
pub use offset::{OffsetBound, cross_cpu_offset_bound};

static CLOCK: Once<Calibrated> = Once::new();
static FIRST_LOOK: Once<FirstLook> = Once::new();
static FACTS: Once<Facts> = Once::new();

/// Starts the clock's calibration, which takes about ten milliseconds. Before its end [`now`] asks the
/// kernel, and functions of cycles wait for the rest of it.
pub fn init() {
    calibrated();
}

/// The source and the quality of this process's clock.
pub fn facts() -> &'static Facts {
    FACTS.get_or_compute(|| calibrated().facts())
}

/// The time.
#[inline]
pub fn now() -> Nanos {
    let Some(Calibrated { conversion, .. }) = CLOCK.get() else { return now_from_the_kernel() };
    Nanos(conversion.anchor + conversion.nanos(conversion.read().saturating_sub(conversion.base)))
}

/// The time, read after all that precedes it: otherwise a processor may read its counter while earlier loads
/// are under way.
#[inline]
pub fn now_in_order() -> Nanos {
    counter::after_all_before();
    now()
}

/// The raw counter, in no order with the instructions around it; nanoseconds on the fallback clock.
#[inline]
pub fn cycles() -> u64 {
    conversion().read()
}

/// The raw counter, read after all that precedes it and before all that follows: for measuring a few
/// instructions.
#[inline]
pub fn cycles_serialized() -> u64 {
    if conversion().tsc { counter::tsc_serialized() } else { counter::kernel(ClockId::Monotonic) }
}

/// A span of the raw counter as time.
#[inline]
pub fn cycles_to_nanos(cycles: u64) -> Nanos {
    Nanos(conversion().nanos(cycles))
}

/// A span of time in steps of the raw counter; saturates.
#[inline]
pub fn nanos_to_cycles(span: Nanos) -> u64 {
    scale(span.0, conversion().cycles_per_nano)
}

/// The date, as seconds since 1970: for the record, never for measuring.
pub fn unix_seconds() -> u64 {
    counter::kernel(ClockId::Realtime) / 1_000_000_000
}

/// Formats seconds since 1970 as a date, `2026-11-27`, in UTC.
pub fn date(unix_s: u64) -> String {
    let seconds = libc::time_t::try_from(unix_s).unwrap_or(libc::time_t::MAX);
    // SAFETY: `tm` is a C structure of numbers and a pointer, for which zeros are valid values.
    let mut parts: libc::tm = unsafe { std::mem::zeroed() };
    // SAFETY: gmtime_r(3) reads the number and writes the structure, both of which are this function's own.
    // It returns null if the year does not fit, and then leaves the structure as it was.
    unsafe { libc::gmtime_r(&raw const seconds, &raw mut parts) };
    format!("{:04}-{:02}-{:02}", i64::from(parts.tm_year) + 1_900, parts.tm_mon + 1, parts.tm_mday)
}

/// The relation of counter and time: factors in units of 2^-32.
struct Conversion {
    tsc: bool,
    /// The counter at the time `anchor`, just before the first reading of this clock.
    base: u64,
    anchor: u64,
    nanos_per_cycle: u64,
    cycles_per_nano: u64,
}

impl Conversion {
    #[inline]
    fn read(&self) -> u64 {
        if self.tsc { counter::tsc() } else { counter::kernel(ClockId::Monotonic) }
    }

    #[inline]
    fn nanos(&self, cycles: u64) -> u64 {
        scale(cycles, self.nanos_per_cycle)
    }
}

/// `value * factor / 2^32`, exact in 128 bits, saturating: no uptime overflows it.
#[inline]
fn scale(value: u64, factor: u64) -> u64 {
    let product = (u128::from(value) * u128::from(factor)) >> 32;
    if product > u128::from(u64::MAX) { u64::MAX } else { product as u64 }
}

#[inline]
fn conversion() -> &'static Conversion {
    &calibrated().conversion
}

#[inline]
fn calibrated() -> &'static Calibrated {
    match CLOCK.get() {
        Some(calibrated) => calibrated,
        None => calibrate_first(),
    }
}

fn first_look() -> &'static FirstLook {
    FIRST_LOOK.get_or_compute(FirstLook::take)
}

/// The time until the counter has been compared for long enough.
#[cold]
#[inline(never)]
fn now_from_the_kernel() -> Nanos {
    let first = first_look();
    if first.left().is_zero() {
        CLOCK.get_or_compute(|| first.calibrated());
        return now();
    }
    Nanos(counter::kernel(ClockId::Monotonic))
}

#[cold]
#[inline(never)]
fn calibrate_first() -> &'static Calibrated {
    let first = first_look();
    std::thread::sleep(first.left());
    CLOCK.get_or_compute(|| first.calibrated())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
    use std::thread;
    use std::time::{Duration, Instant};

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!([0, 951_782_400, 1_795_824_000].map(date), ["1970-01-01", "2000-02-29", "2026-11-28"]);
    }

    #[test]
    fn time_agrees_with_the_standard_library() {
        init();
        let (ours, theirs) = (now(), Instant::now());
        thread::sleep(Duration::from_millis(100));
        let (ours, theirs) = ((now() - ours).as_secs(), theirs.elapsed().as_secs_f64());
        assert!((ours / theirs - 1.0).abs() < 0.01, "{ours} s here, {theirs} s there");
    }

    #[test]
    fn time_counts_from_the_moment_of_the_monotonic_clock() {
        let ours = now().0;
        let theirs = counter::kernel(ClockId::Monotonic);
        assert!(theirs.abs_diff(ours) < 1_000_000_000, "{ours} against {theirs}");
    }

    /// The threads hand the latest time seen to each other; a later reading must not be earlier.
    #[test]
    fn time_never_runs_backwards_from_one_thread_to_another() {
        init();
        let latest = AtomicU64::new(0);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..20_000 {
                        let before = latest.load(SeqCst);
                        let time = cycles_to_nanos(cycles_serialized()).0;
                        assert!(time >= before, "{time} ns was read after {before} ns");
                        latest.fetch_max(time, SeqCst);
                    }
                });
            }
        });
        assert!(latest.load(SeqCst) > 0);
    }

    /// The first look, the kernel's clock, and the change to the counter, by several threads.
    #[test]
    fn a_clock_that_is_being_calibrated_never_runs_backwards() {
        let first = FirstLook::take();
        let (latest, clock) = (AtomicU64::new(0), Once::<Calibrated>::new());
        let read = || match clock.get() {
            Some(Calibrated { conversion, .. }) => {
                let cycles = if conversion.tsc { counter::tsc_serialized() } else { conversion.read() };
                conversion.anchor + conversion.nanos(cycles.saturating_sub(conversion.base))
            }
            None if first.left().is_zero() => {
                clock.get_or_compute(|| first.calibrated());
                0
            }
            None => counter::kernel(ClockId::Monotonic),
        };
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let end = Instant::now() + Duration::from_millis(30);
                    while Instant::now() < end {
                        let before = latest.load(SeqCst);
                        let time = read();
                        assert!(time == 0 || time >= before, "{time} ns was read after {before} ns");
                        latest.fetch_max(time, SeqCst);
                    }
                });
            }
        });
        assert!(clock.get().is_some());
    }

    #[test]
    fn spans_survive_the_conversion_there_and_back() {
        for ns in [0, 1, 1_000, 20_000, 1_000_000_000, 86_400_000_000_000 * 3_650] {
            let back = cycles_to_nanos(nanos_to_cycles(Nanos(ns)));
            assert!(back.0.abs_diff(ns) <= 2 + ns / 100_000_000, "{ns} ns came back as {} ns", back.0);
        }
        assert!(nanos_to_cycles(Nanos::MAX) > u64::MAX / 1_000, "no bound stays no bound");
    }

    #[test]
    fn scaling_saturates() {
        assert_eq!(scale(u64::MAX, 1 << 32), u64::MAX);
        assert_eq!(scale(u64::MAX, 1 << 33), u64::MAX);
        assert_eq!(scale(3 << 40, 1 << 31), 3 << 39);
    }
}
