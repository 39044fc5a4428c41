//! Ranks that share memory: how they start, and where their results go.
use super::rank::Shared;
use super::state::{Link, RankState};
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

/// Runs `body` on every rank, with memory that all ranks share, and returns the results of this process's
/// ranks, in order.
///
/// `cargo add foregather --features shared`
///
/// *Threads.* Without a launcher the ranks are threads of this process, `ranks` of them: they share its own
/// memory, and `body` may borrow anything that is `Sync`. *Processes.* If a launcher has started this process
/// (`foregather run -n 4 program`, `mpiexec`, `srun`), it is one rank, the launcher sets their number,
/// `ranks` is ignored, and the result has one element. The ranks then share no memory but act as if they did:
/// a touch fetches what another rank has written. The program is the same.
///
/// ```
/// // How often does each remainder occur among the squares? Each rank counts its share.
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
/// A body's own errors become [`Error`]s by [`Error::other`]. Where ranks exchange messages rather than
/// memory, [`job`](crate::job) is cheaper under a launcher.
///
/// # Memory model
/// Elements are relaxed atomics: each of 1, 2, 4 or 8 bytes is whole, none says anything about another.
/// Several elements are whole only behind a lock or a barrier, and a barrier orders everything.
///
/// # Cost
/// Starting threads, some tens of microseconds each. Under a launcher, joining the job, and reserving a
/// quarter of the free memory, of which only the used part is taken. `FOREGATHER_SHARED=views` makes threads
/// share memory as processes do, a thousand times slower where they write the same page.
///
/// # Errors
/// The error of the first rank that fails by itself; all other ranks' waits end with an error that names that
/// rank: [`Cause::Poisoned`], [`Cause::PeerLost`] if its process has died, [`Cause::Closed`] if it has
/// returned while others still call. [`Cause::Size`] for no ranks; under a launcher the errors of
/// [`Job::join`] and the fabric.
///
/// Under a launcher, and with `FOREGATHER_SHARED=views`, a load or store that has become impossible, since a
/// rank has failed, ends the process with a line that says so: a load cannot return an error.
///
/// # Panics
/// If `body` panics on a rank of this process: the others' waits end, and when all have ended the panic goes
/// on here.
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
            Shared::run(&RankState::new(Link::Plain(&place)), body)
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

/// The room that each rank of the job has: all ranks find the same places in it.
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

/// A rank with a memory of its own, behind views; under a launcher, which learns of its failure first.
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
        let run = || Shared::run(&RankState::new(Link::Views(thread.into())), body);
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
