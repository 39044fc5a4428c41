//! Leagues of teams, and what a program says of its own errors.
use super::queries::int;
use crate::export::entries;
use crate::table::regions::{Body, call};
use core::ffi::{c_char, c_int, c_uint, c_void};
use foregather_openmp::task;
use foregather_openmp::teams::{self, most_teams, set_most_teams, set_thread_limit, thread_limit};

entries! {
    "OMP_4.0" {
        fn omp_get_num_teams omp_get_num_teams_() -> c_int { int(task().league.teams) }
        fn omp_get_team_num omp_get_team_num_() -> c_int { int(task().league.number) }
    }
    "OMP_5.1" {
        fn omp_get_max_teams omp_get_max_teams_() -> c_int { int(most_teams()) }
        fn omp_get_teams_thread_limit omp_get_teams_thread_limit_() -> c_int { int(thread_limit()) }
    }
}

/// A number that a program may set: from 1 on.
fn positive(number: i64, set: impl Fn(u32)) {
    if let Some(number) = u32::try_from(number).ok().filter(|&number| number > 0) {
        set(number);
    }
}

pub(super) mod limits {
    use super::*;
    use crate::export::numbers;
    numbers! {
        "OMP_5.1" {
            fn omp_set_num_teams omp_set_num_teams_ omp_set_num_teams_8_(teams) { positive(teams, set_most_teams); }
            fn omp_set_teams_thread_limit omp_set_teams_thread_limit_ omp_set_teams_thread_limit_8_(threads) {
                positive(threads, set_thread_limit);
            }
        }
    }
}

pub(super) mod leagues {
    use super::*;
    entries! {
        "GOMP_4.0" {
            // A target region of one team.
            fn GOMP_teams(_teams: c_uint, threads: c_uint) {
                teams::begin(1, threads);
            }
        }
        "GOMP_5.0" {
            fn GOMP_teams_reg(body: Body, data: *mut c_void, teams: c_uint, threads: c_uint, _flags: c_uint) {
                teams::each(teams, threads, || call(body, data));
            }
        }
        "GOMP_5.1" {
            // Called before each team, and whether there is one.
            fn GOMP_teams4(least: c_uint, _most: c_uint, threads: c_uint, first: bool) -> bool {
                if first {
                    teams::begin(least, threads);
                }
                first || teams::next()
            }
        }
    }
}

/// Says what a program's own directive says.
///
/// # Safety
/// `text` is null, or has that length; a length of all ones stands for up to a zero.
unsafe fn say(text: *const c_char, length: usize) {
    if text.is_null() {
        eprintln!("foregather: an error directive was met");
        return;
    }
    // SAFETY: by this function's contract.
    let text = unsafe {
        match length {
            usize::MAX => core::ffi::CStr::from_ptr(text).to_bytes(),
            _ => core::slice::from_raw_parts(text.cast(), length),
        }
    };
    eprintln!("foregather: an error directive was met: {}", String::from_utf8_lossy(text));
}

pub(super) mod errors {
    use super::*;
    entries! {
        "GOMP_5.1" {
            fn GOMP_warning(text: *const c_char, length: usize) {
                // SAFETY: the compiler passes a text with its length.
                unsafe { say(text, length) }
            }
            fn GOMP_error(text: *const c_char, length: usize) {
                // SAFETY: the compiler passes a text with its length.
                unsafe { say(text, length) }
                std::process::exit(1);
            }
        }
    }
}
