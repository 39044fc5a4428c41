//! How many threads a call may have, for programs that set it: symbols of this library alone.
use foregather_host::watched::lines;
use foregather_team::{Report, Team};
use std::ffi::{c_char, c_int};
use std::num::NonZeroU32;

const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");

/// The most threads of a call that begins now.
#[unsafe(no_mangle)]
extern "C" fn foregather_blas_get_num_threads() -> c_int {
    Team::global().allowed().members() as c_int
}

/// From the next call on, at most that many threads; with 0 or less as many as the environment says. No more
/// than affinity and quota allow.
#[unsafe(no_mangle)]
extern "C" fn foregather_blas_set_num_threads(threads: c_int) {
    Team::global().set_limit(u32::try_from(threads).ok().and_then(NonZeroU32::new));
}

/// This library's version, as a string of C.
#[unsafe(no_mangle)]
extern "C" fn foregather_blas_version() -> *const c_char {
    VERSION.as_ptr().cast()
}

/// What the calls of this process did that were large enough for a team, as a JSON object on one line. `None`
/// if there were none.
fn statistics(report: &Report, process: u32) -> Option<String> {
    let Report { regions, provided, late, threads, .. } = report;
    let threads = threads.as_deref().unwrap_or("not known: a call was under way");
    (*regions > 0).then(|| {
        format!(
            r#"{{"process":{process},"library":"blas","calls":{regions},"provided":{provided},"late":{late},"threads":{threads:?}}}"#
        )
    })
}

/// Called by the loader when the process exits.
extern "C" fn end() {
    lines::append_statistics(|| statistics(&Team::global().report(), std::process::id()));
}

// SAFETY: the loader calls the functions in this section once; `end` ignores the arguments.
#[unsafe(link_section = ".fini_array")]
#[used]
static AT_EXIT: extern "C" fn() = end;
