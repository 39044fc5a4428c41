//! Runs ranks as threads of this process, each with a space of its own, over lanes in shared memory, for the
//! tests of this crate.
mod on_ranks;

use foregather_dsm::memory::{Settings, SharedAllocator, Thread, run};
use foregather_dsm::views::Backend;
use foregather_machine::Error;
use foregather_shm::Lane;
use foregather_thread as threads;
use on_ranks::on_ranks;

pub(crate) type OfThread<'t> = Thread<'t, Lane<threads::Thread>>;

/// Runs a program on `count` ranks; returns the results of each rank's threads.
pub(crate) fn ranks<S: Sync, R: Send>(
    count: u32,
    settings: Settings,
    layout: impl Fn(&mut SharedAllocator) -> Result<S, Error> + Sync,
    program: impl Fn(&OfThread<'_>, &S) -> Result<R, Error> + Sync,
) -> Vec<R> {
    let all = on_ranks(count, settings.threads, |_, lanes| {
        let ended = run(lanes, settings, &layout, &program).unwrap().leave();
        ended.into_iter().map(|end| end.result).collect::<Vec<_>>()
    });
    all.into_iter().flatten().collect()
}

/// Returns the backends of this machine.
pub(crate) fn backends() -> Vec<Backend> {
    let (chosen, _) = Backend::chosen();
    if chosen == Backend::Userfault { vec![Backend::Userfault, Backend::Mprotect] } else { vec![Backend::Mprotect] }
}
