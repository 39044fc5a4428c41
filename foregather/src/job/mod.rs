//! Jobs: one function on every rank, on threads of this process or on processes that a launcher has started.
//!
//! - this file: [`job`], how ranks begin and end. [`rank`]: the handle; [`verbs`]: its operations, once for
//!   every fabric; [`call`]: their names in errors, and their timeouts.
//! - [`link`]: the fabrics. [`ends`]: which error is reported.
mod call;
mod communicator;
mod link;
mod verbs;

pub use communicator::Communicator;

use crate::ends::{self, Panic};
use core::cell::Cell;
use foregather_launch::{Lanes, Launcher, Session, detect};
use foregather_machine::{Address, Cause, Error};
use foregather_shm::{SegmentSpec, ShmFabric};
use link::Link;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, PoisonError};

/// Runs `body` on every rank of a job, and returns when it has ended on all of them.
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
/// **Without a launcher** the ranks are `ranks` new threads of this process, never forks, so `body` may
/// borrow anything. The results of all of them are returned, by rank.
///
/// **Under a launcher** (`foregather run -n 3 program`, `mpiexec`, `mpirun`, `srun`, `prterun`) this process
/// is one rank, on the calling thread. The launcher sets the number of ranks, and `ranks` is ignored, so ask
/// [`Communicator::size`]. Only the result of *this* rank is returned: send others what they should have.
/// The first call joins the job, later ones go on with it, in the same order on all ranks, and the end of
/// the process leaves it. `FOREGATHER_LAUNCHER=none` switches launchers off: set it in an interactive
/// shell that `srun` has started, which is itself a step of one rank. A process that a rank of
/// `foregather run` starts is no rank. A rank that stands still for `FOREGATHER_PEER_TIMEOUT` (`2s`)
/// counts as lost; with `off` only a dead one does.
///
/// ```text
/// $ ring                           $ foregather run -n 3 ring       $ mpiexec -n 3 ring
/// [2, 0, 1]                        [2]                              [2]
///                                  [0]                              [0]
///                                  [1]                              [1]
/// ```
///
/// A body's own errors become [`Error`]s by [`Error::other`]:
/// `let file = File::open(path).map_err(Error::other)?;`. A program that needs a certain number of ranks
/// compares [`Communicator::size`] with it first.
///
/// A call within a `body` is refused, with or without a launcher.
///
/// # Costs
/// Threads: their start (about 0.1 ms a rank). Processes: some milliseconds to meet, the first time; at the
/// end of each call one message to rank 0 and back, since a job that fails on one rank fails on all.
///
/// # Errors
/// The error of the first rank that failed by itself. Others fail because of it: their waits end with
/// [`Cause::Poisoned`] by its rank, or with [`Cause::Closed`] if it returned `Ok` while they needed it. Under
/// a launcher the error of another rank is [`Cause::Elsewhere`], and [`Cause::PeerLost`] if its process has
/// died. [`Cause::Size`] for no rank at all, [`Cause::Refused`] within another job or if the job cannot be
/// joined, [`Cause::Os`] if there are too few threads or too little memory.
///
/// # Panics
/// If `body` panics: the others fail at once and blame its rank; the first panic goes on in the caller after
/// all have ended.
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
    /// Whether this thread is within the body of a job.
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
            run_body(Communicator(Link::Threads(verbs::messenger(lane)?)), body, panicked, |_| ())
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
    let mine = run_body(Communicator(link), body, panicked, |error| ends::report(&session, error));
    ends::of_this_rank(session, mine, first)
}

fn only<L>(lanes: Vec<L>) -> Result<L, Error> {
    lanes.into_iter().next().ok_or_else(|| Cause::Setting { what: "a job without lanes", needs: "one" }.into())
}

/// Runs the body of a rank to its end, and tells the others of that at once. `failing` is called before they
/// can know.
fn run_body<R>(
    me: Communicator,
    body: &impl Fn(&Communicator) -> Result<R, Error>,
    panicked: impl FnOnce(Panic),
    failing: impl FnOnce(&Error),
) -> Result<R, Error> {
    INSIDE.set(true);
    let end = catch_unwind(AssertUnwindSafe(|| body(&me)));
    INSIDE.set(false);
    let result = end.unwrap_or_else(|panic| {
        panicked(panic);
        Err(ends::panicked(me.rank()))
    });
    match &result {
        Ok(_) => me.0.leave(),
        Err(error) => {
            failing(error);
            me.0.fail(error);
        }
    }
    result
}
