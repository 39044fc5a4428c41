//! Peers that are called from threads of this program.
use crate::member::{give_up, member};
use crate::peer_error::PeerError;

use foregather_bench::teams::{TeamCell, measure};
use foregather_bench::{BarrierCell, CellResult, Episodes};
use foregather_host::pthread::PthreadBarrier;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

/// One thread a member, each with its own way to wait.
fn on_threads<W: FnMut() + Send>(cell: &BarrierCell, episodes: &Episodes<'_>, mut wait: impl FnMut() -> W) {
    // All are made before the first is used: some barriers need that.
    let waits: Vec<W> = (0..cell.threads).map(|_| wait()).collect();
    thread::scope(|threads| {
        for (rank, wait) in (0..).zip(waits) {
            let started = thread::Builder::new().spawn_scoped(threads, move || member(cell, episodes, rank, wait));
            if let Err(error) = started {
                give_up(&format!("thread {rank} of {} cannot be started: {error}", cell.threads));
            }
        }
    });
}

pub(crate) fn hurdles(cell: &BarrierCell, episodes: &Episodes<'_>) {
    let barrier = hurdles::Barrier::new(cell.threads as usize);
    on_threads(cell, episodes, || {
        let mut barrier = barrier.clone();
        move || {
            barrier.wait();
        }
    });
}

pub(crate) fn pthread(cell: &BarrierCell, episodes: &Episodes<'_>) -> Result<(), PeerError> {
    let barrier = PthreadBarrier::new(cell.threads).map_err(|error| PeerError::Failed(error.to_string()))?;
    on_threads(cell, episodes, || || barrier.wait());
    Ok(())
}

/// Regions between two barriers: workers wait at the first one for the next region.
pub(crate) fn regions(cell: &TeamCell) -> Result<CellResult, PeerError> {
    let barrier = PthreadBarrier::new(cell.threads).map_err(|error| PeerError::Failed(error.to_string()))?;
    let (over, body) = (AtomicBool::new(false), cell.body());
    let region = || {
        barrier.wait();
        let goes_on = !over.load(Relaxed);
        if goes_on {
            body();
            barrier.wait();
        }
        goes_on
    };
    Ok(thread::scope(|threads| {
        for rank in 1..cell.threads {
            let started = thread::Builder::new().spawn_scoped(threads, || while region() {});
            if let Err(error) = started {
                give_up(&format!("thread {rank} of {} cannot be started: {error}", cell.threads));
            }
        }
        let result = measure(cell, |_| {
            region();
        });
        over.store(true, Relaxed);
        barrier.wait();
        result
    }))
}
