//! Another OpenMP runtime in the process: Clang's or Intel's.
//!
//! Libraries that were built for it may name no symbol versions. So where this library is preloaded, their
//! calls of `omp_*` come here, while their regions (`__kmpc_*`) stay with the other runtime. What they ask
//! about their region is therefore passed on.
use core::ffi::{c_int, c_void};
use core::ptr::{NonNull, null_mut};
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::{Acquire, Release};
use foregather_host::dl::{self, Library};
use foregather_openmp::task;
use std::cell::Cell;

/// How the names of such runtimes' files begin; `libompitrace.so` is another library.
const NAMES: [&[u8]; 4] = [b"libiomp5", b"libomp.", b"libomp-", b"libomp5"];

/// Its functions.
pub(crate) struct OtherRuntime {
    pub(crate) thread_num: extern "C" fn() -> c_int,
    pub(crate) num_threads: extern "C" fn() -> c_int,
    pub(crate) in_parallel: extern "C" fn() -> c_int,
    pub(crate) level: extern "C" fn() -> c_int,
    pub(crate) active_level: extern "C" fn() -> c_int,
    pub(crate) ancestor_thread_num: extern "C" fn(c_int) -> c_int,
    pub(crate) team_size: extern "C" fn(c_int) -> c_int,
    pub(crate) set_num_threads: extern "C" fn(c_int),
}

/// The runtime that was found; it is never freed.
static FOUND: AtomicPtr<OtherRuntime> = AtomicPtr::new(null_mut());

thread_local! {
    /// How many libraries had been loaded when this thread last looked.
    static LOADED: Cell<u64> = const { Cell::new(0) };
}

/// The other runtime, if there is one, and if the calling thread's region is one of that runtime.
#[inline]
pub(crate) fn other() -> Option<&'static OtherRuntime> {
    if task().level > 0 { inside() } else { any() }
}

/// The same for a question that programs ask often: a thread looks for another runtime once. That is enough
/// for one that the other runtime has made.
#[inline]
pub(crate) fn other_at_first() -> Option<&'static OtherRuntime> {
    if LOADED.get() == 0 {
        look();
    }
    if task().level > 0 { inside() } else { found() }
}

/// The other runtime, if there is one.
pub(crate) fn any() -> Option<&'static OtherRuntime> {
    found().or_else(look)
}

/// A member of a region of this runtime has another number in a region that it has begun by the other one.
/// The leader has number 0 in both, and the region may as well be around this runtime's.
#[inline]
fn inside() -> Option<&'static OtherRuntime> {
    found().filter(|other| task().rank > 0 && (other.level)() > 0)
}

#[inline]
fn found() -> Option<&'static OtherRuntime> {
    // SAFETY: it is null, or was leaked by `look`.
    unsafe { FOUND.load(Acquire).as_ref() }
}

/// Asks the loader, if libraries were loaded since this thread last looked.
#[cold]
fn look() -> Option<&'static OtherRuntime> {
    let is_runtime = |name: &[u8]| NAMES.iter().any(|start| name.starts_with(start));
    let (now, paths) = dl::loaded_since(LOADED.get(), is_runtime)?;
    LOADED.set(now);
    let library = paths.iter().find_map(|path| Library::loaded(path))?;
    FOUND.store(Box::into_raw(Box::new(OtherRuntime::of(&library)?)), Release);
    found()
}

impl OtherRuntime {
    /// The functions of that library, if it has all of them.
    fn of(library: &Library) -> Option<Self> {
        let function = |name: &str| library.symbol(name).ok().and_then(NonNull::new);
        function("__kmpc_fork_call")?;
        let question = |name| {
            // SAFETY: OpenMP names functions so that take nothing and return an `int`.
            function(name).map(|address| unsafe { core::mem::transmute::<NonNull<c_void>, extern "C" fn() -> c_int>(address) })
        };
        let question_of = |name| {
            // SAFETY: OpenMP names functions so that take and return an `int`.
            function(name)
                .map(|address| unsafe { core::mem::transmute::<NonNull<c_void>, extern "C" fn(c_int) -> c_int>(address) })
        };
        let set_num_threads = function("omp_set_num_threads")?;
        // SAFETY: OpenMP names a function so that takes an `int` and returns nothing.
        let set_num_threads = unsafe { core::mem::transmute::<NonNull<c_void>, extern "C" fn(c_int)>(set_num_threads) };
        Some(Self {
            thread_num: question("omp_get_thread_num")?,
            num_threads: question("omp_get_num_threads")?,
            in_parallel: question("omp_in_parallel")?,
            level: question("omp_get_level")?,
            active_level: question("omp_get_active_level")?,
            ancestor_thread_num: question_of("omp_get_ancestor_thread_num")?,
            team_size: question_of("omp_get_team_size")?,
            set_num_threads,
        })
    }
}
