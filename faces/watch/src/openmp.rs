//! Regions and barriers of the GNU OpenMP runtime, and of others by its names.
//!
//! A region's function is replaced by [`part`], which calls it. The region's own data lives on its leader's
//! stack: the runtime returns to the leader when all members have returned.
use crate::next::{KnownCallers, NextFunction, to_c};
use crate::record;
use crate::region::{Region, RegionPart};
use core::cell::Cell;
use core::ffi::{c_int, c_long, c_uint, c_void};
use core::mem::transmute;
use core::sync::atomic::Ordering::*;
use foregather_host::watched::page::{self, ThreadActivity, ThreadSlot};

type RegionBody = unsafe extern "C-unwind" fn(*mut c_void);

/// A region, as the runtime hands it to the threads that execute it.
#[repr(C)]
struct GompRegion {
    /// Where the runtime looks for the reductions of a region that has some.
    reductions: *mut c_void,
    body: RegionBody,
    data: *mut c_void,
    /// `None` without a page, or if the leader has no place there.
    recorded: Option<RecordedRegion>,
}

/// What is recorded of a region, and the runtime's function that returns the size of the team.
struct RecordedRegion {
    size: unsafe extern "C-unwind" fn() -> c_int,
    region: Region,
}

thread_local! {
    /// The region of which this thread executes a part, recorded or not: by its function the runtime is found
    /// that its barriers belong to.
    static REGION: Cell<*const GompRegion> = const { Cell::new(core::ptr::null()) };
    /// Whether this thread is opening a region: a runtime that reports it by callbacks, too, is not heard.
    static OPENS: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether the calling thread is opening a region that is recorded here.
pub(crate) fn is_opening() -> bool {
    OPENS.replace(false)
}

/// Executes a part of a region.
unsafe extern "C-unwind" fn part(gomp: *mut c_void) {
    // SAFETY: only `open` hands this function out, together with a region that lives until all parts have
    // returned.
    let gomp = unsafe { &*gomp.cast::<GompRegion>() };
    OPENS.set(false);
    let recorded = gomp.recorded.as_ref().zip(record::slot()).map(|(RecordedRegion { size, region }, slot)| {
        // SAFETY: the runtime's `omp_get_num_threads`, which any thread may call.
        let members = unsafe { size() }.unsigned_abs();
        (region, slot, RegionPart::begin(region, members, slot))
    });
    let outer = REGION.replace(gomp);
    // SAFETY: the program's function with the program's data, as its runtime would call it.
    unsafe { (gomp.body)(gomp.data) };
    REGION.set(outer);
    if let Some((region, slot, part)) = recorded {
        part.arrive(region, slot);
        part.end(slot);
    }
}

/// Opens a region by `call`, which gets the function and the data for the runtime.
fn open<T>(
    body: RegionBody,
    data: *mut c_void,
    reductions: *mut c_void,
    threads: c_uint,
    call: impl FnOnce(RegionBody, *mut c_void) -> T,
) -> T {
    static NEXT: NextFunction = NextFunction::new(c"omp_get_num_threads");
    static KNOWN: KnownCallers = KnownCallers::new();
    let place = record::page().zip(record::slot());
    let recorded = place.map(|(page, slot)| {
        let size = KNOWN.of(body as *const c_void, c"omp_get_num_threads", &NEXT, core::ptr::null());
        // SAFETY: OpenMP says what a function of this name takes and gives.
        let size = unsafe { transmute::<*mut c_void, unsafe extern "C-unwind" fn() -> c_int>(size) };
        RecordedRegion { size, region: Region::open(page, slot, body as *const c_void) }
    });
    let gomp = GompRegion { reductions, body, data, recorded };
    OPENS.set(true);
    let result = call(part, (&raw const gomp).cast_mut().cast());
    OPENS.set(false);
    if let Some((RecordedRegion { region, .. }, (_, slot))) = gomp.recorded.as_ref().zip(place) {
        region.close(slot);
        ThreadSlot::add(&slot.counts.sized, u64::from(threads != 0));
    }
    result
}

/// Declares functions that open a region: their name, and their arguments after the function and its data.
macro_rules! regions {
    ($($name:ident(threads: c_uint, $($argument:ident: $kind:ty),*) -> $result:ty, $reductions:expr;)*) => {$(
        /// Opens a region, as the GNU runtime's function of this name.
        ///
        /// # Safety
        /// As that function.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name(body: unsafe extern "C-unwind" fn(*mut c_void), data: *mut c_void, threads: c_uint, $($argument: $kind),*) -> $result {
            static NEXT: NextFunction = NextFunction::new(to_c(concat!(stringify!($name), "\0")));
            static KNOWN: KnownCallers = KnownCallers::new();
            let found = KNOWN.of(body as *const c_void, to_c(concat!(stringify!($name), "\0")), &NEXT, $name as *const c_void);
            // SAFETY: the runtime's function of this name, with the arguments of the program.
            open(body, data, $reductions(data), threads, |body, data| unsafe {
                transmute::<*mut c_void, unsafe extern "C-unwind" fn(RegionBody, *mut c_void, c_uint, $($kind),*) -> $result>(found)(body, data, threads, $($argument),*)
            })
        }
    )*};
}

/// A region without reductions.
const fn none(_data: *mut c_void) -> *mut c_void {
    core::ptr::null_mut()
}

/// The description of a region's reductions, to which its data begins with a pointer.
fn first_word(data: *mut c_void) -> *mut c_void {
    // SAFETY: the compiler lays out the data of such a region like this, for the runtime to read.
    unsafe { data.cast::<*mut c_void>().read() }
}

regions! {
    GOMP_parallel(threads: c_uint, flags: c_uint) -> (), none;
    GOMP_parallel_loop_static(threads: c_uint, start: c_long, end: c_long, step: c_long, chunk: c_long, flags: c_uint) -> (), none;
    GOMP_parallel_loop_dynamic(threads: c_uint, start: c_long, end: c_long, step: c_long, chunk: c_long, flags: c_uint) -> (), none;
    GOMP_parallel_loop_guided(threads: c_uint, start: c_long, end: c_long, step: c_long, chunk: c_long, flags: c_uint) -> (), none;
    GOMP_parallel_loop_nonmonotonic_dynamic(threads: c_uint, start: c_long, end: c_long, step: c_long, chunk: c_long, flags: c_uint) -> (), none;
    GOMP_parallel_loop_nonmonotonic_guided(threads: c_uint, start: c_long, end: c_long, step: c_long, chunk: c_long, flags: c_uint) -> (), none;
    GOMP_parallel_loop_runtime(threads: c_uint, start: c_long, end: c_long, step: c_long, flags: c_uint) -> (), none;
    GOMP_parallel_loop_nonmonotonic_runtime(threads: c_uint, start: c_long, end: c_long, step: c_long, flags: c_uint) -> (), none;
    GOMP_parallel_loop_maybe_nonmonotonic_runtime(threads: c_uint, start: c_long, end: c_long, step: c_long, flags: c_uint) -> (), none;
    GOMP_parallel_sections(threads: c_uint, count: c_uint, flags: c_uint) -> (), none;
    GOMP_parallel_reductions(threads: c_uint, flags: c_uint) -> c_uint, first_word;
}

/// Returns the code of the region of which this thread executes a part, or `own` if it executes none.
pub(crate) fn region_code(own: *const c_void) -> *const c_void {
    // SAFETY: a thread resets the pointer before its region ends.
    unsafe { REGION.get().as_ref() }.map_or(own, |region| region.body as *const c_void)
}

/// Waits at a barrier of the region of which this thread executes a part.
fn barrier<T>(wait: impl FnOnce() -> T) -> T {
    // SAFETY: a thread resets the pointer before its region ends.
    let Some(RecordedRegion { region, .. }) = (unsafe { REGION.get().as_ref() }).and_then(|gomp| gomp.recorded.as_ref()) else {
        return wait();
    };
    let Some(slot) = record::slot() else { return wait() };
    let now = page::now();
    region.arrivals.arrive(region.members.load(Relaxed), slot, now);
    let before = slot.begin(ThreadActivity::Arrived, region.number, now);
    let result = wait();
    slot.resume(before, page::now());
    result
}

/// Declares functions that wait until all members of a team have arrived.
macro_rules! barriers {
    ($($name:ident() -> $kind:ty;)*) => {$(
        /// Waits for the team, as the GNU runtime's function of this name.
        ///
        /// # Safety
        /// As that function.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name() -> $kind {
            static NEXT: NextFunction = NextFunction::new(to_c(concat!(stringify!($name), "\0")));
            static KNOWN: KnownCallers = KnownCallers::new();
            let code = region_code($name as *const c_void);
            let found = KNOWN.of(code, to_c(concat!(stringify!($name), "\0")), &NEXT, $name as *const c_void);
            // SAFETY: the runtime's function of this name.
            barrier(|| unsafe { transmute::<*mut c_void, unsafe extern "C-unwind" fn() -> $kind>(found)() })
        }
    )*};
}

barriers! {
    GOMP_barrier() -> ();
    GOMP_loop_end() -> ();
    GOMP_sections_end() -> ();
    GOMP_barrier_cancel() -> bool;
    GOMP_loop_end_cancel() -> bool;
    GOMP_sections_end_cancel() -> bool;
}
