//! Constructs that divide a region's work among its members: loops, sections, parts in order, and what one
//! member does for all.
use crate::here::{self, LoopPlace, threads_in_regions};
use crate::icv::Kind;
use crate::ring::WordsFor;
use crate::tasking;
use crate::trip::Trip;
use core::ffi::c_void;
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering::*};
use foregather_host::per_thread;
use std::sync::Arc;

/// The calling thread meets a loop, or sections, that all members of its region share.
#[inline]
pub fn begin(trip: Trip) {
    let way = here::way();
    here::go(LoopPlace { loops: way.loops.wrapping_add(1), trip, round: 0, chunk: (0, 0), ..way });
    if let Some(seat) = here::seat() {
        let slot = seat.crew.slot(way.loops);
        seat.wait(threads_in_regions, "loops of slower members", || slot.is_for(way.loops));
    }
}

/// `bytes` of zeros, in words, that the members share for the loop that the calling thread has begun.
pub fn shared_memory(bytes: usize) -> Arc<[AtomicU64]> {
    let count = bytes.div_ceil(size_of::<u64>());
    match here::seat() {
        Some(seat) => seat.crew.words(here::way().loops.wrapping_sub(1), WordsFor::Program, count),
        None => (0..count).map(|_| AtomicU64::new(0)).collect(),
    }
}

/// [`shared_memory`] that stays for a little longer than the loop.
pub fn memory(bytes: usize) -> *mut c_void {
    let words = shared_memory(bytes);
    let at = words.as_ptr().cast_mut().cast();
    MEMORY.with(|here| *here.borrow_mut() = Some(words));
    at
}

per_thread! {
    /// The calling thread's share of the last such memory.
    static MEMORY: Option<Arc<[AtomicU64]>> = None;
}

/// The next iterations of the calling thread, in the program's own numbers: from the first to before the
/// last. `None`: it is done with the loop.
#[inline]
pub fn next() -> Option<(u64, u64)> {
    let way = here::way();
    take_at_once(&way).unwrap_or_else(|| take(way, false)).map(|chunk| way.trip.bounds(&chunk))
}

/// The next chunk of a loop that is dealt one by one, in no order, to several members: nothing is noted of
/// it. `None` for other loops.
#[inline]
fn take_at_once(way: &LoopPlace) -> Option<Option<Range<u64>>> {
    let LoopPlace { trip, loops, .. } = way;
    if trip.kind != Kind::Dynamic || trip.ordered {
        return None;
    }
    here::of_seat(|seat| {
        if seat.loop_is_cancelled() { None } else { seat.crew.slot(loops.wrapping_sub(1)).take(trip, false, seat.size()) }
    })
}

/// The next section of the calling thread, counted from 1 on. `None`: there is none left.
#[inline]
pub fn next_section() -> Option<u32> {
    let way = here::way();
    take(way, true).map(|chunk| way.trip.bounds(&chunk).0 as u32)
}

fn take(way: LoopPlace, one_by_one: bool) -> Option<Range<u64>> {
    let LoopPlace { trip, round, .. } = way;
    let Some(seat) = here::seat() else {
        here::go(LoopPlace { round: round + 1, ..way });
        return if one_by_one { trip.chunk(round) } else { (round == 0 && trip.count > 0).then_some(0..trip.count) };
    };
    if trip.ordered {
        pass_on(way);
    }
    if seat.loop_is_cancelled() {
        return None;
    }
    let (size, rank) = (seat.size(), here::task().rank);
    let chunk = match trip.kind {
        Kind::Static | Kind::Auto => trip.dealt(round, rank, size),
        Kind::Dynamic | Kind::Guided => seat.crew.slot(way.loops.wrapping_sub(1)).take(&trip, trip.kind == Kind::Guided, size),
    };
    let (from, to) = chunk.as_ref().map_or((0, 0), |chunk| (chunk.start, chunk.end));
    here::go(LoopPlace { round: round + 1, chunk: (from, to), ..way });
    chunk
}

/// How the end of a construct treats members that are not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtEnd {
    /// The thread goes on.
    NoWait,
    /// It waits for all members.
    Barrier,
}

/// The calling thread is done with the loop or the sections. Returns whether the construct was cancelled.
#[inline]
pub fn end(end: AtEnd) -> bool {
    let Some(seat) = here::seat() else { return false };
    let way = here::way();
    if way.trip.ordered {
        pass_on(way);
        here::go(LoopPlace { trip: Trip::NONE, chunk: (0, 0), ..way });
    }
    let cancelled = seat.loop_is_cancelled();
    if seat.crew.slot(way.loops.wrapping_sub(1)).leave(seat.size()) {
        seat.notify();
    }
    match end {
        AtEnd::NoWait => cancelled,
        AtEnd::Barrier => cancelled | tasking::meet(&seat),
    }
}

/// Waits until the iterations before this thread's are done with their part in order.
pub fn ordered() {
    let LoopPlace { trip, chunk: (from, _), loops, .. } = here::way();
    if let Some(seat) = here::seat().filter(|_| trip.ordered) {
        let turn = &seat.crew.slot(loops.wrapping_sub(1)).turn;
        seat.wait(threads_in_regions, "its turn in a loop in order", || turn.load(Acquire) == from);
    }
}

/// All parts in order of this thread's chunk are done: those of the next chunk may come.
fn pass_on(way: LoopPlace) {
    let (from, to) = way.chunk;
    if from == to {
        return;
    }
    if let Some(seat) = here::seat() {
        let turn = &seat.crew.slot(way.loops.wrapping_sub(1)).turn;
        // A chunk without a part in order has its turn as well.
        seat.wait(threads_in_regions, "its turn in a loop in order", || turn.load(Acquire) == from);
        turn.store(to, Release);
        seat.notify();
    }
    here::go(LoopPlace { chunk: (0, 0), ..way });
}

/// Is the calling thread the one that does the construct for all? Each construct that all members meet has
/// one.
#[inline]
pub fn single() -> bool {
    let way = here::way();
    here::go(LoopPlace { singles: way.singles.wrapping_add(1), ..way });
    let Some(seat) = here::seat() else { return true };
    seat.crew.singles.0.choose(way.singles)
}

/// As [`single`], for a construct whose member hands values to all others: `None` for that member, which then
/// calls [`hand_over`]; for the others where the values are, once they are there.
pub fn single_copy() -> Option<*mut c_void> {
    if single() {
        return None;
    }
    let seat = here::seat()?;
    tasking::meet(&seat);
    Some(seat.crew.handed[here::way().singles as usize % 2].load(Relaxed).cast())
}

/// The member that does the construct for all has its values at `data`, until the members' next barrier.
pub fn hand_over(data: *mut c_void) {
    if let Some(seat) = here::seat() {
        // Relaxed: the barrier orders it.
        seat.crew.handed[here::way().singles as usize % 2].store(data.cast(), Relaxed);
        tasking::meet(&seat);
    }
}

/// Waits for all members of the region. Returns whether the region was cancelled.
#[inline]
pub fn barrier() -> bool {
    here::seat().is_some_and(|seat| tasking::meet(&seat))
}

/// What a program cancels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancels {
    /// The region.
    Region,
    /// The loop or the sections that the thread is in.
    Loop,
    /// The group of tasks that the thread is in.
    Group,
}

/// Cancels a construct, if `OMP_CANCELLATION` lets programs do so. Returns whether it is cancelled, by
/// whichever member.
pub fn cancel(what: Cancels) -> bool {
    if what == Cancels::Group {
        return tasking::cancel_group();
    }
    if !crate::settings::settings().cancellation {
        return false;
    }
    // A region of one has none to tell: its thread goes to the construct's end.
    if let Some(seat) = here::seat() {
        match what {
            Cancels::Region => seat.cancel_region(),
            Cancels::Loop => seat.cancel_loop(),
            Cancels::Group => {}
        }
    }
    true
}

/// Was the construct cancelled?
pub fn is_cancelled(what: Cancels) -> bool {
    if what == Cancels::Group {
        return tasking::group_is_cancelled();
    }
    here::seat().is_some_and(|seat| match what {
        Cancels::Loop => seat.loop_is_cancelled(),
        Cancels::Region | Cancels::Group => seat.region_is_cancelled(),
    })
}
