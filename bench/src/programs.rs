//! The programs on shared memory, over any fabric. Nothing here is generic: each program is compiled for each
//! fabric once, in this crate, and not in every crate that runs it.
//!
//! - [`Program`]: one of the five with its input. [`Program::here`]: each rank is a few threads of this
//!   process, with a space of its own. [`Program::on`]: this process is a rank of a job.

use crate::apps::is::Is;
use crate::apps::lu::Lu;
use crate::apps::sor::Sor;
use crate::apps::tsp::Tsp;
use crate::apps::water::Water;
use crate::apps::{App, AppResult, run_app};
use foregather_dsm::memory::{Settings, lanes};
use foregather_launch::Lanes;
use foregather_machine::{Address, Cause, Error};
use foregather_shm::{SegmentSpec, ShmFabric};
use foregather_thread::Thread;

/// A program with its input.
#[derive(Clone, Debug)]
pub enum Program {
    /// Integer sort of the NAS.
    Is(Is),
    /// Red-black relaxation.
    Sor(Sor),
    /// Water molecules.
    Water(Water),
    /// Factorisation in blocks.
    Lu(Lu),
    /// Travelling salesman.
    Tsp(Tsp),
}

/// Holds what the threads gave against what is right, when it is called: what was checked, or what is wrong.
pub type Proof<'p> = Box<dyn FnOnce() -> Result<String, String> + 'p>;

macro_rules! whichever {
    ($program:expr, $app:ident => $does:expr) => {
        match $program {
            Self::Is($app) => $does,
            Self::Sor($app) => $does,
            Self::Water($app) => $does,
            Self::Lu($app) => $does,
            Self::Tsp($app) => $does,
        }
    };
}

impl Program {
    /// Its name on the command line.
    pub fn name(&self) -> &'static str {
        fn name<A: App>(_: &A) -> &'static str {
            A::NAME
        }
        whichever!(self, app => name(app))
    }

    /// As [`App::settings`].
    pub fn settings(&self) -> Settings {
        whichever!(self, app => app.settings())
    }

    /// Runs the program on `ranks` ranks of this process, each with `settings.threads` threads.
    ///
    /// # Errors
    /// As [`run_app`]; [`Cause::Refused`] if a thread panics.
    pub fn here(&self, ranks: u32, settings: Settings) -> Result<(AppResult<()>, Proof<'_>), Error> {
        whichever!(self, app => Ok(to_prove(app, here(app, ranks, settings)?)))
    }

    /// Runs the program as one rank of a job. Rank 0 gets the outcome of all ranks, the others get none.
    ///
    /// # Errors
    /// As [`run_app`].
    pub fn on(&self, lanes: Lanes, settings: Settings) -> Result<Option<(AppResult<()>, Proof<'_>)>, Error> {
        whichever!(self, app => {
            let outcome = match lanes {
                Lanes::Shm(lanes) => run_app(app, lanes, settings)?,
                Lanes::Ofi(lanes) => run_app(app, lanes, settings)?,
                Lanes::Mpi(lanes) => run_app(app, lanes, settings)?,
            };
            Ok(outcome.map(|outcome| to_prove(app, outcome)))
        })
    }
}

macro_rules! of_each {
    ($($app:ident),*) => {
        $(impl From<$app> for Program {
            fn from(app: $app) -> Self {
                Self::$app(app)
            }
        })*
    };
}
of_each!(Is, Sor, Water, Lu, Tsp);

fn to_prove<A: App>(app: &A, outcome: AppResult<A::Output>) -> (AppResult<()>, Proof<'_>) {
    let (outputs, outcome) = outcome.split();
    (outcome, Box::new(move || app.validate(&outputs)))
}

fn here<A: App>(app: &A, ranks: u32, settings: Settings) -> Result<AppResult<A::Output>, Error> {
    let exchange = ShmFabric::between_threads(SegmentSpec::new(ranks, lanes(settings.threads)))?;
    let rank_of = |rank| {
        let lane = |lane| exchange.lane(Thread::current(), Address { rank, lane });
        run_app(app, (0..lanes(settings.threads)).map(lane).collect::<Result<Vec<_>, Error>>()?, settings)
    };
    let ends: Vec<_> = std::thread::scope(|scope| {
        let rank_of = &rank_of;
        let started: Vec<_> = (0..ranks).map(|rank| scope.spawn(move || rank_of(rank))).collect();
        started.into_iter().map(std::thread::ScopedJoinHandle::join).collect()
    });
    let mut first = None;
    for end in ends {
        let panicked = |_| Error::from(Cause::Refused { why: "a thread of a rank panicked".to_owned() });
        first = first.or(end.map_err(panicked)??);
    }
    Ok(first.expect("there is a rank 0"))
}
