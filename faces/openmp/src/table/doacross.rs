//! Loops whose iterations wait for earlier ones. The loop itself runs from 0 to before the first count.
use super::loops::{Bound, next, numbered, schedule};
use super::reductions::share;
use crate::export::{ExportedSymbol, entries, jump};
use core::ffi::{c_long, c_uint, c_ulonglong, c_void};
use core::sync::atomic::AtomicPtr;
use foregather_openmp::{IterationSpace, ScheduleKind, doacross};

/// A number in one of a loop's dimensions.
trait LoopNumber: Bound + Copy {
    fn to64(self) -> u64;
}

impl LoopNumber for c_long {
    fn to64(self) -> u64 {
        self as u64
    }
}

impl LoopNumber for c_ulonglong {
    fn to64(self) -> u64 {
        self
    }
}

/// The first `count` of the program's numbers.
///
/// # Safety
/// `numbers` has `count` of them.
unsafe fn read<T: LoopNumber>(numbers: *const T, count: usize) -> Vec<u64> {
    // SAFETY: by this function's contract.
    (0..count).map(|at| unsafe { numbers.add(at).read() }.to64()).collect()
}

/// Begins a loop with those counts, and takes the first iterations unless the program leaves that to a later
/// call.
///
/// # Safety
/// There are `dimensions` counts, and `from` and `to` are null or variables of the calling thread.
unsafe fn begin<T: LoopNumber>(
    dimensions: c_uint,
    counts: *const T,
    kind: Option<ScheduleKind>,
    chunk: u64,
    (reductions, memory): (*mut usize, *mut *mut c_void),
    from: *mut T,
    to: *mut T,
) -> bool {
    // SAFETY: by this function's contract.
    let counts = unsafe { read(counts, dimensions as usize) };
    doacross::begin(IterationSpace::unsigned(schedule(kind, chunk), true, 0, counts.first().copied().unwrap_or(0), 1), &counts);
    // SAFETY: by this function's contract.
    unsafe {
        share(reductions, memory);
        from.is_null() || next(from, to)
    }
}

/// A loop whose members reduce nothing, and share no memory.
const NOTHING: (*mut usize, *mut *mut c_void) = (core::ptr::null_mut(), core::ptr::null_mut());

/// The entries that begin a loop with a named schedule, or with the runtime's.
macro_rules! begins {
    ($number:ty, $node:literal, by the runtime: $runtime:ident; $($named:ident $kind:ident;)*) => { entries! { $node {
        $( fn $named(dimensions: c_uint, counts: *const $number, chunk: $number, from: *mut $number, to: *mut $number) -> bool {
            // SAFETY: the compiler passes the counts, and two variables of the calling thread.
            unsafe { begin(dimensions, counts, Some(ScheduleKind::$kind), chunk.to64(), NOTHING, from, to) }
        } )*
        fn $runtime(dimensions: c_uint, counts: *const $number, from: *mut $number, to: *mut $number) -> bool {
            // SAFETY: the compiler passes the counts, and two variables of the calling thread.
            unsafe { begin(dimensions, counts, None, 0, NOTHING, from, to) }
        }
    } } };
}

pub(super) mod signed {
    use super::*;
    begins! {
        c_long, "GOMP_4.5", by the runtime: GOMP_loop_doacross_runtime_start;
        GOMP_loop_doacross_static_start Static;
        GOMP_loop_doacross_dynamic_start Dynamic;
        GOMP_loop_doacross_guided_start Guided;
    }
}

pub(super) mod unsigned {
    use super::*;
    begins! {
        c_ulonglong, "GOMP_4.5", by the runtime: GOMP_loop_ull_doacross_runtime_start;
        GOMP_loop_ull_doacross_static_start Static;
        GOMP_loop_ull_doacross_dynamic_start Dynamic;
        GOMP_loop_ull_doacross_guided_start Guided;
    }
}

entries! {
    "GOMP_4.5" {
        fn GOMP_doacross_post(iteration: *const c_long) {
            // SAFETY: the compiler passes a number for each dimension.
            doacross::post(&unsafe { read(iteration, doacross::dimensions()) });
        }
        fn GOMP_doacross_ull_post(iteration: *const c_ulonglong) {
            // SAFETY: the compiler passes a number for each dimension.
            doacross::post(&unsafe { read(iteration, doacross::dimensions()) });
        }
    }
    "GOMP_5.0" {
        fn GOMP_loop_doacross_start(
            dimensions: c_uint, counts: *const c_long, schedule: c_long, chunk: c_long,
            from: *mut c_long, to: *mut c_long, reductions: *mut usize, memory: *mut *mut c_void,
        ) -> bool {
            // SAFETY: the compiler passes the counts, and variables of the calling thread.
            unsafe { begin(dimensions, counts, numbered(schedule), chunk.to64(), (reductions, memory), from, to) }
        }
        fn GOMP_loop_ull_doacross_start(
            dimensions: c_uint, counts: *const c_ulonglong, schedule: c_long, chunk: c_ulonglong,
            from: *mut c_ulonglong, to: *mut c_ulonglong, reductions: *mut usize, memory: *mut *mut c_void,
        ) -> bool {
            // SAFETY: the compiler passes the counts, and variables of the calling thread.
            unsafe { begin(dimensions, counts, numbered(schedule), chunk, (reductions, memory), from, to) }
        }
    }
}

/// What the entries with a variable number of arguments come to: the arguments in registers, and those on the
/// caller's stack.
///
/// # Safety
/// There is an argument of eight bytes for each dimension of the loop, [`REGISTERS`] of them at `registers`.
unsafe extern "C" fn wait(registers: *const u64, stack: *const u64) {
    let argument = |at: usize| match at.checked_sub(REGISTERS) {
        // SAFETY: by this function's contract.
        None => unsafe { registers.add(at).read() },
        // SAFETY: by this function's contract.
        Some(at) => unsafe { stack.add(at).read() },
    };
    let iteration: Vec<u64> = (0..doacross::dimensions()).map(argument).collect();
    if !iteration.is_empty() {
        doacross::wait(&iteration);
    }
}

/// Integer arguments that are passed in registers.
#[cfg(target_arch = "x86_64")]
const REGISTERS: usize = 6;
/// Integer arguments that are passed in registers.
#[cfg(target_arch = "aarch64")]
const REGISTERS: usize = 8;

/// Puts the arguments where [`wait`] finds them: `void (long first, ...)`.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C" fn gather() {
    core::arch::naked_asm!(
        "sub rsp, 56",
        "mov [rsp], rdi",
        "mov [rsp + 8], rsi",
        "mov [rsp + 16], rdx",
        "mov [rsp + 24], rcx",
        "mov [rsp + 32], r8",
        "mov [rsp + 40], r9",
        "mov rdi, rsp",
        "lea rsi, [rsp + 64]",
        "call {wait}",
        "add rsp, 56",
        "ret",
        wait = sym wait,
    )
}

/// Puts the arguments where [`wait`] finds them: `void (long first, ...)`.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
unsafe extern "C" fn gather() {
    core::arch::naked_asm!(
        "sub sp, sp, #80",
        "stp x0, x1, [sp]",
        "stp x2, x3, [sp, #16]",
        "stp x4, x5, [sp, #32]",
        "stp x6, x7, [sp, #48]",
        "str x30, [sp, #64]",
        "mov x0, sp",
        "add x1, sp, #80",
        "bl {wait}",
        "ldr x30, [sp, #64]",
        "add sp, sp, #80",
        "ret",
        wait = sym wait,
    )
}

/// The entries with a variable number of arguments.
pub(super) mod variadic {
    use super::*;
    #[allow(non_upper_case_globals, reason = "the standard's names")]
    mod slots {
        use super::*;
        pub(super) static GOMP_doacross_wait: AtomicPtr<()> = AtomicPtr::new(gather as *mut ());
        pub(super) static GOMP_doacross_ull_wait: AtomicPtr<()> = AtomicPtr::new(gather as *mut ());
    }
    jump! { GOMP_doacross_wait [stringify!(GOMP_doacross_wait)] }
    jump! { GOMP_doacross_ull_wait [stringify!(GOMP_doacross_ull_wait)] }
    /// The symbols.
    pub(crate) static TABLE: &[ExportedSymbol] = &[
        ExportedSymbol { name: "GOMP_doacross_wait", node: "GOMP_4.5", is_default: true, slot: &slots::GOMP_doacross_wait },
        ExportedSymbol {
            name: "GOMP_doacross_ull_wait",
            node: "GOMP_4.5",
            is_default: true,
            slot: &slots::GOMP_doacross_ull_wait,
        },
    ];
}
