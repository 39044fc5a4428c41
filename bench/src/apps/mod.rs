//! The programs on shared memory, wherever their ranks are.
//!
//! - [`here`]: each rank is a few threads of this process, with a space of its own.
use foregather_apps::{App, Outcome, run_app};
use foregather_dsm::memory::{Settings, lanes};
use foregather_machine::{Address, Cause, Error};
use foregather_shm::{SegmentSpec, ShmFabric};
use foregather_thread::Thread;

/// Runs a program on so many ranks of this process, each of `settings.threads` threads.
///
/// # Errors
/// As [`run_app`]; [`Cause::Refused`] if a thread panics.
pub fn here<A: App>(app: &A, ranks: u32, settings: Settings) -> Result<Outcome<A::Output>, Error> {
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
