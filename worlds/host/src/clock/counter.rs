//! The raw counters: the cycle counter of x86-64, the kernel's clocks everywhere.
use rustix::time::{ClockId, clock_gettime};

/// Reads one of the kernel's clocks, in nanoseconds.
#[inline]
pub(super) fn kernel(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The cycle counter, in no order with the instructions around it.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn tsc() -> u64 {
    // SAFETY: reading the time stamp counter touches no memory; every x86-64 processor has the instruction.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// Makes later instructions begin when all earlier ones are done.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn after_all_before() {
    // SAFETY: the instruction touches no memory; every x86-64 processor has it.
    unsafe { core::arch::x86_64::_mm_lfence() }
}

/// The cycle counter, read after everything before it and before everything after it.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn tsc_serialized() -> u64 {
    use core::arch::x86_64::{_mm_lfence, _rdtsc};
    // SAFETY: neither instruction touches memory; every x86-64 processor has both.
    unsafe {
        _mm_lfence();
        let cycles = _rdtsc();
        _mm_lfence();
        cycles
    }
}

/// Returns whether the processor guarantees one rate in all frequency and sleep states (CPUID 8000_0007h, EDX
/// bit 8).
#[cfg(target_arch = "x86_64")]
pub(super) fn cpuid_invariant() -> bool {
    use core::arch::x86_64::__cpuid;
    // SAFETY: every x86-64 processor has CPUID; leaf 8000_0000h names the highest extended leaf, which is
    // compared first.
    #[allow(unused_unsafe)]
    unsafe {
        __cpuid(0x8000_0000).eax >= 0x8000_0007 && __cpuid(0x8000_0007).edx & (1 << 8) != 0
    }
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) use without_tsc::{after_all_before, cpuid_invariant, tsc, tsc_serialized};

/// On other processors the counter is never chosen; these exist so that one text compiles everywhere.
#[cfg(not(target_arch = "x86_64"))]
mod without_tsc {
    /// The kernel's clock is a call, which itself reads the hardware's counter in order.
    pub(in super::super) fn after_all_before() {}

    pub(in super::super) fn tsc() -> u64 {
        super::kernel(super::ClockId::Monotonic)
    }

    pub(in super::super) fn tsc_serialized() -> u64 {
        tsc()
    }

    pub(in super::super) fn cpuid_invariant() -> bool {
        false
    }
}
