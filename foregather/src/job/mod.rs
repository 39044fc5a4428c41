//! Jobs: one function on every rank, on threads of this process or on processes that a launcher has started.
//!
//! - this file: [`job`], how ranks start and end. `communicator`: the handle; `verbs`: its operations, once
//!   for every fabric; `call`: their names in error messages, and their timeouts.
//! - `link`: the fabrics. `ends`: which error is reported. `recorded`: what a rank records for the simulator.
mod call;
mod communicator;
mod link;
mod recorded;
mod verbs;

pub use communicator::Communicator;

use crate::ends::{self, Panic};
use core::cell::{Cell, RefCell};
use foregather_launch::{Lanes, Launcher, RankRecorder, Session, detect};
use foregather_machine::{Address, Cause, Error};
use foregather_shm::{SegmentSpec, ShmFabric};
use link::Link;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, PoisonError};

/// Runs `body` on every rank of a job, and returns when all of them have finished.
///
/// ```
/// use foregather::{Error, job};
///
/// fn main() -> Result<(), Error> {
///     // Round a ring: each rank sends its number to the next one, and gets that of the one before.
///     let got = job(3, |me| {
///         let (next, before) = ((me.rank() + 1) % me.size(), (me.rank() + me.size() - 1) % me.size());
///         me.send(next, &[me.rank()])?;
///         let mut from = [0];
///         me.receive(before, &mut from)?;
///         Ok(from[0])
///     })?;
///     // Of the ranks of this process: all of them without a launcher, one under it.
///     println!("{got:?}");
///     Ok(())
/// }
/// ```
///
/// `cargo add foregather --features job`
///
/// **Without a launcher** the ranks are `ranks` new threads of this process, never forked processes, so
/// `body` may borrow anything that is `Sync`. The result contains the results of all ranks, in rank order.
///
/// **Under a launcher** (`foregather run -n 3 program`, `mpiexec`, `mpirun`, `srun`, `prterun`) this process
/// is one rank, and `body` runs on the calling thread. The launcher sets the number of ranks and `ranks` is
/// ignored, so use [`Communicator::size`]. Only the result of *this* rank is returned; send data that other
/// ranks need. The first call joins the job, later calls continue it, in the same order on all ranks, and the
/// process leaves the job when it exits. `FOREGATHER_LAUNCHER=none` ignores all launchers: set it in an
/// interactive shell started by `srun`, which is itself a step of one rank. A process that a rank of
/// `foregather run` starts is not a rank. A rank that does not respond for `FOREGATHER_PEER_TIMEOUT` (default
/// `2s`) is reported lost; with `off`, only a dead rank is.
///
/// ```text
/// $ ring                           $ foregather run -n 3 ring       $ mpiexec -n 3 ring
/// [2, 0, 1]                        [2]                              [2]
///                                  [0]                              [0]
///                                  [1]                              [1]
/// ```
///
/// Convert a body's own errors with [`Error::other`]: `let file = File::open(path).map_err(Error::other)?;`.
/// A program that needs a certain number of ranks should check [`Communicator::size`] first.
///
/// A call of `job` inside a `body` returns an error, with or without a launcher.
///
/// # Costs
/// Threads: about 0.1 ms per rank to start. Processes: some milliseconds to join, at the first call; at the
/// end of each call one message to rank 0 and back, because a job that fails on one rank fails on all.
///
/// # Errors
/// The error of the first rank that failed on its own. Other ranks fail as a consequence: their waits return
/// [`Cause::Poisoned`] with its rank, or [`Cause::Closed`] if it returned `Ok` while they needed it. Under a
/// launcher, the error of another rank is [`Cause::Elsewhere`], or [`Cause::PeerLost`] if its process has
/// died. [`Cause::Size`] if `ranks` is 0, [`Cause::Refused`] inside another job or if the job cannot be
/// joined, [`Cause::Os`] if there are too few threads or too little memory.
///
/// # Panics
/// If `body` panics: the other ranks fail at once with its rank, and the first panic resumes in the caller
/// after all of them have finished.
pub fn job<R: Send>(ranks: u32, body: impl Fn(&Communicator) -> Result<R, Error> + Sync) -> Result<Vec<R>, Error> {
    if ranks == 0 {
        return Err(Cause::Size { what: "a job", size: 0, needs: "at least one rank" }.into());
    }
    if INSIDE.get() {
        let why = "this thread is a rank of a job already: end that job first".to_owned();
        return Err(Cause::Refused { why }.into());
    }
    if detect()?.launcher == Launcher::Alone { on_threads(ranks, &body) } else { as_one_rank(&body).map(|result| vec![result]) }
}

thread_local! {
    /// Whether this thread is inside the body of a job.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

fn on_threads<R: Send>(ranks: u32, body: &(impl Fn(&Communicator) -> Result<R, Error> + Sync)) -> Result<Vec<R>, Error> {
    let fabric = ShmFabric::between_threads(SegmentSpec::new(ranks, 1))?;
    let first = Mutex::new(None);
    let ends = foregather_thread::run(
        ranks,
        |_| None,
        |cpu, rank| {
            let lane = fabric.lane(cpu, Address { rank, lane: 0 })?;
            let panicked = |panic| {
                first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(panic);
            };
            run_body(Communicator { link: Link::Threads(verbs::messenger(lane)?), recorder: None }, body, panicked, |_| ())
        },
    )?;
    match first.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(panic) => resume_unwind(panic),
        None => ends::of_threads(ends),
    }
}

fn as_one_rank<R>(body: &impl Fn(&Communicator) -> Result<R, Error>) -> Result<R, Error> {
    let session = Session::begin()?;
    let link = match session.lanes(1)? {
        Lanes::Shm(lanes) => only(lanes).and_then(verbs::messenger).map(Link::Processes)?,
        Lanes::Ofi(lanes) => only(lanes).and_then(verbs::messenger).map(Link::Cluster)?,
        Lanes::Mpi(lanes) => only(lanes).and_then(verbs::messenger).map(Link::Mpi)?,
    };
    let mut first = None;
    let panicked = |panic| {
        ends::report_panic(&session);
        first = Some(panic);
    };
    let recorder = RankRecorder::begin(session.rank())?.map(RefCell::new);
    let mine = run_body(Communicator { link, recorder }, body, panicked, |error| ends::report(&session, error));
    ends::of_this_rank(session, mine, first)
}

fn only<L>(lanes: Vec<L>) -> Result<L, Error> {
    lanes.into_iter().next().ok_or_else(|| Cause::Setting { what: "a job without lanes", needs: "one" }.into())
}

/// Runs the body of a rank and reports its end to the others at once. `failing` is called before they can
/// learn of a failure.
fn run_body<R>(
    me: Communicator,
    body: &impl Fn(&Communicator) -> Result<R, Error>,
    panicked: impl FnOnce(Panic),
    failing: impl FnOnce(&Error),
) -> Result<R, Error> {
    INSIDE.set(true);
    let end = catch_unwind(AssertUnwindSafe(|| body(&me)));
    INSIDE.set(false);
    let rank = me.rank();
    let Communicator { link, recorder } = me;
    let result = end.unwrap_or_else(|panic| {
        panicked(panic);
        Err(ends::panicked(rank))
    });
    let recorded = recorder.map_or(Ok(()), |recorder| recorder.into_inner().end());
    let result = result.and_then(|result| recorded.map(|()| result));
    match &result {
        Ok(_) => link.leave(),
        Err(error) => {
            failing(error);
            link.fail(error);
        }
    }
    result
}
