//! Regions, barriers, what one member does, sections, cancellation.
use super::loops::signed;
use crate::export::entries;
use core::ffi::{c_int, c_long, c_uint, c_void};
use foregather_openmp::worksharing::{self, AtEnd, Cancels};
use foregather_openmp::{IterationSpace, ProcBind, RegionSpec, ScheduleKind, close, open, parallel};

/// The body of a region, as the compiler has taken it out of its function.
pub(super) type Body = unsafe extern "C" fn(*mut c_void);

/// A body with its data.
pub(super) struct Outlined {
    pub(super) body: Body,
    pub(super) data: *mut c_void,
}

// SAFETY: the compiler has made the body for a call by every member of a region, with the same data.
unsafe impl Sync for Outlined {}
// SAFETY: as for `Sync`: the members are threads.
unsafe impl Send for Outlined {}

impl Outlined {
    pub(super) fn call(&self) {
        call(self.body, self.data);
    }
}

/// Calls a body with its data.
pub(super) fn call(body: Body, data: *mut c_void) {
    // SAFETY: the entries of regions are called with a body and its data, which live until they return.
    unsafe { body(data) }
}

/// What the compiler asks of a region.
pub(super) fn opening(threads: c_uint, flags: c_uint, space: Option<IterationSpace>) -> RegionSpec {
    /// The bits of the policy by which members go to places.
    const BIND: c_uint = 7;
    RegionSpec { threads, space, bind: ProcBind::numbered(flags & BIND) }
}

fn region(body: Body, data: *mut c_void, threads: c_uint, flags: c_uint, space: Option<IterationSpace>) {
    let outlined = Outlined { body, data };
    parallel(opening(threads, flags, space), &|| outlined.call());
}

/// Opens a region whose opener calls the body itself, before it closes the region: as programs of compilers
/// before GCC 4.9 do.
fn open_region(body: Body, data: *mut c_void, threads: c_uint, space: Option<IterationSpace>) {
    let outlined = Outlined { body, data };
    open(opening(threads, 0, space), move || outlined.call());
}

/// The bits by which a program says what it cancels.
fn cancels(which: c_int) -> Option<Cancels> {
    const REGION: c_int = 1;
    const LOOP: c_int = 2;
    const SECTIONS: c_int = 4;
    const GROUP: c_int = 8;
    match which {
        REGION => Some(Cancels::Region),
        LOOP | SECTIONS => Some(Cancels::Loop),
        GROUP => Some(Cancels::Group),
        _ => None,
    }
}

/// Regions that consist of a loop. The old entries open one.
macro_rules! region_loops {
    (old: $($node:literal { $($name:ident $kind:ident;)* })*) => { entries! { $($node { $(
        fn $name(
            body: Body, data: *mut c_void, threads: c_uint, start: c_long, end: c_long, step: c_long, chunk: c_long,
        ) {
            open_region(body, data, threads, Some(signed(Some(ScheduleKind::$kind), chunk, start, end, step)));
        }
    )* })* } };
    (named: $($node:literal { $($name:ident $kind:ident;)* })*) => { entries! { $($node { $(
        fn $name(
            body: Body, data: *mut c_void, threads: c_uint,
            start: c_long, end: c_long, step: c_long, chunk: c_long, flags: c_uint,
        ) {
            region(body, data, threads, flags, Some(signed(Some(ScheduleKind::$kind), chunk, start, end, step)));
        }
    )* })* } };
    (by the runtime: $($node:literal { $($name:ident;)* })*) => { entries! { $($node { $(
        fn $name(
            body: Body, data: *mut c_void, threads: c_uint, start: c_long, end: c_long, step: c_long, flags: c_uint,
        ) {
            region(body, data, threads, flags, Some(signed(None, 0, start, end, step)));
        }
    )* })* } };
}

pub(super) mod named {
    use super::*;
    region_loops! {
        named:
        "GOMP_4.0" {
            GOMP_parallel_loop_static Static;
            GOMP_parallel_loop_dynamic Dynamic;
            GOMP_parallel_loop_guided Guided;
        }
        "GOMP_4.5" {
            GOMP_parallel_loop_nonmonotonic_dynamic Dynamic;
            GOMP_parallel_loop_nonmonotonic_guided Guided;
        }
    }
}

pub(super) mod old {
    use super::*;
    region_loops! {
        old:
        "GOMP_1.0" {
            GOMP_parallel_loop_static_start Static;
            GOMP_parallel_loop_dynamic_start Dynamic;
            GOMP_parallel_loop_guided_start Guided;
        }
    }
}

pub(super) mod by_the_runtime {
    use super::*;
    region_loops! {
        by the runtime:
        "GOMP_4.0" { GOMP_parallel_loop_runtime; }
        "GOMP_5.0" {
            GOMP_parallel_loop_nonmonotonic_runtime;
            GOMP_parallel_loop_maybe_nonmonotonic_runtime;
        }
    }
}

entries! {
    "GOMP_1.0" {
        fn GOMP_parallel_start(body: Body, data: *mut c_void, threads: c_uint) {
            open_region(body, data, threads, None);
        }
        fn GOMP_parallel_loop_runtime_start(
            body: Body, data: *mut c_void, threads: c_uint, start: c_long, end: c_long, step: c_long,
        ) {
            open_region(body, data, threads, Some(signed(None, 0, start, end, step)));
        }
        fn GOMP_parallel_sections_start(body: Body, data: *mut c_void, threads: c_uint, count: c_uint) {
            open_region(body, data, threads, Some(IterationSpace::sections(count)));
        }
        fn GOMP_parallel_end() {
            close();
        }
        fn GOMP_barrier() {
            worksharing::barrier();
        }
        fn GOMP_single_start() -> bool {
            worksharing::single()
        }
        fn GOMP_single_copy_start() -> *mut c_void {
            worksharing::single_copy().unwrap_or(core::ptr::null_mut())
        }
        fn GOMP_single_copy_end(data: *mut c_void) {
            worksharing::hand_over(data);
        }
        fn GOMP_sections_start(count: c_uint) -> c_uint {
            worksharing::begin(IterationSpace::sections(count));
            worksharing::next_section().unwrap_or(0)
        }
        fn GOMP_sections_next() -> c_uint {
            worksharing::next_section().unwrap_or(0)
        }
        fn GOMP_sections_end() {
            worksharing::end(AtEnd::Barrier);
        }
        fn GOMP_sections_end_nowait() {
            worksharing::end(AtEnd::NoWait);
        }
    }
    "GOMP_4.0" {
        fn GOMP_parallel(body: Body, data: *mut c_void, threads: c_uint, flags: c_uint) {
            region(body, data, threads, flags, None);
        }
        fn GOMP_parallel_sections(body: Body, data: *mut c_void, threads: c_uint, count: c_uint, flags: c_uint) {
            region(body, data, threads, flags, Some(IterationSpace::sections(count)));
        }
        fn GOMP_barrier_cancel() -> bool {
            worksharing::barrier()
        }
        fn GOMP_cancel(which: c_int, cancel: bool) -> bool {
            let Some(what) = cancels(which) else { return false };
            if cancel { worksharing::cancel(what) } else { worksharing::is_cancelled(what) }
        }
        fn GOMP_cancellation_point(which: c_int) -> bool {
            cancels(which).is_some_and(worksharing::is_cancelled)
        }
        fn GOMP_sections_end_cancel() -> bool {
            worksharing::end(AtEnd::Barrier)
        }
    }
}
