//! The body of every member of a peer's team, and how a member that cannot go on ends the process.
use foregather_bench::{BarrierCell, Episodes};
use foregather_host::affinity;
use std::convert::Infallible;
use std::time::Duration;

/// The body of `rank`, on the thread that calls it.
pub(crate) fn member(cell: &BarrierCell, episodes: &Episodes<'_>, rank: u32, mut wait: impl FnMut()) {
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

/// These barriers have no deadlines and no errors: a member that cannot go on ends the process for all.
pub(crate) fn give_up(why: &str) -> ! {
    eprintln!("foregather-peers: {why}");
    // SAFETY: ends the process without running its exit handlers, which might wait for threads that never
    // end.
    unsafe { libc::_exit(1) }
}

/// Gives up after `span`, whatever the other threads do.
pub(crate) fn give_up_after(span: Duration) {
    std::thread::spawn(move || {
        std::thread::sleep(span);
        give_up(&format!("the cell did not end within {} s", span.as_secs()));
    });
}
