//! One cell by one peer: from the command line's text to the result's.
use crate::roster::{self, Barrier, PEERS};
use crate::{member::give_up_after, native, openmp, peer_error::PeerError};
use foregather_bench::{BarrierCell, Cell, CellResult, Episodes, barriers, side_by_side};
use foregather_host::{affinity, clock};
use std::time::Duration;

/// How much longer than its span a cell may take before it is given up.
const GRACE: Duration = Duration::from_secs(60);

/// Runs the cell in `text`; the result as JSON.
pub(crate) fn run(text: &str) -> Result<String, PeerError> {
    let cell = BarrierCell::from_arg(text).map_err(PeerError::Usage)?;
    let peer = roster::find(&cell.waiter).ok_or_else(|| {
        let names: Vec<_> = PEERS.iter().map(|peer| peer.name).collect();
        PeerError::Usage(format!("`{}` is no peer; there are {}", cell.waiter, names.join(", ")))
    })?;
    let allowed = affinity::allowed();
    if let Some(cpu) = cell.pins.iter().find(|cpu| !allowed.contains(cpu)) {
        return Err(PeerError::Usage(format!("threads cannot be pinned to processor {cpu}; they can to {allowed:?}")));
    }
    peer.settle_environment();
    clock::init();
    give_up_after(Duration::from_nanos(cell.span_ns).saturating_add(GRACE));

    let result = side_by_side(cell.teams, || {
        let episodes = Episodes::new(&cell);
        match peer.barrier {
            Barrier::RustStd => return Ok(barriers::rust_std(&cell)?),
            Barrier::Hurdles => native::hurdles(&cell, &episodes),
            Barrier::Pthread => native::pthread(&cell, &episodes)?,
            Barrier::OpenMp(runtime) => openmp::run(runtime, &cell, &episodes)?,
        }
        episodes.result().ok_or_else(|| PeerError::Failed("member 0 did not get through".to_owned()))
    })?;
    json(&result)
}

fn json(result: &CellResult) -> Result<String, PeerError> {
    serde_json::to_string(result).map_err(|error| PeerError::Failed(error.to_string()))
}
