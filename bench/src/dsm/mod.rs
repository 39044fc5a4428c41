//! What shared memory costs: faults between two ranks, and what they are made of.
//!
//! - [`DsmCell`]: what one process, or the two of a job, are to measure; [`Figures`]: what they found. A cell
//!   that [`DsmCell::is_job`] wants two processes, which a launcher starts.
//! - `faults`: between ranks. `parts`: faults that are answered at once, calls that protect memory, bare
//!   frames; and many views.
//!
//! Each process measures for a moment only. For many values the processes of all cells are started in turn,
//! again and again, so that what disturbs the machine disturbs all of them, and no layout of memory counts
//! for much.
mod faults;
mod parts;
#[cfg(test)]
mod tests;

use crate::Cell;
use foregather_dsm::memory;
use foregather_dsm::views::Backend;
use foregather_host::{affinity, clock};
use foregather_launch::{Job, Lanes};
use foregather_machine::named;
use foregather_machine::{Cause, Error, Fabric, Nanos, Words};
use serde::{Deserialize, Serialize};

/// No turn of a cell takes longer: one lasts some tenths of a second, even on a machine that is busy
/// otherwise.
const BOUND: Nanos = Nanos::from_ms(60_000);

/// What to measure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DsmBenchmark {
    /// Rank 0 touches what rank 1 owns and manages.
    Faults {
        /// Bytes of a minipage.
        bytes: usize,
        /// How pages are protected: [`Backend::name`].
        backend: String,
        /// How servers and threads wait.
        policy: String,
        /// Whether rank 1's thread computes meanwhile, on the same processor as its server. Otherwise it
        /// waits at a barrier.
        computing: bool,
        /// Whether rank 0 requests access with function calls, like accessors, instead of faulting, like
        /// pointers.
        asking: bool,
        /// For how long rank 0 computes before each touch: longer than any policy waits awake, or each touch
        /// finds a server that the one before has woken.
        pause_ns: u64,
        /// How often all units are touched in each of the three manners.
        rounds: u32,
    },
    /// Between two ranks on the bare fabric: a request, and an answer with a minipage's bytes.
    Fetch {
        /// Bytes of minipages.
        sizes: Vec<usize>,
        /// Requests for each.
        rounds: u32,
    },
    /// In one process: faults that are answered at once, and the calls that protect a page.
    AtOnce {
        /// As in [`DsmBenchmark::Faults`].
        backend: String,
        /// How often a few hundred pages go through all states.
        rounds: u32,
    },
    /// In one process: a loop over open memory, seen through several views and through one.
    Views {
        /// As in [`DsmBenchmark::Faults`].
        backend: String,
        /// Bytes of the object.
        bytes: usize,
        /// How often the object is mapped.
        views: u32,
        /// How often each loop runs, in turn.
        turns: u32,
    },
}

/// What is asked of a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DsmCell {
    /// The processor of each rank; one process has the first.
    pub cpus: [u32; 2],
    /// What to measure.
    pub task: DsmBenchmark,
}

impl DsmCell {
    /// Returns whether it needs two ranks of a job instead of one process.
    pub fn is_job(&self) -> bool {
        matches!(self.task, DsmBenchmark::Faults { .. } | DsmBenchmark::Fetch { .. })
    }
}

impl Cell for DsmCell {
    const VERB: &'static str = "dsm-cell";
    type Answer = Figures;

    fn at_most(&self) -> Nanos {
        BOUND
    }

    fn run(&self) -> Result<Option<Figures>, String> {
        clock::init();
        let found = if self.is_job() { of_job(self) } else { alone(self).map(Some) };
        found.map_err(|error| error.to_string())
    }
}

named! {
    /// What was measured: a manner of touching memory, or a part of what that takes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Quantity {
        /// A load of what another rank owns.
        Read = "read",
        /// A store to what was loaded before.
        Upgrade = "upgrade",
        /// A store to what another rank owns.
        Write = "write",
        /// A load that is answered within the process.
        ReadAtOnce = "read at once",
        /// A store to what may be loaded, likewise.
        UpgradeAtOnce = "upgrade at once",
        /// A store to what is closed, likewise.
        WriteAtOnce = "write at once",
        /// The call that lets a closed page be read.
        OpenToRead = "open to read",
        /// That which lets a page be written that may be read.
        Raise = "raise from read to write",
        /// That which lets a closed page be written.
        OpenToWrite = "open to write",
        /// That which lets a page only be read that may be written.
        Downgrade = "downgrade from write to read",
        /// That which closes a page that may be read.
        CloseRead = "close what may be read",
        /// That which closes a page that may be written.
        CloseWritten = "close what may be written",
        /// A request and its answer as bare frames.
        Fetch = "fetch",
        /// The loop over all views.
        ThroughViews = "through all views",
        /// The same loop through one view.
        ThroughOne = "through one view",
    }
}

/// The times of one thing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timed {
    /// What took so long.
    pub what: Quantity,
    /// Bytes of a minipage or of the object; 0 for what has no size.
    pub bytes: usize,
    /// Nanoseconds, one by one.
    pub ns: Vec<u64>,
    /// Processor time of both ranks during all of them; 0 if it was not asked for.
    pub cpu_ns: [u64; 2],
}

impl Timed {
    fn of(what: Quantity, bytes: usize) -> Self {
        Self { what, bytes, ns: vec![], cpu_ns: [0; 2] }
    }

    /// Times one thing, the reading of the clock included.
    #[inline]
    fn time(&mut self, act: impl FnOnce()) {
        let began = clock::now();
        act();
        self.ns.push((clock::now() - began).0);
    }
}

/// What was found, by rank 0 of two.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figures {
    /// One for each thing.
    pub timed: Vec<Timed>,
    /// What is not as it should be although it works.
    pub notes: Vec<String>,
}

fn backend_of(name: &str) -> Result<Backend, Error> {
    Backend::by_name(name).ok_or_else(|| strange(format!("`{name}` is no way to protect pages")))
}

/// For programs that were not started by this one.
fn strange(remedy: String) -> Error {
    Error::from(Cause::Unavailable { what: "what a process that measures shared memory needs".to_owned(), remedy })
}

/// No wait for a bare frame lasts longer.
const FETCHING: Nanos = Nanos::from_ms(20_000);

/// What one process measures by itself.
pub(super) fn alone(plan: &DsmCell) -> Result<Figures, Error> {
    affinity::pin(plan.cpus[0])?;
    match &plan.task {
        DsmBenchmark::AtOnce { backend, rounds } => parts::at_once(backend_of(backend)?, *rounds),
        DsmBenchmark::Views { backend, bytes, views, turns } => parts::views(backend_of(backend)?, (*bytes, *views), *turns),
        DsmBenchmark::Faults { .. } | DsmBenchmark::Fetch { .. } => Err(strange("a launcher: this needs two ranks".to_owned())),
    }
}

/// This rank's part; only rank 0 has an answer.
pub(super) fn of_job(plan: &DsmCell) -> Result<Option<Figures>, Error> {
    let job = Job::join()?;
    if job.size() != 2 {
        return Err(strange(format!("two ranks, not {}", job.size())));
    }
    affinity::pin(plan.cpus[job.rank() as usize])?;
    let other = job.process(1 - job.rank())? as u32;
    let answer = match job.lanes(lanes(&plan.task))? {
        Lanes::Shm(lanes) => rank_of(lanes, &plan.task, Some(other)),
        Lanes::Ofi(lanes) => rank_of(lanes, &plan.task, Some(other)),
        Lanes::Mpi(lanes) => rank_of(lanes, &plan.task, Some(other)),
    }?;
    let rank = job.rank();
    job.leave()?;
    Ok((rank == 0).then_some(answer))
}

pub(super) fn lanes(task: &DsmBenchmark) -> u32 {
    if matches!(task, DsmBenchmark::Faults { .. }) { memory::lanes(1) } else { 1 }
}

/// `other`: the process of the other rank, if it has one of its own.
pub(super) fn rank_of<F>(lanes: Vec<F>, task: &DsmBenchmark, other: Option<u32>) -> Result<Figures, Error>
where
    F: Fabric + Send + 'static,
    <F::Cpu as Words>::Word: Send + Sync,
{
    match task {
        DsmBenchmark::Faults { bytes, backend, policy, computing, asking, pause_ns, rounds } => {
            let (computing, asking) = (*computing, *asking);
            let manner = faults::Manner { bytes: *bytes, computing, asking, pause: Nanos(*pause_ns), rounds: *rounds };
            faults::measure(lanes, manner, (backend_of(backend)?, policy), other)
        }
        DsmBenchmark::Fetch { sizes, rounds } => {
            let lane = lanes.into_iter().next().ok_or_else(|| strange("a lane".to_owned()))?;
            parts::fetch(lane, sizes, *rounds, clock::now() + FETCHING)
        }
        DsmBenchmark::AtOnce { .. } | DsmBenchmark::Views { .. } => Err(strange("to be started without a launcher".to_owned())),
    }
}
