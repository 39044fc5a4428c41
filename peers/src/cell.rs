//! One cell by one peer: from the command line's text to the result's.
use crate::roster::{self, Barrier, PEERS, Peer};
use crate::{native, openmp, trouble::Trouble};
use foregather_bench::{Cell, Episodes};
use foregather_host::{affinity, clock};
use std::convert::Infallible;
use std::time::Duration;

/// How much longer than its span a cell may take before it is given up.
const GRACE: Duration = Duration::from_secs(60);
/// Variables beginning so change what the OpenMP runtimes do.
const OPENMP_VARIABLES: [&str; 3] = ["OMP_", "GOMP_", "KMP_"];

/// Runs the cell in `text`; the result as JSON.
pub(crate) fn run(text: &str) -> Result<String, Trouble> {
    let cell = Cell::from_arg(text).map_err(Trouble::Usage)?;
    let peer = roster::find(&cell.waiter).ok_or_else(|| {
        let names: Vec<_> = PEERS.iter().map(|peer| peer.name).collect();
        Trouble::Usage(format!("`{}` is no peer; there are {}", cell.waiter, names.join(", ")))
    })?;
    let allowed = affinity::allowed();
    if let Some(cpu) = cell.pins.iter().find(|cpu| !allowed.contains(cpu)) {
        return Err(Trouble::Usage(format!("threads cannot be pinned to processor {cpu}; they can to {allowed:?}")));
    }
    settle_environment(peer);
    clock::init();
    give_up_after(Duration::from_nanos(cell.span_ns).saturating_add(GRACE));

    let episodes = Episodes::new(&cell);
    match peer.barrier {
        Barrier::RustStd => native::rust_std(&cell, &episodes),
        Barrier::Hurdles => native::hurdles(&cell, &episodes),
        Barrier::Pthread => native::pthread(&cell, &episodes)?,
        Barrier::OpenMp(runtime) => openmp::run(runtime, &cell, &episodes)?,
    }
    let result = episodes.result().ok_or_else(|| Trouble::Failed("member 0 did not get through".to_owned()))?;
    serde_json::to_string(&result).map_err(|error| Trouble::Failed(error.to_string()))
}

/// What `rank` does, on the thread that calls it.
pub(crate) fn member(cell: &Cell, episodes: &Episodes<'_>, rank: u32, mut wait: impl FnMut()) {
    if let Some(cpu) = cell.pin(rank)
        && let Err(error) = affinity::pin(cpu)
    {
        give_up(&error.to_string());
    }
    let Ok(()) = episodes.member(rank, || {
        wait();
        Ok::<(), Infallible>(())
    });
}

/// A name always means the same settings, whatever the user's own are.
fn settle_environment(peer: &Peer) {
    let theirs = |name: &str| OPENMP_VARIABLES.iter().any(|start| name.starts_with(start));
    let names: Vec<_> = std::env::vars_os().map(|(name, _)| name).filter(|name| name.to_str().is_some_and(theirs)).collect();
    for name in names {
        // SAFETY: this process has no other thread yet.
        unsafe { std::env::remove_var(name) };
    }
    for (name, value) in peer.env {
        // SAFETY: as above.
        unsafe { std::env::set_var(name, value) };
    }
}

/// Other people's barriers know no deadline and no error: whoever cannot go on ends the process for all.
pub(crate) fn give_up(why: &str) -> ! {
    eprintln!("foregather-peers: {why}");
    // SAFETY: ends the process without running its exit handlers, which might wait for threads that never end.
    unsafe { libc::_exit(1) }
}

fn give_up_after(span: Duration) {
    std::thread::spawn(move || {
        std::thread::sleep(span);
        give_up(&format!("the cell did not end within {} s", span.as_secs()));
    });
}
