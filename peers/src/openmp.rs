//! OpenMP runtimes, by the entry points that GNU's compiler calls and all of them export. Found at run time.
use crate::member::{give_up, give_up_after, member};
use crate::peer_error::PeerError;
use crate::roster::{self, Barrier, PEERS, Peer};
use crate::runtime::Runtime;
use crate::tasks::TaskCalls;
use core::ffi::{c_int, c_long, c_uint, c_void};
use core::mem::transmute_copy;
use foregather_bench::openmp::{Construct, EndCell, EndStamp, OpenMpCell, ProcessEnd};
use foregather_bench::teams::{TeamCell, measure};
use foregather_bench::{BarrierCell, Cell, CellResult, Episodes, side_by_side};
use foregather_host::clock;
use foregather_host::dl::Library;
use foregather_machine::Nanos;
use rustix::process::{Resource, Rlimit, Signal, getpid, kill_process, setrlimit};
use serde_json::Value;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// How much longer than its span a cell may take before it is given up.
const GRACE: Duration = Duration::from_secs(60);

type RegionFn = extern "C" fn(*mut c_void);

/// What a compiler makes of the constructs.
#[derive(Clone, Copy)]
struct RuntimeFunctions {
    parallel: unsafe extern "C" fn(RegionFn, *mut c_void, c_uint, c_uint),
    barrier: unsafe extern "C" fn(),
    critical_start: unsafe extern "C" fn(),
    critical_end: unsafe extern "C" fn(),
    single_start: unsafe extern "C" fn() -> bool,
    dynamic_start: unsafe extern "C" fn(c_long, c_long, c_long, c_long, *mut c_long, *mut c_long) -> bool,
    dynamic_next: unsafe extern "C" fn(*mut c_long, *mut c_long) -> bool,
    loop_end: unsafe extern "C" fn(),
    ordered_loop_start: unsafe extern "C" fn(c_long, c_long, c_long, c_long, *mut c_long, *mut c_long) -> bool,
    ordered_loop_next: unsafe extern "C" fn(*mut c_long, *mut c_long) -> bool,
    ordered_start: unsafe extern "C" fn(),
    ordered_end: unsafe extern "C" fn(),
    thread_num: unsafe extern "C" fn() -> c_int,
    num_threads: unsafe extern "C" fn() -> c_int,
    set_dynamic: unsafe extern "C" fn(c_int),
    set_active_levels: unsafe extern "C" fn(c_int),
    tasks: TaskCalls,
}

/// The function of that name, as the type that is asked for.
///
/// # Safety
/// `F` is a pointer to a function of the type that the library's function has.
unsafe fn function<F: Copy>(library: &Library, name: &str) -> Result<F, PeerError> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    let symbol = library.symbol(name)?;
    // SAFETY: this function's contract; the library is never unloaded.
    Ok(unsafe { transmute_copy::<*mut c_void, F>(&symbol) })
}

impl RuntimeFunctions {
    /// Those of a runtime, whose teams are as large as asked for from now on.
    fn of(runtime: &Runtime) -> Result<Self, PeerError> {
        let library = runtime.library().map_err(|error| PeerError::Missing(format!("{error}; {}", runtime.remedy)))?;
        // SAFETY: these are the functions' types by the OpenMP specification and by GNU's binary interface.
        let calls = unsafe {
            Self {
                parallel: function(&library, "GOMP_parallel")?,
                barrier: function(&library, "GOMP_barrier")?,
                critical_start: function(&library, "GOMP_critical_start")?,
                critical_end: function(&library, "GOMP_critical_end")?,
                single_start: function(&library, "GOMP_single_start")?,
                dynamic_start: function(&library, "GOMP_loop_nonmonotonic_dynamic_start")?,
                dynamic_next: function(&library, "GOMP_loop_nonmonotonic_dynamic_next")?,
                loop_end: function(&library, "GOMP_loop_end")?,
                ordered_loop_start: function(&library, "GOMP_loop_ordered_static_start")?,
                ordered_loop_next: function(&library, "GOMP_loop_ordered_static_next")?,
                ordered_start: function(&library, "GOMP_ordered_start")?,
                ordered_end: function(&library, "GOMP_ordered_end")?,
                thread_num: function(&library, "omp_get_thread_num")?,
                num_threads: function(&library, "omp_get_num_threads")?,
                set_dynamic: function(&library, "omp_set_dynamic")?,
                set_active_levels: function(&library, "omp_set_max_active_levels")?,
                tasks: TaskCalls { make: function(&library, "GOMP_task")?, wait: function(&library, "GOMP_taskwait")? },
            }
        };
        // SAFETY: plain calls of the runtime.
        unsafe {
            (calls.set_dynamic)(0);
            (calls.set_active_levels)(2);
        }
        Ok(calls)
    }

    /// Calls `body` with its rank on each of `threads` members.
    fn region(&self, threads: u32, body: &(dyn Fn(u32) + Sync)) {
        let region = RegionData { calls: *self, threads, body };
        // SAFETY: the region outlives the call, which returns after all threads have done their part.
        unsafe { (self.parallel)(outlined, (&raw const region).cast_mut().cast(), threads, 0) };
    }

    /// What a member does of the construct, with the barrier at its end; `sum` is that of the team's
    /// reductions.
    fn meet(&self, construct: Construct, rank: u32, sum: &AtomicU64) {
        // SAFETY: every member of the region calls this equally often, as `Episodes` guarantees; the numbers
        // are this call's own.
        unsafe {
            match construct {
                Construct::Region | Construct::Nested | Construct::Barrier => (self.barrier)(),
                Construct::Ordered => {
                    let (mut from, mut to, size) = (0, 0, (self.num_threads)().into());
                    let mut more = (self.ordered_loop_start)(0, size, 1, 1, &raw mut from, &raw mut to);
                    while more {
                        (self.ordered_start)();
                        (self.ordered_end)();
                        more = (self.ordered_loop_next)(&raw mut from, &raw mut to);
                    }
                    (self.loop_end)();
                }
                Construct::Single => {
                    std::hint::black_box((self.single_start)());
                    (self.barrier)();
                }
                Construct::Critical => {
                    (self.critical_start)();
                    (self.critical_end)();
                    (self.barrier)();
                }
                Construct::Static => {
                    // What a compiler makes of it: the runtime has nothing to do but the barrier.
                    let (rank, size) = ((self.thread_num)() as u32, (self.num_threads)() as u32);
                    let part = |rank| rank * Construct::CHUNKS / size;
                    (part(rank)..part(rank + 1)).for_each(|iteration| {
                        std::hint::black_box(iteration);
                    });
                    (self.barrier)();
                }
                Construct::Reduction => {
                    sum.fetch_add(1, Relaxed);
                    (self.barrier)();
                }
                Construct::Dynamic => {
                    let (mut from, mut to) = (0, 0);
                    let chunks = Construct::CHUNKS.into();
                    let mut more = (self.dynamic_start)(0, chunks, 1, 1, &raw mut from, &raw mut to);
                    while more {
                        more = (self.dynamic_next)(&raw mut from, &raw mut to);
                    }
                    (self.loop_end)();
                }
                Construct::TaskWait | Construct::TaskTree | Construct::TaskChain | Construct::TaskStencil => {
                    self.tasks.part(construct, rank);
                    (self.barrier)();
                }
            }
        }
    }
}

/// The data that all threads of a region share.
struct RegionData<'a> {
    calls: RuntimeFunctions,
    threads: u32,
    body: &'a (dyn Fn(u32) + Sync),
}

/// One thread's part. A panic ends the process, as this is called from C.
extern "C" fn outlined(data: *mut c_void) {
    // SAFETY: the runtime passes the pointer to an `OpenRegion` that outlives the parallel call, is shared
    // and never changed.
    let region = unsafe { &*data.cast::<RegionData<'_>>() };
    // SAFETY: within a parallel region these only read the runtime's own state.
    let (rank, size) = unsafe { ((region.calls.thread_num)(), (region.calls.num_threads)()) };
    if u32::try_from(size) != Ok(region.threads) {
        give_up(&format!("the runtime made a team of {size}, not {}", region.threads));
    }
    (region.body)(rank as u32);
}

/// Runs the cell's episodes in one parallel region.
pub(crate) fn run(runtime: &Runtime, cell: &BarrierCell, episodes: &Episodes<'_>) -> Result<(), PeerError> {
    run_construct(&RuntimeFunctions::of(runtime)?, Construct::Barrier, cell, episodes);
    Ok(())
}

fn run_construct(calls: &RuntimeFunctions, construct: Construct, cell: &BarrierCell, episodes: &Episodes<'_>) {
    let sum = AtomicU64::new(0);
    calls.region(cell.threads, &|rank| member(cell, episodes, rank, || calls.meet(construct, rank, &sum)));
}

/// A parallel region for every region of the cell.
pub(crate) fn regions(runtime: &Runtime, cell: &TeamCell) -> Result<CellResult, PeerError> {
    let calls = RuntimeFunctions::of(runtime)?;
    Ok(measure(cell, |body| calls.region(cell.threads, &|_| body())))
}

/// A parallel region for every region of the cell, in which each member opens another one.
fn nested(runtime: &Runtime, cell: &TeamCell) -> Result<CellResult, PeerError> {
    let calls = RuntimeFunctions::of(runtime)?;
    let inner = cell.threads.min(Construct::INNER_MOST);
    Ok(measure(cell, |body| calls.region(cell.threads, &|_| calls.region(inner, &|_| body()))))
}

/// All runtimes, for the caller.
pub(crate) fn list() -> Value {
    let runtimes = PEERS.iter().filter(|peer| matches!(peer.barrier, Barrier::OpenMp(_))).map(roster::describe);
    roster::OURS.iter().map(roster::describe).chain(runtimes).collect()
}

/// Runs the cell of a construct in `text`; the result as JSON.
pub(crate) fn run_cell(text: &str) -> Result<String, PeerError> {
    let cell = OpenMpCell::from_arg(text).map_err(PeerError::Usage)?;
    let ours = const { &roster::OURS }.iter().find(|peer| peer.name == cell.runtime);
    let found = ours.or_else(|| roster::find(&cell.runtime));
    let Some(peer @ Peer { barrier: Barrier::OpenMp(runtime), .. }) = found else {
        return Err(PeerError::Usage(format!("`{}` is no OpenMP runtime; see `foregather-peers list-openmp`", cell.runtime)));
    };
    peer.settle_environment();
    clock::init();
    give_up_after(Duration::from_nanos(cell.span_ns).saturating_add(GRACE));
    let result = side_by_side(cell.teams, || match cell.construct {
        Construct::Region => regions(runtime, &cell.as_regions()),
        Construct::Nested => nested(runtime, &cell.as_regions()),
        construct => {
            let (calls, inner) = (RuntimeFunctions::of(runtime)?, cell.as_episodes());
            let episodes = Episodes::new(&inner);
            run_construct(&calls, construct, &inner, &episodes);
            episodes.result().ok_or_else(|| PeerError::Failed("member 0 did not get through".to_owned()))
        }
    })?;
    serde_json::to_string(&result).map_err(|error| PeerError::Failed(error.to_string()))
}

/// Runs regions by our runtime, says when it ends, and ends. Only an error returns.
pub(crate) fn run_and_end(text: &str) -> Result<String, PeerError> {
    let EndCell { end, threads, span_ns } = EndCell::from_arg(text).map_err(PeerError::Usage)?;
    let [ours @ Peer { barrier: Barrier::OpenMp(runtime), .. }, ..] = &roster::OURS else { unreachable!("ours is of OpenMP") };
    ours.settle_environment();
    clock::init();
    let calls = RuntimeFunctions::of(runtime)?;
    let over = clock::now() + Nanos(span_ns);
    while clock::now() < over {
        calls.region(threads, &|_| {});
    }
    let failed = |error: std::io::Error| PeerError::Failed(error.to_string());
    // A core file would take its own time. Where this is refused, there is a limit already.
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    let stamp = EndStamp { began_ns: clock::now().0 };
    let line = serde_json::to_string(&stamp).map_err(|error| PeerError::Failed(error.to_string()))?;
    let mut output = std::io::stdout().lock();
    writeln!(output, "{line}").and_then(|()| output.flush()).map_err(failed)?;
    drop(output);
    match end {
        ProcessEnd::Exit => std::process::exit(0),
        ProcessEnd::Abort => std::process::abort(),
        // SAFETY: ends the process.
        ProcessEnd::AtOnce => unsafe { libc::_exit(0) },
        ProcessEnd::Kill => {
            let _ = kill_process(getpid(), Signal::KILL);
            Err(PeerError::Failed("SIGKILL did not end this process".to_owned()))
        }
    }
}
