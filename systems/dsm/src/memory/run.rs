//! A rank's part from beginning to end: its space, its server and its threads.
use super::catcher::{Catcher, Seats, take_seat};
use super::layout::{Layout, Site as Place};
use super::mapped::Mapped;
use super::observer;
use super::settings::Settings;
use super::thread::Thread;
use crate::journal::Journal;
use crate::node::{Requester, Site, Tally, serve};
use crate::protocol::{Homes, Server};
use crate::views::{Allocator, PAGE, Shape, Space, Stack};
use foregather_barrier::{Group, Kind};
use foregather_machine::{Cause, Clock, Cpu, Error, Fabric, Nanos, run_ready};
use foregather_message::{Messenger, Settings as Letters};
use foregather_thread as threads;
use foregather_wait::Chooser;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering::AcqRel};
use std::sync::{Arc, Mutex, PoisonError};

/// What came of it on one rank.
pub struct Served<F: Fabric, R> {
    /// What came of its threads, in their order.
    pub threads: Vec<Ended<R>>,
    /// What its server knows as a manager.
    pub server: Server,
    /// Where what is shared was allocated: on all ranks alike.
    pub sites: Vec<Place>,
    /// What the first thread's messages went by: for what ranks have to tell each other in the end.
    pub messenger: Messenger<F>,
}

/// What came of a thread.
#[derive(Clone, Debug)]
pub struct Ended<R> {
    /// What it gave.
    pub result: R,
    /// How long it took, from [`Thread::start_clock`] on if it called that.
    pub span: Nanos,
    /// How long it took before that.
    pub cold: Nanos,
    /// Where that time went.
    pub tally: Tally,
    /// What it did, if [`Settings::journal`] asked for that.
    pub journal: Option<Journal>,
}

/// How many lanes a rank needs for so many threads: one for its server, and two for each thread.
pub const fn lanes(threads: u32) -> u32 {
    1 + 2 * threads
}

/// Runs a program on the threads of this rank; all ranks of the job call it alike. `layout` says what is shared, by the same calls on
/// every rank; what it gives is handed to each thread.
///
/// # Errors
/// If there are not as many lanes as [`lanes`] says, the space cannot be made, or a rank is lost. What a thread cannot load or
/// store ends the process: there is no other way to say so.
///
/// # Panics
/// If a thread does.
pub fn run<F, S, R>(
    lanes: Vec<F>,
    settings: Settings,
    layout: impl FnOnce(&mut Layout) -> Result<S, Error>,
    program: impl Fn(&Thread<'_, F>, &S) -> Result<R, Error> + Sync,
) -> Result<Served<F, R>, Error>
where
    F: Fabric + Send + 'static,
    <F::Cpu as Cpu>::Word: Send + Sync,
    S: Sync,
    R: Send,
{
    let count = settings.threads;
    if lanes.len() != self::lanes(count) as usize || count == 0 {
        let needs = "one for the server and two for each thread, of which there is at least one";
        return Err(Cause::Setting { what: "the number of lanes for shared memory", needs }.into());
    }
    let (rank, ranks) = (lanes[0].rank(), lanes[0].size());
    let homes = if settings.central { Homes::central(ranks, 0)? } else { Homes::spread(ranks)? };
    let (mapped, shared, sites) = mapped(&settings, layout)?;
    let server = Server::new(homes, rank, mapped.table.minipages(), settings.locks);
    let site = Arc::new(Site::new(homes, mapped.table.minipages(), mapped.clone()));

    let mut lanes = lanes.into_iter();
    let served = lanes.next();
    let requester = |lane: F| {
        let policy = settings.policy_of(&lane);
        Requester::new(lane, &site, policy)
    };
    let seats = Arc::new(Seats::new(lanes.by_ref().take(count as usize).map(requester).collect()));
    let catcher =
        Catcher { site: Arc::clone(&site), seats: Arc::clone(&seats), table: mapped.table, observed: settings.journal > 0 };
    let serving = mapped.space.serve(Arc::new(catcher))?;

    let post = Post { lanes: Mutex::new(served.into_iter().chain(lanes).map(Some).collect()), server: Mutex::new(Some(server)) };
    let crew = Crew {
        site: &site,
        seats: &seats,
        settings,
        beside: Group::new(Kind::Central, count)?,
        working: AtomicU32::new(count),
        shared,
    };
    let ends = threads::run(
        1 + count,
        |_| None,
        |cpu, number| match number {
            0 => crew.serve(post.lane(0), post.server()).map(Part::Server),
            seat => crew.work(post.lane(seat), cpu, seat, &program).map(|part| Part::Thread(Box::new(part))),
        },
    )?;
    drop(serving);
    let (mut threads, mut server, mut messenger) = (Vec::new(), None, None);
    for end in ends {
        match end? {
            Part::Server(ended) => server = Some(ended),
            Part::Thread(part) => {
                let (ended, letters) = *part;
                threads.push(ended);
                match messenger {
                    None => messenger = Some(letters),
                    Some(_) => letters.leave(),
                }
            }
        }
    }
    // In order only if all went well: otherwise whoever waits for this rank is told that it is gone.
    (1..=count).for_each(|seat| seats.of(seat).lane().leave());
    let (server, messenger) = (server.expect("there is one server"), messenger.expect("there is a thread"));
    Ok(Served { threads, server, sites, messenger })
}

/// What came of one of a rank's threads.
enum Part<F: Fabric, R> {
    Server(Server),
    Thread(Box<(Ended<R>, Messenger<F>)>),
}

impl<F: Fabric, R: fmt::Debug> fmt::Debug for Served<F, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Served").field("threads", &self.threads).finish_non_exhaustive()
    }
}

impl<F: Fabric, R> Served<F, R> {
    /// Leaves in order; without it the others take this rank for lost. What its threads gave.
    pub fn leave(self) -> Vec<Ended<R>> {
        self.messenger.leave();
        self.threads
    }
}

/// The space, and what is shared of it.
fn mapped<S>(
    settings: &Settings,
    layout: impl FnOnce(&mut Layout) -> Result<S, Error>,
) -> Result<(Mapped, S, Vec<Place>), Error> {
    let pages = u32::try_from(settings.bytes.div_ceil(PAGE)).unwrap_or(u32::MAX);
    let allocator = Allocator::new(pages, settings.views)?;
    let shape = Shape { backend: settings.backend, most_views: settings.views.max(32), ..Shape::new(pages, settings.views) };
    let space = Arc::new(Space::new(shape)?);
    let table = Arc::clone(allocator.table());
    let mut layouts = Layout::new(allocator, Arc::clone(&space), settings.journal > 0);
    let shared = layout(&mut layouts)?;
    Ok((Mapped { space, table }, shared, layouts.sites))
}

/// What each thread takes for itself when it begins.
struct Post<F> {
    lanes: Mutex<Vec<Option<F>>>,
    server: Mutex<Option<Server>>,
}

impl<F> Post<F> {
    /// The server's lane, or that for the messages of a seat.
    fn lane(&self, seat: u32) -> F {
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        lanes[seat as usize].take().expect("each is taken once")
    }

    fn server(&self) -> Server {
        self.server.lock().unwrap_or_else(PoisonError::into_inner).take().expect("there is one server")
    }
}

/// What the threads of a rank have in common.
struct Crew<'c, F: Fabric, S> {
    site: &'c Site<F::Cpu, Mapped>,
    seats: &'c Seats<F>,
    settings: Settings,
    beside: Group<threads::Thread>,
    /// Threads that are not through.
    working: AtomicU32,
    shared: S,
}

impl<F: Fabric, S> Crew<'_, F, S> {
    fn serve(&self, lane: F, server: Server) -> Result<Server, Error> {
        let chooser = Chooser::new(self.settings.policy_of(&lane), lane.rank());
        let server = run_ready(serve(&lane, self.site, server, &chooser))?;
        lane.leave();
        Ok(server)
    }

    fn work<R>(
        &self,
        lane: F,
        cpu: threads::Thread,
        seat: u32,
        program: &impl Fn(&Thread<'_, F>, &S) -> Result<R, Error>,
    ) -> Result<(Ended<R>, Messenger<F>), Error> {
        // Whatever becomes of this thread, the servers must know when the last one is through.
        let _through = Through { crew: self, seat };
        let _stack = Stack::install()?;
        take_seat(seat);
        let letters = Letters { policy: self.settings.policy, ..Letters::default() };
        let messenger = Messenger::new(lane, letters)?;
        let began = messenger.now();
        let thread = Thread {
            site: self.site,
            seats: self.seats,
            seat,
            threads: self.settings.threads,
            ahead: self.settings.ahead,
            messenger: &messenger,
            beside: RefCell::new(self.beside.join(cpu, seat - 1)?),
            began: Cell::new(began),
        };
        if self.settings.journal > 0 {
            observer::begin(thread.number(), self.site.minipages(), self.settings.journal);
        }
        let result = program(&thread, &self.shared);
        let journal = observer::end();
        let end = Ended { result: result?, span: thread.lap(), cold: thread.began.get() - began, tally: thread.tally(), journal };
        drop(thread);
        Ok((end, messenger))
    }
}

/// Says goodbye when the last thread of the rank is through.
struct Through<'t, 'c, F: Fabric, S> {
    crew: &'t Crew<'c, F, S>,
    seat: u32,
}

impl<F: Fabric, S> Drop for Through<'_, '_, F, S> {
    fn drop(&mut self) {
        take_seat(0);
        if self.crew.working.fetch_sub(1, AcqRel) == 1 {
            // Without a rank that was lost nobody can be told, and the server learns of that itself.
            let _ = run_ready(self.crew.seats.of(self.seat).goodbye(self.crew.site));
        }
    }
}
