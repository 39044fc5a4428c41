//! Regions and barriers of the GNU OpenMP runtime.
//!
//! A region's function is replaced by [`part`], which calls it. The region's own data lives on its leader's
//! stack: the runtime returns to the leader when all members have returned.
use crate::next::{NextFunction, seen_from};
use crate::record::{self, Arrivals};
use core::cell::Cell;
use core::ffi::{CStr, c_int, c_long, c_uint, c_void};
use core::mem::transmute;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering::*};
use foregather_host::watched::page::{self, ThreadActivity, ThreadSlot};

type RegionBody = unsafe extern "C-unwind" fn(*mut c_void);

/// A region that is open.
struct Region {
    body: RegionBody,
    data: *mut c_void,
    number: u64,
    leader: u32,
    /// How many members it has, once the first one has asked.
    members: AtomicU32,
    size: unsafe extern "C-unwind" fn() -> c_int,
    arrivals: Arrivals,
}

thread_local! {
    /// The region of which this thread executes a part.
    static REGION: Cell<*const Region> = const { Cell::new(core::ptr::null()) };
}

/// Executes a part of a region.
unsafe extern "C-unwind" fn part(region: *mut c_void) {
    // SAFETY: only `open` hands this function out, together with a region that lives until all parts have
    // returned.
    let region = unsafe { &*region.cast::<Region>() };
    let Some(slot) = record::slot() else {
        // SAFETY: the program's function with the program's data, as its runtime would call it.
        return unsafe { (region.body)(region.data) };
    };
    // SAFETY: the runtime's `omp_get_num_threads`, which any thread may call.
    let members = unsafe { (region.size)() }.unsigned_abs();
    region.members.store(members, Relaxed);
    slot.join(region.leader, members);
    let began = page::now();
    let outer = REGION.replace(region);
    slot.begin(ThreadActivity::Part, region.number, began);
    // SAFETY: the program's function with the program's data, as its runtime would call it.
    unsafe { (region.body)(region.data) };
    REGION.set(outer);
    let now = page::now();
    slot.begin(ThreadActivity::Arrived, region.number, now);
    ThreadSlot::add(&slot.counts.parts, 1);
    ThreadSlot::add(&slot.counts.part_ns, (now - began).0);
    region.arrivals.arrive(members, now);
}

/// Opens a region by `call`, which gets the function and the data for the runtime.
fn open(body: RegionBody, data: *mut c_void, call: impl FnOnce(RegionBody, *mut c_void)) {
    static NEXT: NextFunction = NextFunction::new(c"omp_get_num_threads");
    static LAST: LastCaller = LastCaller::new();
    let (Some(page), Some(slot)) = (record::page(), record::slot()) else { return call(body, data) };
    let size = LAST.of(body as *const c_void, c"omp_get_num_threads", &NEXT, core::ptr::null());
    let number = page.next_region();
    let began = page::now();
    let region = Region {
        body,
        data,
        number,
        leader: page.index(slot),
        members: AtomicU32::new(0),
        // SAFETY: OpenMP says what a function of this name takes and gives.
        size: unsafe { transmute::<*mut c_void, unsafe extern "C-unwind" fn() -> c_int>(size) },
        arrivals: Arrivals::new(began.0),
    };
    let is_nested = !REGION.get().is_null();
    let outer = slot.open(number);
    let before = slot.begin(ThreadActivity::Part, number, began);
    call(part, (&raw const region).cast_mut().cast());
    let now = page::now();
    slot.open(outer);
    slot.resume(before, now);
    ThreadSlot::add(&slot.counts.regions, 1);
    ThreadSlot::add(&slot.counts.region_ns, (now - began).0);
    ThreadSlot::add(&slot.counts.nested, u64::from(is_nested && region.members.load(Relaxed) > 1));
}

/// Declares functions that open a region: their name, and their arguments after the function and its data.
macro_rules! regions {
    ($($name:ident($($argument:ident: $kind:ty),*);)*) => {$(
        /// Opens a region, as the GNU runtime's function of this name.
        ///
        /// # Safety
        /// As that function.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name(body: unsafe extern "C-unwind" fn(*mut c_void), data: *mut c_void, $($argument: $kind),*) {
            static NEXT: NextFunction = NextFunction::new(to_c(concat!(stringify!($name), "\0")));
            static LAST: LastCaller = LastCaller::new();
            let found = LAST.of(body as *const c_void, to_c(concat!(stringify!($name), "\0")), &NEXT, $name as *const c_void);
            // SAFETY: the runtime's function of this name, with the arguments of the program.
            open(body, data, |body, data| unsafe {
                transmute::<*mut c_void, unsafe extern "C-unwind" fn(RegionBody, *mut c_void, $($kind),*)>(found)(body, data, $($argument),*)
            });
        }
    )*};
}

/// A name that ends with a zero.
const fn to_c(name: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(name.as_bytes()) {
        Ok(name) => name,
        Err(_) => panic!("a name ends with one zero"),
    }
}

/// The function that the last caller used, and that caller's code.
struct LastCaller {
    code: AtomicPtr<c_void>,
    found: AtomicPtr<c_void>,
}

impl LastCaller {
    const fn new() -> Self {
        Self { code: AtomicPtr::new(null_mut()), found: AtomicPtr::new(null_mut()) }
    }

    /// The runtime's function for a caller. Ends the process, as the loader would, if there is none.
    #[inline]
    fn of(&self, code: *const c_void, name: &CStr, next: &NextFunction, own: *const c_void) -> *mut c_void {
        let found = self.found.load(Acquire);
        // A pair that is being replaced has one half of each caller: both are looked at again then.
        if self.code.load(Acquire) == code.cast_mut() && !found.is_null() && self.found.load(Acquire) == found {
            return found;
        }
        let seen = seen_from(code, name);
        let found = if seen.is_null() || seen.cast_const() == own { next.get() } else { seen };
        if found.is_null() {
            missing(name);
        }
        if self.code.load(Relaxed).is_null() {
            // Only the first caller is kept, so the two halves always fit.
            if self.found.compare_exchange(null_mut(), found, AcqRel, Relaxed).is_ok() {
                self.code.store(code.cast_mut(), Release);
            }
        }
        found
    }
}

#[cold]
fn missing(name: &CStr) -> ! {
    eprintln!("libforegather_watch.so: the program calls {}, and no library has it", name.to_string_lossy());
    // As the loader's status for a symbol that is missing.
    // SAFETY: ends the process at once.
    unsafe { libc::_exit(127) }
}

regions! {
    GOMP_parallel(threads: c_uint, flags: c_uint);
    GOMP_parallel_loop_static(threads: c_uint, start: c_long, end: c_long, step: c_long, chunk: c_long, flags: c_uint);
    GOMP_parallel_loop_dynamic(threads: c_uint, start: c_long, end: c_long, step: c_long, chunk: c_long, flags: c_uint);
    GOMP_parallel_loop_guided(threads: c_uint, start: c_long, end: c_long, step: c_long, chunk: c_long, flags: c_uint);
    GOMP_parallel_loop_nonmonotonic_dynamic(threads: c_uint, start: c_long, end: c_long, step: c_long, chunk: c_long, flags: c_uint);
    GOMP_parallel_loop_nonmonotonic_guided(threads: c_uint, start: c_long, end: c_long, step: c_long, chunk: c_long, flags: c_uint);
    GOMP_parallel_loop_runtime(threads: c_uint, start: c_long, end: c_long, step: c_long, flags: c_uint);
    GOMP_parallel_loop_nonmonotonic_runtime(threads: c_uint, start: c_long, end: c_long, step: c_long, flags: c_uint);
    GOMP_parallel_loop_maybe_nonmonotonic_runtime(threads: c_uint, start: c_long, end: c_long, step: c_long, flags: c_uint);
    GOMP_parallel_sections(threads: c_uint, count: c_uint, flags: c_uint);
}

/// Waits at a barrier of the region of which this thread executes a part.
fn barrier<T>(wait: impl FnOnce() -> T) -> T {
    // SAFETY: a thread resets the pointer before its region ends.
    let Some(region) = (unsafe { REGION.get().as_ref() }) else { return wait() };
    let Some(slot) = record::slot() else { return wait() };
    let now = page::now();
    region.arrivals.arrive(region.members.load(Relaxed), now);
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
            static LAST: LastCaller = LastCaller::new();
            let code = REGION.get();
            // SAFETY: a thread resets the pointer before its region ends.
            let code = unsafe { code.as_ref() }.map_or($name as *const c_void, |region| region.body as *const c_void);
            let found = LAST.of(code, to_c(concat!(stringify!($name), "\0")), &NEXT, $name as *const c_void);
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
