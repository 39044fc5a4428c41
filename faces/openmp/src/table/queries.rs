//! What programs ask of the runtime, and what they set: for C, and for Fortran, whose names end with `_`, and
//! with `_8_` where an integer of eight bytes goes in.
use crate::export::entries;
use crate::other;
use crate::other::{other, other_at_first};
use core::ffi::c_int;
use foregather_host::clock;
use foregather_openmp::{MOST_LEVELS, Schedule, ScheduleKind, ancestor, change, icvs, pause, settings, task, tasking};

/// A count as programs take it.
pub(super) fn int(count: u32) -> c_int {
    c_int::try_from(count).unwrap_or(c_int::MAX)
}

fn max_threads() -> c_int {
    int(icvs().threads)
}

/// A program that passes a number below 1, as one does that reads an option that was not given, gets one
/// thread.
fn set_num_threads(threads: i64) {
    let threads = u32::try_from(threads.max(1)).unwrap_or(u32::MAX);
    // Whichever of the two the program means.
    if let Some(other) = other::any() {
        (other.set_num_threads)(int(threads));
    }
    change(|icvs| icvs.threads = threads);
}

fn set_active_levels(levels: i64) {
    if let Ok(levels) = u32::try_from(levels) {
        change(|icvs| icvs.active_levels = levels.min(MOST_LEVELS));
    }
}

fn set_nested(nested: bool) {
    set_active_levels(if nested { MOST_LEVELS.into() } else { 1 });
}

/// The bit by which a program asks for chunks in order.
const MONOTONIC: u32 = 1 << 31;

fn set_schedule(kind: c_int, chunk: i64) {
    let kinds = [ScheduleKind::Static, ScheduleKind::Dynamic, ScheduleKind::Guided, ScheduleKind::Auto];
    let number = (kind as u32 & !MONOTONIC) as usize;
    let Some(&kind_named) = number.checked_sub(1).and_then(|at| kinds.get(at)) else { return };
    let chunk = match kind_named {
        ScheduleKind::Static => chunk.max(0) as u64,
        ScheduleKind::Dynamic | ScheduleKind::Guided => chunk.max(1) as u64,
        ScheduleKind::Auto => 0,
    };
    let monotonic = kind as u32 & MONOTONIC != 0;
    change(|icvs| icvs.schedule = Schedule { kind: kind_named, chunk, monotonic });
}

fn schedule() -> (c_int, c_int) {
    let Schedule { kind, chunk, monotonic } = icvs().schedule;
    let number = match kind {
        ScheduleKind::Static => 1,
        ScheduleKind::Dynamic => 2,
        ScheduleKind::Guided => 3,
        ScheduleKind::Auto => 4,
    };
    let kind = if monotonic { number | MONOTONIC } else { number };
    (kind as c_int, c_int::try_from(chunk).unwrap_or(c_int::MAX))
}

fn ancestor_num(level: i64) -> c_int {
    if let Some(other) = other() {
        return (other.ancestor_thread_num)(c_int::try_from(level).unwrap_or(c_int::MAX));
    }
    u32::try_from(level).ok().and_then(ancestor).map_or(-1, |task| int(task.rank))
}

fn team_size(level: i64) -> c_int {
    if let Some(other) = other() {
        return (other.team_size)(c_int::try_from(level).unwrap_or(c_int::MAX));
    }
    u32::try_from(level).ok().and_then(ancestor).map_or(-1, |task| int(task.size))
}

/// Whether the calling thread's threads are still needed.
fn paused() -> c_int {
    (!pause()).into()
}

/// Seconds since a moment that is the same for all threads.
fn wtime() -> f64 {
    clock::now().0 as f64 * 1e-9
}

entries! {
    "OMP_1.0" {
        fn omp_get_thread_num omp_get_thread_num_() -> c_int { other_at_first().map_or_else(|| int(task().rank), |other| (other.thread_num)()) }
        fn omp_get_num_threads omp_get_num_threads_() -> c_int { other().map_or_else(|| int(task().size), |other| (other.num_threads)()) }
        fn omp_get_max_threads omp_get_max_threads_() -> c_int { max_threads() }
        fn omp_get_num_procs omp_get_num_procs_() -> c_int { int(settings().processors) }
        fn omp_in_parallel omp_in_parallel_() -> c_int { other().map_or_else(|| (task().active > 0).into(), |other| (other.in_parallel)()) }
        fn omp_get_dynamic omp_get_dynamic_() -> c_int { icvs().dynamic.into() }
        fn omp_get_nested omp_get_nested_() -> c_int { (icvs().active_levels > 1 && icvs().active_levels > task().active).into() }
    }
    "OMP_2.0" {
        fn omp_get_wtime omp_get_wtime_() -> f64 { wtime() }
        fn omp_get_wtick omp_get_wtick_() -> f64 { 1e-9 }
    }
    "OMP_3.0" {
        fn omp_get_level omp_get_level_() -> c_int { other().map_or_else(|| int(task().level), |other| (other.level)()) }
        fn omp_get_active_level omp_get_active_level_() -> c_int { other().map_or_else(|| int(task().active), |other| (other.active_level)()) }
        fn omp_get_max_active_levels omp_get_max_active_levels_() -> c_int { int(icvs().active_levels) }
        fn omp_get_thread_limit omp_get_thread_limit_() -> c_int { int(icvs().thread_limit) }
    }
    "OMP_3.1" {
        fn omp_in_final omp_in_final_() -> c_int { tasking::is_final().into() }
    }
    "OMP_4.0" {
        fn omp_get_cancellation omp_get_cancellation_() -> c_int { settings().cancellation.into() }
    }
    "OMP_4.5" {
        fn omp_get_max_task_priority omp_get_max_task_priority_() -> c_int { int(settings().max_task_priority) }
    }
    "OMP_5.2" {
        fn omp_in_explicit_task omp_in_explicit_task_() -> c_int { tasking::is_explicit().into() }
    }
    "OMP_5.0.1" {
        fn omp_get_supported_active_levels omp_get_supported_active_levels_() -> c_int { int(MOST_LEVELS) }
    }
}

/// What has a number for an argument.
pub(super) mod numbers {
    use super::*;
    use crate::export::numbers;
    numbers! {
        "OMP_1.0" {
            fn omp_set_num_threads omp_set_num_threads_ omp_set_num_threads_8_(threads) { set_num_threads(threads); }
            fn omp_set_dynamic omp_set_dynamic_ omp_set_dynamic_8_(dynamic) { change(|icvs| icvs.dynamic = dynamic != 0); }
            fn omp_set_nested omp_set_nested_ omp_set_nested_8_(nested) { set_nested(nested != 0); }
        }
        "OMP_3.0" {
            fn omp_set_max_active_levels omp_set_max_active_levels_ omp_set_max_active_levels_8_(levels) { set_active_levels(levels); }
            fn omp_get_ancestor_thread_num omp_get_ancestor_thread_num_ omp_get_ancestor_thread_num_8_(level) -> c_int { ancestor_num(level) }
            fn omp_get_team_size omp_get_team_size_ omp_get_team_size_8_(level) -> c_int { team_size(level) }
        }
    }
}

pub(super) mod schedules {
    use super::*;
    entries! {
        "OMP_3.0" {
            fn omp_set_schedule(kind: c_int, chunk: c_int) { set_schedule(kind, chunk.into()); }
            fn omp_set_schedule_(kind: &c_int, chunk: &c_int) { set_schedule(*kind, (*chunk).into()); }
            fn omp_set_schedule_8_(kind: &c_int, chunk: &i64) { set_schedule(*kind, *chunk); }
            fn omp_get_schedule omp_get_schedule_(kind: &mut c_int, chunk: &mut c_int) { (*kind, *chunk) = schedule(); }
            fn omp_get_schedule_8_(kind: &mut c_int, chunk: &mut i64) {
                let (now, length) = schedule();
                (*kind, *chunk) = (now, length.into());
            }
        }
    }
}

pub(super) mod pauses {
    use super::*;
    use crate::export::pairs;
    pairs! {
        "OMP_5.0" {
            fn omp_pause_resource omp_pause_resource_(_kind: c_int, _device: c_int) -> c_int { paused() }
            fn omp_pause_resource_all omp_pause_resource_all_(_kind: c_int) -> c_int { paused() }
        }
    }
}
