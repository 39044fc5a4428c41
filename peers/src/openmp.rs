//! OpenMP runtimes, by the entry points that GNU's compiler calls and all of them export. Found at run time.
use crate::member::{give_up, member};
use crate::trouble::Trouble;
use core::ffi::{c_int, c_uint, c_void};
use core::mem::transmute;
use foregather_bench::{BarrierCell, Episodes};
use foregather_host::dl::Library;

/// One runtime: the files it may be in, and how to get it.
pub(crate) struct Runtime {
    pub(crate) libraries: &'static [&'static str],
    pub(crate) remedy: &'static str,
}

type RegionFn = extern "C" fn(*mut c_void);

/// What a compiler makes of `#pragma omp parallel` and `#pragma omp barrier`.
struct Calls {
    parallel: unsafe extern "C" fn(RegionFn, *mut c_void, c_uint, c_uint),
    barrier: unsafe extern "C" fn(),
    thread_num: unsafe extern "C" fn() -> c_int,
    num_threads: unsafe extern "C" fn() -> c_int,
    set_dynamic: unsafe extern "C" fn(c_int),
}

impl Calls {
    fn of(library: &Library) -> Result<Self, Trouble> {
        // SAFETY: these are the functions' types by the OpenMP specification and by GNU's binary interface,
        // and the library is never unloaded.
        unsafe {
            Ok(Self {
                parallel: transmute::<*mut c_void, unsafe extern "C" fn(RegionFn, *mut c_void, c_uint, c_uint)>(
                    library.symbol("GOMP_parallel")?,
                ),
                barrier: transmute::<*mut c_void, unsafe extern "C" fn()>(library.symbol("GOMP_barrier")?),
                thread_num: transmute::<*mut c_void, unsafe extern "C" fn() -> c_int>(library.symbol("omp_get_thread_num")?),
                num_threads: transmute::<*mut c_void, unsafe extern "C" fn() -> c_int>(library.symbol("omp_get_num_threads")?),
                set_dynamic: transmute::<*mut c_void, unsafe extern "C" fn(c_int)>(library.symbol("omp_set_dynamic")?),
            })
        }
    }
}

/// The data that all threads of the parallel region share.
struct Region<'a> {
    calls: Calls,
    cell: &'a BarrierCell,
    episodes: &'a Episodes<'a>,
}

/// Runs the cell in one parallel region.
pub(crate) fn run(runtime: &Runtime, cell: &BarrierCell, episodes: &Episodes<'_>) -> Result<(), Trouble> {
    let library = Library::open(runtime.libraries).map_err(|error| Trouble::Missing(format!("{error}; {}", runtime.remedy)))?;
    let region = Region { calls: Calls::of(&library)?, cell, episodes };
    // SAFETY: plain calls of the runtime; the region outlives the parallel call, which returns after all
    // threads.
    unsafe {
        (region.calls.set_dynamic)(0);
        (region.calls.parallel)(body, (&raw const region).cast_mut().cast(), cell.threads, 0);
    }
    Ok(())
}

/// One thread's part of the region. A panic ends the process, as this is called from C.
extern "C" fn body(data: *mut c_void) {
    // SAFETY: the runtime passes the pointer that `run` gave it, to a `Region` which is shared and never
    // changed.
    let region = unsafe { &*data.cast::<Region<'_>>() };
    let (calls, cell) = (&region.calls, region.cell);
    // SAFETY: within a parallel region these only read the runtime's own state.
    let (rank, size) = unsafe { ((calls.thread_num)(), (calls.num_threads)()) };
    if u32::try_from(size) != Ok(cell.threads) {
        give_up(&format!("the runtime made a team of {size}, not {}", cell.threads));
    }
    // SAFETY: every thread of the team calls it equally often, which `Episodes` guarantees.
    member(cell, region.episodes, rank as u32, || unsafe { (calls.barrier)() });
}
