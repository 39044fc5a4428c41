//! Constructs that divide a region's work among its members: loops, sections, parts in order, and what one
//! member does for all.
use crate::here::{self, LoopState, threads_in_regions};
use crate::icv::ScheduleKind;
use crate::iteration_space::IterationSpace;
use crate::ring::WordsFor;
use crate::tasking;
use core::ffi::c_void;
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering::*};
use foregather_host::per_thread;
use std::sync::Arc;

/// The calling thread meets a loop, or sections, that all members of its region share.
#[inline]
pub fn begin(space: IterationSpace) {
    let at = here::loop_state();
    here::set_loop_state(LoopState { loops: at.loops.wrapping_add(1), space, round: 0, chunk: (0, 0), ..at });
    if let Some(member) = here::region_member() {
        let slot = member.state.slot(at.loops);
        member.wait(threads_in_regions, "loops of slower members", || slot.is_for(at.loops));
    }
}

/// `bytes` of zeros, in words, that the members share for the loop that the calling thread has begun.
pub fn shared_memory(bytes: usize) -> Arc<[AtomicU64]> {
    let count = bytes.div_ceil(size_of::<u64>());
    match here::region_member() {
        Some(member) => member.state.words(here::loop_state().loops.wrapping_sub(1), WordsFor::Program, count),
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
    let at = here::loop_state();
    take_at_once(&at).unwrap_or_else(|| take(at, false)).map(|chunk| at.space.bounds(&chunk))
}

/// The next chunk of a loop whose chunks go one by one, in no order, to several members: nothing is noted of
/// it. `None` for other loops.
#[inline]
fn take_at_once(at: &LoopState) -> Option<Option<Range<u64>>> {
    let LoopState { space, loops, .. } = at;
    if space.kind != ScheduleKind::Dynamic || space.ordered {
        return None;
    }
    here::with_member(|member| {
        if member.loop_is_cancelled() { None } else { member.state.slot(loops.wrapping_sub(1)).take(space, false, member.size()) }
    })
}

/// The next section of the calling thread, counted from 1 on. `None`: there is none left.
#[inline]
pub fn next_section() -> Option<u32> {
    let at = here::loop_state();
    take(at, true).map(|chunk| at.space.bounds(&chunk).0 as u32)
}

fn take(at: LoopState, one_by_one: bool) -> Option<Range<u64>> {
    let LoopState { space, round, .. } = at;
    let Some(member) = here::region_member() else {
        here::set_loop_state(LoopState { round: round + 1, ..at });
        return if one_by_one { space.chunk(round) } else { (round == 0 && space.count > 0).then_some(0..space.count) };
    };
    if space.ordered {
        pass_on(at);
    }
    if member.loop_is_cancelled() {
        return None;
    }
    let (size, rank) = (member.size(), here::task().rank);
    let chunk = match space.kind {
        ScheduleKind::Static | ScheduleKind::Auto => space.static_chunk(round, rank, size),
        ScheduleKind::Dynamic | ScheduleKind::Guided => {
            member.state.slot(at.loops.wrapping_sub(1)).take(&space, space.kind == ScheduleKind::Guided, size)
        }
    };
    let (from, to) = chunk.as_ref().map_or((0, 0), |chunk| (chunk.start, chunk.end));
    here::set_loop_state(LoopState { round: round + 1, chunk: (from, to), ..at });
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
    let Some(member) = here::region_member() else { return false };
    let at = here::loop_state();
    if at.space.ordered {
        pass_on(at);
        here::set_loop_state(LoopState { space: IterationSpace::NONE, chunk: (0, 0), ..at });
    }
    let cancelled = member.loop_is_cancelled();
    if member.state.slot(at.loops.wrapping_sub(1)).leave(member.size()) {
        member.notify();
    }
    match end {
        AtEnd::NoWait => cancelled,
        AtEnd::Barrier => cancelled | tasking::meet(&member),
    }
}

/// Waits until the iterations before this thread's are done with their part in order.
pub fn ordered() {
    let LoopState { space, chunk: (from, _), loops, .. } = here::loop_state();
    if let Some(member) = here::region_member().filter(|_| space.ordered) {
        let turn = &member.state.slot(loops.wrapping_sub(1)).turn;
        member.wait(threads_in_regions, "its turn in a loop in order", || turn.load(Acquire) == from);
    }
}

/// All parts in order of this thread's chunk are done: those of the next chunk may come.
fn pass_on(at: LoopState) {
    let (from, to) = at.chunk;
    if from == to {
        return;
    }
    if let Some(member) = here::region_member() {
        let turn = &member.state.slot(at.loops.wrapping_sub(1)).turn;
        // A chunk without a part in order has its turn as well.
        member.wait(threads_in_regions, "its turn in a loop in order", || turn.load(Acquire) == from);
        turn.store(to, Release);
        member.notify();
    }
    here::set_loop_state(LoopState { chunk: (0, 0), ..at });
}

/// Returns whether the calling thread runs a `single` construct on behalf of all members. Exactly one member
/// does so for each construct.
#[inline]
pub fn single() -> bool {
    let at = here::loop_state();
    here::set_loop_state(LoopState { singles: at.singles.wrapping_add(1), ..at });
    let Some(member) = here::region_member() else { return true };
    member.state.singles.0.choose(at.singles)
}

/// As [`single`], for a construct whose member hands values to all others: `None` for that member, which then
/// calls [`hand_over`]; for the others where the values are, once they are there.
pub fn single_copy() -> Option<*mut c_void> {
    if single() {
        return None;
    }
    let member = here::region_member()?;
    tasking::meet(&member);
    Some(member.state.handed[here::loop_state().singles as usize % 2].load(Relaxed).cast())
}

/// The member that does the construct for all has its values at `data`, until the members' next barrier.
pub fn hand_over(data: *mut c_void) {
    if let Some(member) = here::region_member() {
        // Relaxed: the barrier orders it.
        member.state.handed[here::loop_state().singles as usize % 2].store(data.cast(), Relaxed);
        tasking::meet(&member);
    }
}

/// Waits for all members of the region. Returns whether the region was cancelled.
#[inline]
pub fn barrier() -> bool {
    here::region_member().is_some_and(|member| tasking::meet(&member))
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
    if let Some(member) = here::region_member() {
        match what {
            Cancels::Region => member.cancel_region(),
            Cancels::Loop => member.cancel_loop(),
            Cancels::Group => {}
        }
    }
    true
}

/// Returns whether the innermost construct of this kind was cancelled.
pub fn is_cancelled(what: Cancels) -> bool {
    if what == Cancels::Group {
        return tasking::group_is_cancelled();
    }
    here::region_member().is_some_and(|member| match what {
        Cancels::Loop => member.loop_is_cancelled(),
        Cancels::Region | Cancels::Group => member.region_is_cancelled(),
    })
}
