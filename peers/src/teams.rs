//! Fork and join of other projects: parallel regions of OpenMP runtimes, and rayon from outside its pool.
use crate::cell::settle_environment;
use crate::member::{give_up, give_up_after};
use crate::openmp::Runtime;
use crate::roster::{self, Barrier, PEERS};
use crate::trouble::Trouble;
use core::ffi::{c_int, c_uint, c_void};
use core::mem::transmute;
use foregather_bench::teams::{TeamCell, measure};
use foregather_bench::{Cell, CellResult};
use foregather_host::clock;
use foregather_host::dl::Library;
use serde_json::{Value, json};
use std::time::Duration;

/// How much longer than its span a cell may take before it is given up.
const GRACE: Duration = Duration::from_secs(60);
/// Rayon's two ways, called from a thread outside its pool.
const RAYON: [(&str, &str); 2] = [
    ("rayon-broadcast", "rayon: every thread of the pool runs the body"),
    ("rayon-join", "rayon: bodies are halved by joins, and stolen"),
];

const FORK_UNION: &str = "fork-union";
const FORK_UNION_REMEDY: &str = "build the peers with --features fork-union, which needs g++";

/// All peers that run teams, for the caller.
pub(crate) fn list() -> Value {
    let rayon = RAYON.iter().map(|(name, what)| {
        json!({ "name": name, "what": what, "available": true, "remedy": null, "env": {},
                "version": roster::locked_version("rayon") })
    });
    let openmp = PEERS.iter().filter(|peer| matches!(peer.barrier, Barrier::OpenMp(_))).map(roster::describe);
    let fork_union = json!({ "name": FORK_UNION, "what": "fork_union: a pool that spins, and never sleeps", "env": {},
        "available": cfg!(feature = "fork-union"), "version": roster::locked_version("fork_union"),
        "remedy": (!cfg!(feature = "fork-union")).then_some(FORK_UNION_REMEDY) });
    rayon.chain([fork_union]).chain(openmp).collect()
}

/// Runs the cell in `text`; the result as JSON.
pub(crate) fn run(text: &str) -> Result<String, Trouble> {
    let cell = TeamCell::from_arg(text).map_err(Trouble::Usage)?;
    let peer = roster::find(&cell.runner);
    if let Some(peer) = peer {
        settle_environment(peer);
    }
    clock::init();
    give_up_after(Duration::from_nanos(cell.span_ns).saturating_add(GRACE));
    let result = match (cell.runner.as_str(), peer.map(|peer| peer.barrier)) {
        ("rayon-broadcast", _) => pool(&cell)?.broadcast(&cell),
        ("rayon-join", _) => pool(&cell)?.join(&cell),
        #[cfg(feature = "fork-union")]
        (FORK_UNION, _) => {
            let pool = fork_union::ThreadPool::try_spawn(cell.threads as usize);
            let mut pool = pool.map_err(|error| Trouble::Failed(format!("fork_union: {error:?}")))?;
            measure(&cell, |body| drop(pool.for_threads(|_, _| body())))
        }
        #[cfg(not(feature = "fork-union"))]
        (FORK_UNION, _) => return Err(Trouble::Missing(format!("fork_union is not built in; {FORK_UNION_REMEDY}"))),
        (_, Some(Barrier::OpenMp(runtime))) => openmp(runtime, &cell)?,
        (name, _) => return Err(Trouble::Usage(format!("`{name}` runs no team; see `foregather-peers list-teams`"))),
    };
    serde_json::to_string(&result).map_err(|error| Trouble::Failed(error.to_string()))
}

struct RayonPool(rayon::ThreadPool);

fn pool(cell: &TeamCell) -> Result<RayonPool, Trouble> {
    let builder = rayon::ThreadPoolBuilder::new().num_threads(cell.threads as usize);
    builder.build().map(RayonPool).map_err(|error| Trouble::Failed(format!("rayon: {error}")))
}

impl RayonPool {
    fn broadcast(&self, cell: &TeamCell) -> CellResult {
        measure(cell, |body| {
            self.0.broadcast(|_| body());
        })
    }

    fn join(&self, cell: &TeamCell) -> CellResult {
        fn halves(bodies: u32, body: &(dyn Fn() + Sync)) {
            match bodies {
                0 => {}
                1 => body(),
                _ => drop(rayon::join(|| halves(bodies / 2, body), || halves(bodies - bodies / 2, body))),
            }
        }
        measure(cell, |body| self.0.install(|| halves(cell.threads, body)))
    }
}

type Outlined = extern "C" fn(*mut c_void);

/// The data that all threads of a region share.
struct Region<'a> {
    body: &'a (dyn Fn() + Sync),
    num_threads: unsafe extern "C" fn() -> c_int,
    threads: u32,
}

/// One thread's part. A panic ends the process, as this is called from C.
extern "C" fn outlined(data: *mut c_void) {
    // SAFETY: the runtime passes the pointer to a `Region` that outlives the parallel call, is shared and
    // never changed.
    let region = unsafe { &*data.cast::<Region<'_>>() };
    // SAFETY: within a parallel region this only reads the runtime's own state.
    let size = unsafe { (region.num_threads)() };
    if u32::try_from(size) != Ok(region.threads) {
        give_up(&format!("the runtime made a team of {size}, not {}", region.threads));
    }
    (region.body)();
}

/// A parallel region for every region, as a compiler generates it for `#pragma omp parallel`.
fn openmp(runtime: &Runtime, cell: &TeamCell) -> Result<CellResult, Trouble> {
    let library = Library::open(runtime.libraries).map_err(|error| Trouble::Missing(format!("{error}; {}", runtime.remedy)))?;
    type Parallel = unsafe extern "C" fn(Outlined, *mut c_void, c_uint, c_uint);
    // SAFETY: these are the functions' types by the OpenMP specification and by GNU's binary interface, and
    // the library is never unloaded.
    let (parallel, num_threads, set_dynamic) = unsafe {
        (
            transmute::<*mut c_void, Parallel>(library.symbol("GOMP_parallel")?),
            transmute::<*mut c_void, unsafe extern "C" fn() -> c_int>(library.symbol("omp_get_num_threads")?),
            transmute::<*mut c_void, unsafe extern "C" fn(c_int)>(library.symbol("omp_set_dynamic")?),
        )
    };
    // SAFETY: a plain call of the runtime: teams are as large as asked for.
    unsafe { set_dynamic(0) };
    Ok(measure(cell, |body| {
        let region = Region { body, num_threads, threads: cell.threads };
        // SAFETY: the region outlives the call, which returns after all threads have done their part.
        unsafe { parallel(outlined, (&raw const region).cast_mut().cast(), cell.threads, 0) };
    }))
}
