//! Threads of this process as ranks, with lanes in shared memory between them.
use foregather_dsm::memory::lanes;
use foregather_machine::Address;
use foregather_shm::{Lane, SegmentSpec, ShmFabric};
use foregather_thread::Thread;
use std::sync::Arc;

/// Runs `body` for each of `count` ranks, with its number and the lanes of `threads` threads; returns the
/// results in the order of the ranks.
pub(crate) fn on_ranks<T: Send>(count: u32, threads: u32, body: impl Fn(u32, Vec<Lane<Thread>>) -> T + Sync) -> Vec<T> {
    let exchange = ShmFabric::between_threads(SegmentSpec::new(count, lanes(threads))).unwrap();
    std::thread::scope(|scope| {
        let start = |rank| {
            let (exchange, body) = (Arc::clone(&exchange), &body);
            scope.spawn(move || {
                let lane = |lane| exchange.lane(Thread::current(), Address { rank, lane }).unwrap();
                body(rank, (0..lanes(threads)).map(lane).collect())
            })
        };
        let started: Vec<_> = (0..count).map(start).collect();
        started.into_iter().map(|rank| rank.join().unwrap()).collect()
    })
}
