//! The processors on which a thread may run, the one on which this thread does, and moving threads.
//!
//! - [`Mask`]: the processors of a thread, as a value.
//! - [`move_to`], [`pull`]: this thread goes to another processor, or another thread comes to this one; their
//!   masks stay. [`keep_off`]: this thread stays away from one.
mod lend;
mod mask;

pub use lend::{KeepOff, keep_off, move_to, pull, settled};
pub use mask::Mask;

use crate::forks::Once;
use core::sync::atomic::{AtomicIsize, Ordering::Relaxed};
use foregather_machine::{Cause, CpuId, Error};
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

/// The processors that this thread may use, in order. If the kernel does not tell, the one it runs on.
pub fn allowed() -> Vec<CpuId> {
    match sched_getaffinity(None) {
        Ok(set) => (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).map(|cpu| cpu as CpuId).collect(),
        Err(_) => vec![current()],
    }
}

static AT_START: Once<Vec<CpuId>> = Once::new();

/// Records the processors that this process may use, for [`allowed_at_start`]. A library calls it when it is
/// loaded.
pub fn record_start() {
    AT_START.get_or_compute(allowed);
}

/// The processors that this process was allowed to use when [`record_start`] was called; else those of the
/// calling thread. Another runtime in the program may have bound the first thread to one of them since.
pub fn allowed_at_start() -> Vec<CpuId> {
    AT_START.get().cloned().unwrap_or_else(allowed)
}

/// How many processors this thread may use. A member of its team that moves it leaves it one, and puts the
/// mask back at once: so this waits until no mask is lent, for some yields.
pub fn count_allowed() -> u32 {
    const LOOKS: usize = 100;
    for _ in 0..LOOKS {
        if let Some(mask) = settled() {
            return mask.count();
        }
        std::thread::yield_now();
    }
    allowed().len() as u32
}

/// Keeps the calling thread, and the threads that it starts from now on, on one processor.
///
/// # Errors
/// If there is no such processor or this process may not use it.
pub fn pin(cpu: CpuId) -> Result<(), Error> {
    set(&[cpu])
}

/// Keeps the calling thread, and the threads that it starts from now on, on these processors.
///
/// # Errors
/// If the list is empty, or this process may use none of them.
pub fn set(cpus: &[CpuId]) -> Result<(), Error> {
    const REMEDY: &str = "take a processor that `nproc` and the container's cpuset allow (see `taskset -p $$`)";
    let refused = |errno| Error::from(Cause::Os { what: "pinning a thread", errno, remedy: REMEDY });
    let mut set = CpuSet::new();
    for &cpu in cpus {
        let cpu = usize::try_from(cpu).ok().filter(|&cpu| cpu < CpuSet::MAX_CPU);
        set.set(cpu.ok_or(refused(libc::EINVAL))?);
    }
    sched_setaffinity(None, &set).map_err(|errno| refused(errno.raw_os_error()))
}

/// The processor on which the calling thread runs at this moment.
#[inline]
pub fn current() -> CpuId {
    match RSEQ.load(Relaxed) {
        0 | NO_RSEQ => current_slowly(),
        offset => match rseq_cpu_id(offset) {
            cpu if cpu >= 0 => cpu as CpuId,
            _ => sched_getcpu() as CpuId,
        },
    }
}

/// Returns whether [`current`] can read the processor's number from memory, without a system call.
pub fn is_read_from_memory() -> bool {
    current();
    !matches!(RSEQ.load(Relaxed), 0 | NO_RSEQ)
}

/// Where the kernel keeps a thread's processor number up to date, relative to the thread pointer; 0 if not
/// asked yet. The C library registers that area (`struct rseq`) for every thread and publishes its place.
static RSEQ: AtomicIsize = AtomicIsize::new(0);
const NO_RSEQ: isize = isize::MIN;

#[cold]
fn current_slowly() -> CpuId {
    if RSEQ.load(Relaxed) == 0 {
        RSEQ.store(find_rseq().unwrap_or(NO_RSEQ), Relaxed);
    }
    sched_getcpu() as CpuId
}

/// Asks the C library, at run time since older ones have no such symbols.
fn find_rseq() -> Option<isize> {
    // SAFETY: the names are C strings. If the symbols exist, they are a `ptrdiff_t` and an `unsigned int` of
    // the C library that are constant once the program runs; size 0 means that nothing is registered.
    unsafe {
        let offset = libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_offset".as_ptr()).cast::<isize>();
        let size = libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_size".as_ptr()).cast::<u32>();
        if offset.is_null() || size.is_null() || *size == 0 || *offset == 0 {
            return None;
        }
        cfg!(any(target_arch = "x86_64", target_arch = "aarch64")).then_some(*offset)
    }
}

/// The second word of the area: the processor, or negative if this thread's area is not registered.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn rseq_cpu_id(offset: isize) -> i32 {
    let cpu: i32;
    // SAFETY: `offset` comes from the C library, which keeps a 32-byte area there for each of its threads;
    // the segment register holds the thread pointer by the ABI.
    unsafe {
        core::arch::asm!("mov {cpu:e}, dword ptr fs:[{offset} + 4]", cpu = lateout(reg) cpu, offset = in(reg) offset,
            options(nostack, preserves_flags, readonly));
    }
    cpu
}

/// The second word of the area: the processor, or negative if this thread's area is not registered.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn rseq_cpu_id(offset: isize) -> i32 {
    let thread: *const u8;
    // SAFETY: the register holds the thread pointer by the ABI; `offset` comes from the C library, which
    // keeps a 32-byte area there for each of its threads.
    unsafe {
        core::arch::asm!("mrs {}, tpidr_el0", out(reg) thread, options(nomem, nostack, preserves_flags));
        thread.offset(offset + 4).cast::<i32>().read_volatile()
    }
}

/// On other processors `find_rseq` finds nothing.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn rseq_cpu_id(_: isize) -> i32 {
    -1
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn a_pinned_thread_is_where_it_was_pinned() {
        for cpu in allowed() {
            thread::spawn(move || {
                pin(cpu).unwrap();
                assert_eq!(allowed(), [cpu]);
                for _ in 0..3 {
                    assert_eq!(current(), cpu);
                    assert_eq!(sched_getcpu() as CpuId, cpu);
                }
            })
            .join()
            .unwrap();
        }
    }

    #[test]
    fn a_set_can_be_restored() {
        thread::spawn(|| {
            let before = allowed();
            pin(before[0]).unwrap();
            set(&before).unwrap();
            assert_eq!(allowed(), before);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn impossible_sets_are_errors() {
        for cpus in [&[][..], &[1_000][..], &[u32::MAX][..]] {
            assert!(matches!(Error::of(&set(cpus)), Some(Cause::Os { errno: libc::EINVAL, .. })), "{cpus:?}");
        }
    }

    #[test]
    fn the_fast_way_is_taken_where_the_c_library_offers_it() {
        current();
        let offered = find_rseq();
        assert_eq!(RSEQ.load(Relaxed), offered.unwrap_or(NO_RSEQ));
        if let Some(offset) = offered {
            assert!(rseq_cpu_id(offset) >= 0 || cfg!(miri));
        }
    }
}
