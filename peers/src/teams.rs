//! Fork and join of other projects: parallel regions of OpenMP runtimes, rayon from outside its pool and
//! from within, OpenBLAS's threads, and POSIX threads at their barriers.
use crate::blas_team;
use crate::member::give_up_after;
use crate::native;
use crate::openmp;
use crate::peer_error::PeerError;
use crate::roster::{self, Barrier, PEERS};
use foregather_bench::teams::{TeamCell, measure};
use foregather_bench::{Cell, CellResult};
use foregather_host::clock;
use serde_json::{Value, json};
use std::time::Duration;

/// How much longer than its span a cell may take before it is given up.
const GRACE: Duration = Duration::from_secs(60);
/// Rayon's ways: two of a thread outside its pool, and one of a thread of the pool.
const RAYON: [(&str, &str); 3] = [
    ("rayon-broadcast", "rayon: every thread of the pool runs the body"),
    ("rayon-join", "rayon: bodies are halved by joins, and stolen"),
    ("rayon-install", "rayon: every thread of the pool runs the body, and one of them opens the regions"),
];
const OPENBLAS: &str = "openblas";
const PTHREAD: &str = "pthread";

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
    let pthread = roster::find(PTHREAD).map(roster::describe);
    rayon.chain([fork_union, blas_team::describe()]).chain(pthread).chain(openmp).collect()
}

/// Runs the cell in `text`; the result as JSON.
pub(crate) fn run(text: &str) -> Result<String, PeerError> {
    let cell = TeamCell::from_arg(text).map_err(PeerError::Usage)?;
    let peer = roster::find(&cell.runner);
    if let Some(peer) = peer {
        peer.settle_environment();
    }
    clock::init();
    give_up_after(Duration::from_nanos(cell.span_ns).saturating_add(GRACE));
    let result = match (cell.runner.as_str(), peer.map(|peer| peer.barrier)) {
        ("rayon-broadcast", _) => pool(&cell)?.broadcast(&cell),
        ("rayon-join", _) => pool(&cell)?.join(&cell),
        ("rayon-install", _) => {
            let pool = pool(&cell)?;
            pool.0.install(|| pool.broadcast(&cell))
        }
        (OPENBLAS, _) => blas_team::run(&cell)?,
        (PTHREAD, _) => native::regions(&cell)?,
        #[cfg(feature = "fork-union")]
        (FORK_UNION, _) => {
            let pool = fork_union::ThreadPool::try_spawn(cell.threads as usize);
            let mut pool = pool.map_err(|error| PeerError::Failed(format!("fork_union: {error:?}")))?;
            measure(&cell, |body| drop(pool.for_threads(|_, _| body())))
        }
        #[cfg(not(feature = "fork-union"))]
        (FORK_UNION, _) => return Err(PeerError::Missing(format!("fork_union is not built in; {FORK_UNION_REMEDY}"))),
        (_, Some(Barrier::OpenMp(runtime))) => openmp::regions(runtime, &cell)?,
        (name, _) => return Err(PeerError::Usage(format!("`{name}` runs no team; see `foregather-peers list-teams`"))),
    };
    serde_json::to_string(&result).map_err(|error| PeerError::Failed(error.to_string()))
}

struct RayonPool(rayon::ThreadPool);

fn pool(cell: &TeamCell) -> Result<RayonPool, PeerError> {
    let builder = rayon::ThreadPoolBuilder::new().num_threads(cell.threads as usize);
    builder.build().map(RayonPool).map_err(|error| PeerError::Failed(format!("rayon: {error}")))
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
