//! The place of the calling thread, which it is bound to.
//!
//! The program's first thread is bound to the first place when it first asks for its place, or opens a
//! region; so a process that never does either is left alone. A member takes its place when it enters a
//! region, and keeps it until another region sends it elsewhere. Its mask is then not the one that it came
//! with, so it is not moved to balance a team (race 8 of `core/wait/src/adaptive/README.md`): a bound thread
//! stays within its place. The opener of a region stays where it is.
use crate::places::PlacePartition;
use crate::settings::settings;
use core::cell::Cell;
use foregather_host::{affinity, usage};

/// A thread's place, as far as it has been asked for.
#[derive(Clone, Copy)]
enum ThreadPlace {
    Unasked,
    None,
    At(u32),
}

thread_local! {
    static PLACE: Cell<ThreadPlace> = const { Cell::new(ThreadPlace::Unasked) };
}

/// The place that the calling thread is bound to; `None` if it is not.
pub fn place() -> Option<u32> {
    match PLACE.get() {
        ThreadPlace::At(place) => Some(place),
        ThreadPlace::None => None,
        ThreadPlace::Unasked => {
            let is_first = usage::this_thread() == usage::this_process();
            if is_first && all_places().is_some() {
                go(0)
            } else {
                PLACE.set(ThreadPlace::None)
            }
            place()
        }
    }
}

/// All places; `None` if threads are not bound.
pub(crate) fn all_places() -> Option<PlacePartition> {
    let count = settings().places.places.len() as u32;
    (count > 0).then_some(PlacePartition { first: 0, count })
}

/// Binds the calling thread to a place, unless it is there.
pub(crate) fn go(place: u32) {
    if matches!(PLACE.get(), ThreadPlace::At(here) if here == place) {
        return;
    }
    // Processors that have gone since the start leave the thread where it is.
    let cpus = settings().places.places.get(place as usize);
    let went = cpus.is_some_and(|cpus| affinity::set(cpus).is_ok());
    PLACE.set(if went { ThreadPlace::At(place) } else { ThreadPlace::None });
}
