//! Starts ranks that share memory, and collects their results.
use super::rank::Shared;
use super::state::{Link, RankLocks};
use super::views::{Views, settings};
use crate::ends;
use foregather_dsm::memory::local::RankMeeting;
use foregather_dsm::memory::{Ended, Thread, lanes, run};
use foregather_dsm::views::Room;
use foregather_host::settings as asked;
use foregather_launch::{Job, Lanes, Launcher, Session, detect};
use foregather_machine::{Address, Cause, Error, Fabric, Words};
use foregather_shm::{SegmentSpec, ShmFabric};
use foregather_thread as threads;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Runs `body` on every rank, with memory that all ranks share. Returns the results of this process's ranks,
/// in rank order.
///
/// `cargo add foregather --features shared`
///
/// **Without a launcher** the ranks are `ranks` threads of this process. They share its memory, and `body`
/// may borrow anything that is `Sync`. **Under a launcher** (`foregather run -n 4 program`, `mpiexec`,
/// `srun`) this process is one rank. The launcher sets the number of ranks, `ranks` is ignored, and the
/// result has one element. The ranks have separate memories, but the program is the same: the first access
/// fetches the data that another rank has written.
///
/// ```
/// // Counts how often each remainder occurs among the squares. Each rank counts its share.
/// let counts = foregather::shared(4, |me| {
///     let bins = me.locked::<[u64; 8]>()?;
///     let mut own = [0; 8];
///     for number in me.share(10_000) {
///         own[number * number % 8] += 1;
///     }
///     bins.with(|bins| bins.iter_mut().zip(own).for_each(|(bin, own)| *bin += own))?;
///     me.barrier()?;
///     bins.get()
/// })?;
/// assert_eq!(counts, [[2_500, 5_000, 0, 0, 2_500, 0, 0, 0]; 4]);
/// # Ok::<(), foregather::Error>(())
/// ```
///
/// Convert a body's own errors with [`Error::other`]. If ranks can exchange messages instead of sharing
/// memory, [`job`](crate::job) is cheaper under a launcher.
///
/// # Memory model
/// Elements are relaxed atomics: an element of 1, 2, 4 or 8 bytes never tears, and does not order accesses to
/// other elements. Accesses to several elements may tear unless a lock or a barrier separates them. A barrier
/// orders all accesses.
///
/// # Cost
/// Without a launcher: starting threads, some tens of microseconds each. Under a launcher: joining the job,
/// and reserving a quarter of the free memory as address space, of which only pages that are used take
/// memory. With `FOREGATHER_SHARED=views`, threads share memory in the same way as processes, which is a
/// thousand times slower if they write the same page.
///
/// # Errors
/// The error of the first rank that failed on its own. The waits of all other ranks fail with an error that
/// names it: [`Cause::Poisoned`], [`Cause::PeerLost`] if its process has died, [`Cause::Closed`] if it
/// returned while others still make collective calls. [`Cause::Size`] if `ranks` is 0; under a launcher, also
/// the errors of [`Job::join`] and of the fabric.
///
/// Under a launcher, and with `FOREGATHER_SHARED=views`, a load or store that can no longer succeed because a
/// rank has failed prints a message and ends the process: a load cannot return an error.
///
/// # Panics
/// If `body` panics on a rank of this process: the waits of the other ranks fail, and the panic resumes here
/// after all of them have finished.
pub fn shared<R: Send>(ranks: u32, body: impl Fn(&Shared<'_>) -> Result<R, Error> + Sync) -> Result<Vec<R>, Error> {
    if detect()?.launcher != Launcher::Alone {
        return as_one_rank(&body).map(|result| vec![result]);
    }
    match asked::shared().as_deref() {
        None | Some("" | "plain") => of_threads(ranks, &body),
        Some("views") => of_threads_behind_views(ranks, &body),
        Some(other) => {
            let why = format!("FOREGATHER_SHARED should be `plain` or `views`, and is `{}`", other.escape_debug());
            Err(Cause::Refused { why }.into())
        }
    }
}

fn of_threads<R: Send>(ranks: u32, body: &(impl Fn(&Shared<'_>) -> Result<R, Error> + Sync)) -> Result<Vec<R>, Error> {
    let meeting = RankMeeting::new(ranks)?;
    let ends = threads::run(
        ranks,
        |_| None,
        |cpu, rank| {
            let place = meeting.join(cpu, rank)?;
            Shared::run(&RankLocks::new(Link::Plain(&place)), body)
        },
    )?;
    ends::of_threads(ends)
}

fn of_threads_behind_views<R: Send>(
    ranks: u32,
    body: &(impl Fn(&Shared<'_>) -> Result<R, Error> + Sync),
) -> Result<Vec<R>, Error> {
    let fabric = ShmFabric::between_threads(SegmentSpec::new(ranks, lanes(1)))?;
    let room = Room::of(ranks, None);
    let ends = threads::run(
        ranks,
        |_| None,
        |cpu, rank| {
            let lane = |lane| fabric.lane(cpu, Address { rank, lane });
            behind_views((0..lanes(1)).map(lane).collect::<Result<_, _>>()?, room, body, None)
        },
    )?;
    ends::of_threads(ends)
}

fn as_one_rank<R: Send>(body: &(impl Fn(&Shared<'_>) -> Result<R, Error> + Sync)) -> Result<R, Error> {
    let session = Session::begin()?;
    let run = || {
        let room = agreed(&session)?;
        match session.lanes(lanes(1))? {
            Lanes::Shm(lanes) => behind_views(lanes, room, body, Some(&session)),
            Lanes::Ofi(lanes) => behind_views(lanes, room, body, Some(&session)),
            Lanes::Mpi(lanes) => behind_views(lanes, room, body, Some(&session)),
        }
    };
    let mut first = None;
    let mine = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        first = Some(panic);
        Err(ends::panicked(session.rank()))
    });
    ends::of_this_rank(session, mine, first)
}

/// Returns the memory that every rank of the job can reserve, so that all ranks allocate at the same offsets.
fn agreed(job: &Job) -> Result<Room, Error> {
    let own = Room::of(1, None);
    let mut least = own;
    let cards = job.exchange(&[own.bytes as u64, own.views.into()].map(u64::to_le_bytes).concat())?;
    for (from, card) in (0..).zip(cards) {
        let (words, rest) = card.as_chunks::<8>();
        let ([bytes, views], []) = (words, rest) else {
            return Err(Cause::ProtocolViolation { from, what: "a card that does not say how much it can share" }.into());
        };
        least.bytes = least.bytes.min(u64::from_le_bytes(*bytes) as usize);
        least.views = least.views.min(u64::from_le_bytes(*views) as u32);
    }
    Ok(least)
}

/// Runs a rank with a memory of its own. Under a launcher, a failure is reported to the launcher first.
fn behind_views<F, R>(
    lanes: Vec<F>,
    room: Room,
    body: &(impl Fn(&Shared<'_>) -> Result<R, Error> + Sync),
    session: Option<&Session>,
) -> Result<R, Error>
where
    F: Fabric + Send + 'static,
    <F::Cpu as Words>::Word: Send + Sync,
    for<'a> Views<'a>: From<&'a Thread<'a, F>>,
    R: Send,
{
    let program = |thread: &Thread<'_, F>, (): &()| {
        let run = || Shared::run(&RankLocks::new(Link::Views(thread.into())), body);
        let Some(session) = session else { return run() };
        let end = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
            ends::report_panic(session);
            resume_unwind(panic)
        });
        end.inspect_err(|error| ends::report(session, error))
    };
    let served = run(lanes, settings(room), |_| Ok(()), program)?;
    let ended = served.leave().into_iter().next();
    ended.map(|Ended { result, .. }| result).ok_or_else(|| Cause::Setting { what: "a rank without threads", needs: "one" }.into())
}
