//! Loops whose iterations the runtime deals, and parts in order.
//!
//! Compilers name the schedule in the symbol. `nonmonotonic` and `maybe_nonmonotonic` permit what is not done
//! here: a member's chunks always come in order.
use super::reductions::share;
use crate::export::entries;
use core::ffi::{c_long, c_uint, c_ulonglong, c_void};
use foregather_openmp::worksharing::{self, AtEnd};
use foregather_openmp::{IterationSpace, Schedule, ScheduleKind, icvs};

/// A loop over signed numbers, whose schedule the program names or leaves to the runtime.
pub(super) fn signed(kind: Option<ScheduleKind>, chunk: c_long, start: c_long, end: c_long, step: c_long) -> IterationSpace {
    IterationSpace::signed(schedule(kind, chunk.max(0) as u64), start, end, step)
}

/// A loop over unsigned numbers, up or down.
fn unsigned(kind: Option<ScheduleKind>, chunk: u64, up: bool, start: u64, end: u64, step: u64) -> IterationSpace {
    IterationSpace::unsigned(schedule(kind, chunk), up, start, end, step)
}

pub(super) fn schedule(kind: Option<ScheduleKind>, chunk: u64) -> Schedule {
    kind.map_or_else(|| icvs().schedule, |kind| Schedule::new(kind, chunk))
}

/// The calling thread begins a loop and takes its first iterations.
///
/// # Safety
/// As [`next`].
unsafe fn begin<T: Bound>(space: IterationSpace, from: *mut T, to: *mut T) -> bool {
    worksharing::begin(space);
    // SAFETY: by this function's contract.
    unsafe { next(from, to) }
}

/// The calling thread's next iterations, for the program to read.
///
/// # Safety
/// `from` and `to` can be written.
pub(super) unsafe fn next<T: Bound>(from: *mut T, to: *mut T) -> bool {
    let Some((first, last)) = worksharing::next() else { return false };
    // SAFETY: by this function's contract.
    unsafe {
        from.write(T::of(first));
        to.write(T::of(last));
    }
    true
}

/// A program's kind of iteration numbers.
pub(super) trait Bound {
    /// A number in two's complement.
    fn of(number: u64) -> Self;
}

impl Bound for c_long {
    fn of(number: u64) -> Self {
        number as Self
    }
}

impl Bound for c_ulonglong {
    fn of(number: u64) -> Self {
        number
    }
}

/// Two entries a line, for loops of one schedule: the first begins a loop and takes its first iterations, the
/// second takes more.
macro_rules! loops {
    (signed: $($node:literal { $($start:ident $next:ident $kind:ident $ordered:literal;)* })*) => { entries! { $($node { $(
        fn $start(start: c_long, end: c_long, step: c_long, chunk: c_long, from: *mut c_long, to: *mut c_long) -> bool {
            // SAFETY: the compiler passes two variables of the calling thread.
            unsafe { begin(signed(Some(ScheduleKind::$kind), chunk, start, end, step).ordered($ordered), from, to) }
        }
        fn $next(from: *mut c_long, to: *mut c_long) -> bool {
            // SAFETY: the compiler passes two variables of the calling thread.
            unsafe { next(from, to) }
        }
    )* })* } };
    (signed, by the runtime: $($node:literal { $($start:ident $next:ident $ordered:literal;)* })*) => { entries! { $($node { $(
        fn $start(start: c_long, end: c_long, step: c_long, from: *mut c_long, to: *mut c_long) -> bool {
            // SAFETY: the compiler passes two variables of the calling thread.
            unsafe { begin(signed(None, 0, start, end, step).ordered($ordered), from, to) }
        }
        fn $next(from: *mut c_long, to: *mut c_long) -> bool {
            // SAFETY: the compiler passes two variables of the calling thread.
            unsafe { next(from, to) }
        }
    )* })* } };
    (unsigned: $($node:literal { $($start:ident $next:ident $kind:ident $ordered:literal;)* })*) => { entries! { $($node { $(
        fn $start(
            up: bool, start: c_ulonglong, end: c_ulonglong, step: c_ulonglong, chunk: c_ulonglong,
            from: *mut c_ulonglong, to: *mut c_ulonglong,
        ) -> bool {
            // SAFETY: the compiler passes two variables of the calling thread.
            unsafe { begin(unsigned(Some(ScheduleKind::$kind), chunk, up, start, end, step).ordered($ordered), from, to) }
        }
        fn $next(from: *mut c_ulonglong, to: *mut c_ulonglong) -> bool {
            // SAFETY: the compiler passes two variables of the calling thread.
            unsafe { next(from, to) }
        }
    )* })* } };
    (unsigned, by the runtime: $($node:literal { $($start:ident $next:ident $ordered:literal;)* })*) => { entries! { $($node { $(
        fn $start(
            up: bool, start: c_ulonglong, end: c_ulonglong, step: c_ulonglong,
            from: *mut c_ulonglong, to: *mut c_ulonglong,
        ) -> bool {
            // SAFETY: the compiler passes two variables of the calling thread.
            unsafe { begin(unsigned(None, 0, up, start, end, step).ordered($ordered), from, to) }
        }
        fn $next(from: *mut c_ulonglong, to: *mut c_ulonglong) -> bool {
            // SAFETY: the compiler passes two variables of the calling thread.
            unsafe { next(from, to) }
        }
    )* })* } };
}

pub(super) mod named {
    use super::*;
    loops! {
        signed:
        "GOMP_1.0" {
            GOMP_loop_static_start GOMP_loop_static_next Static false;
            GOMP_loop_dynamic_start GOMP_loop_dynamic_next Dynamic false;
            GOMP_loop_guided_start GOMP_loop_guided_next Guided false;
            GOMP_loop_ordered_static_start GOMP_loop_ordered_static_next Static true;
            GOMP_loop_ordered_dynamic_start GOMP_loop_ordered_dynamic_next Dynamic true;
            GOMP_loop_ordered_guided_start GOMP_loop_ordered_guided_next Guided true;
        }
        "GOMP_4.5" {
            GOMP_loop_nonmonotonic_dynamic_start GOMP_loop_nonmonotonic_dynamic_next Dynamic false;
            GOMP_loop_nonmonotonic_guided_start GOMP_loop_nonmonotonic_guided_next Guided false;
        }
    }
}

pub(super) mod by_the_runtime {
    use super::*;
    loops! {
        signed, by the runtime:
        "GOMP_1.0" {
            GOMP_loop_runtime_start GOMP_loop_runtime_next false;
            GOMP_loop_ordered_runtime_start GOMP_loop_ordered_runtime_next true;
        }
        "GOMP_5.0" {
            GOMP_loop_nonmonotonic_runtime_start GOMP_loop_nonmonotonic_runtime_next false;
            GOMP_loop_maybe_nonmonotonic_runtime_start GOMP_loop_maybe_nonmonotonic_runtime_next false;
        }
    }
}

pub(super) mod unsigned_named {
    use super::*;
    loops! {
        unsigned:
        "GOMP_2.0" {
            GOMP_loop_ull_static_start GOMP_loop_ull_static_next Static false;
            GOMP_loop_ull_dynamic_start GOMP_loop_ull_dynamic_next Dynamic false;
            GOMP_loop_ull_guided_start GOMP_loop_ull_guided_next Guided false;
            GOMP_loop_ull_ordered_static_start GOMP_loop_ull_ordered_static_next Static true;
            GOMP_loop_ull_ordered_dynamic_start GOMP_loop_ull_ordered_dynamic_next Dynamic true;
            GOMP_loop_ull_ordered_guided_start GOMP_loop_ull_ordered_guided_next Guided true;
        }
        "GOMP_4.5" {
            GOMP_loop_ull_nonmonotonic_dynamic_start GOMP_loop_ull_nonmonotonic_dynamic_next Dynamic false;
            GOMP_loop_ull_nonmonotonic_guided_start GOMP_loop_ull_nonmonotonic_guided_next Guided false;
        }
    }
}

pub(super) mod unsigned_by_the_runtime {
    use super::*;
    loops! {
        unsigned, by the runtime:
        "GOMP_2.0" {
            GOMP_loop_ull_runtime_start GOMP_loop_ull_runtime_next false;
            GOMP_loop_ull_ordered_runtime_start GOMP_loop_ull_ordered_runtime_next true;
        }
        "GOMP_5.0" {
            GOMP_loop_ull_nonmonotonic_runtime_start GOMP_loop_ull_nonmonotonic_runtime_next false;
            GOMP_loop_ull_maybe_nonmonotonic_runtime_start GOMP_loop_ull_maybe_nonmonotonic_runtime_next false;
        }
    }
}

/// The schedule that a program names by its number; the monotonic bit asks for what is done anyway.
pub(super) fn numbered(schedule: c_long) -> Option<ScheduleKind> {
    [None, Some(ScheduleKind::Static), Some(ScheduleKind::Dynamic), Some(ScheduleKind::Guided), Some(ScheduleKind::Auto)]
        .get((schedule & 0x7fff_ffff) as usize)
        .copied()
        .unwrap_or(None)
}

/// A loop by the number of its schedule, whose first iterations the program may leave to a later call.
///
/// # Safety
/// The pointers are null, or variables of the calling thread.
unsafe fn start<T: Bound>(
    space: IterationSpace,
    from: *mut T,
    to: *mut T,
    reductions: *mut usize,
    memory: *mut *mut c_void,
) -> bool {
    worksharing::begin(space);
    // SAFETY: by this function's contract.
    unsafe {
        share(reductions, memory);
        from.is_null() || next(from, to)
    }
}

pub(super) mod by_number {
    use super::*;
    entries! {
        "GOMP_5.0" {
            fn GOMP_loop_start(
                first: c_long, end: c_long, step: c_long, schedule: c_long, chunk: c_long,
                from: *mut c_long, to: *mut c_long, reductions: *mut usize, memory: *mut *mut c_void,
            ) -> bool {
                // SAFETY: the compiler passes variables of the calling thread.
                unsafe { start(signed(numbered(schedule), chunk, first, end, step), from, to, reductions, memory) }
            }
            fn GOMP_loop_ordered_start(
                first: c_long, end: c_long, step: c_long, schedule: c_long, chunk: c_long,
                from: *mut c_long, to: *mut c_long, reductions: *mut usize, memory: *mut *mut c_void,
            ) -> bool {
                let space = signed(numbered(schedule), chunk, first, end, step).ordered(true);
                // SAFETY: the compiler passes variables of the calling thread.
                unsafe { start(space, from, to, reductions, memory) }
            }
            fn GOMP_loop_ull_start(
                up: bool, first: c_ulonglong, end: c_ulonglong, step: c_ulonglong, schedule: c_long, chunk: c_ulonglong,
                from: *mut c_ulonglong, to: *mut c_ulonglong, reductions: *mut usize, memory: *mut *mut c_void,
            ) -> bool {
                // SAFETY: the compiler passes variables of the calling thread.
                unsafe { start(unsigned(numbered(schedule), chunk, up, first, end, step), from, to, reductions, memory) }
            }
            fn GOMP_loop_ull_ordered_start(
                up: bool, first: c_ulonglong, end: c_ulonglong, step: c_ulonglong, schedule: c_long, chunk: c_ulonglong,
                from: *mut c_ulonglong, to: *mut c_ulonglong, reductions: *mut usize, memory: *mut *mut c_void,
            ) -> bool {
                let space = unsigned(numbered(schedule), chunk, up, first, end, step).ordered(true);
                // SAFETY: the compiler passes variables of the calling thread.
                unsafe { start(space, from, to, reductions, memory) }
            }
            fn GOMP_sections2_start(count: c_uint, reductions: *mut usize, memory: *mut *mut c_void) -> c_uint {
                worksharing::begin(IterationSpace::sections(count));
                // SAFETY: the compiler passes a description, or none, and a variable of the calling thread.
                unsafe { share(reductions, memory) };
                worksharing::next_section().unwrap_or(0)
            }
        }
    }
}

entries! {
    "GOMP_1.0" {
        fn GOMP_loop_end() {
            worksharing::end(AtEnd::Barrier);
        }
        fn GOMP_loop_end_nowait() {
            worksharing::end(AtEnd::NoWait);
        }
        fn GOMP_ordered_start() {
            worksharing::ordered();
        }
        // The turn is passed on with the chunk.
        fn GOMP_ordered_end() {}
    }
    "GOMP_4.0" {
        fn GOMP_loop_end_cancel() -> bool {
            worksharing::end(AtEnd::Barrier)
        }
    }
}
