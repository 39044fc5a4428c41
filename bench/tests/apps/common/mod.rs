//! Runs an application on ranks that are threads of this process, each with a space of its own.
use foregather_bench::apps::{App, run_app};
use foregather_dsm::memory::{Settings, lanes};
use foregather_dsm::views::Backend;
use foregather_machine::Address;
use foregather_shm::{SegmentSpec, ShmFabric};
use foregather_thread::Thread;
use foregather_wait::Policy;
use std::sync::Arc;

/// Both backends, or the one that this machine has.
pub(crate) fn backends() -> Vec<Backend> {
    let (chosen, _) = Backend::chosen();
    if chosen == Backend::Userfault { vec![Backend::Userfault, Backend::Mprotect] } else { vec![Backend::Mprotect] }
}

/// Runs it on `ranks` ranks of `threads` threads, and returns what was proved.
pub(crate) fn prove<A: App>(app: &A, ranks: u32, threads: u32, backend: Backend) -> Result<String, String> {
    let settings = Settings { threads, backend: Some(backend), policy: Some(Policy::Block), ..app.settings() };
    let exchange = ShmFabric::between_threads(SegmentSpec::new(ranks, lanes(threads))).unwrap();
    let outcome = std::thread::scope(|scope| {
        let start = |rank| {
            let exchange = Arc::clone(&exchange);
            scope.spawn(move || {
                let lane = |lane| exchange.lane(Thread::current(), Address { rank, lane }).unwrap();
                let lanes = (0..lanes(threads)).map(lane).collect();
                run_app(app, lanes, settings).unwrap()
            })
        };
        let started: Vec<_> = (0..ranks).map(start).collect();
        let ends: Vec<_> = started.into_iter().map(|rank| rank.join().unwrap()).collect();
        ends.into_iter().flatten().next().unwrap()
    });
    let (outputs, _) = outcome.split();
    app.validate(&outputs)
}
