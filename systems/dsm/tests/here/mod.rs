//! Runs ranks as threads of this process, each with a space of its own, over lanes in shared memory, for the
//! tests of this crate.
use foregather_dsm::memory::{Settings, SharedAllocator, Thread, lanes, run};
use foregather_dsm::views::Backend;
use foregather_machine::{Address, Error};
use foregather_shm::{Lane, SegmentSpec, ShmFabric};
use foregather_thread as threads;
use std::sync::Arc;

pub(crate) type OfThread<'t> = Thread<'t, Lane<threads::Thread>>;

/// Runs a program on `count` ranks; returns the results of each rank's threads.
pub(crate) fn ranks<S: Sync, R: Send>(
    count: u32,
    settings: Settings,
    layout: impl Fn(&mut SharedAllocator) -> Result<S, Error> + Sync,
    program: impl Fn(&OfThread<'_>, &S) -> Result<R, Error> + Sync,
) -> Vec<R> {
    let exchange = ShmFabric::between_threads(SegmentSpec::new(count, lanes(settings.threads))).unwrap();
    let (layout, program) = (&layout, &program);
    std::thread::scope(|scope| {
        let start = |rank| {
            let exchange = Arc::clone(&exchange);
            scope.spawn(move || {
                let lane = |lane| exchange.lane(threads::Thread::current(), Address { rank, lane }).unwrap();
                let all = (0..lanes(settings.threads)).map(lane).collect();
                run(all, settings, layout, program).unwrap().leave().into_iter().map(|end| end.result).collect::<Vec<_>>()
            })
        };
        let started: Vec<_> = (0..count).map(start).collect();
        started.into_iter().flat_map(|rank| rank.join().unwrap()).collect()
    })
}

/// Returns the backends of this machine.
pub(crate) fn backends() -> Vec<Backend> {
    let (chosen, _) = Backend::chosen();
    if chosen == Backend::Userfault { vec![Backend::Userfault, Backend::Mprotect] } else { vec![Backend::Mprotect] }
}
