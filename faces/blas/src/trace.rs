//! Shows that a program really calls this library and not another BLAS: with `FOREGATHER_BLAS_TRACE=1` each symbol that was
//! called is printed to standard error when the process ends, one a line, with the number of its calls.
use crate::settings::settings;
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

static CALLS: Mutex<BTreeMap<&str, u64>> = Mutex::new(BTreeMap::new());

/// Counts a call of a symbol if somebody wants to know.
#[inline]
pub(crate) fn note(symbol: &'static str) {
    if settings().trace {
        count(symbol);
    }
}

#[cold]
fn count(symbol: &'static str) {
    // A fork may have copied the lock while another thread held it: then the child's calls are not counted.
    if let Ok(mut calls) = CALLS.try_lock().or_else(|_| CALLS.lock()) {
        *calls.entry(symbol).or_default() += 1;
    }
}

/// Called by the loader when the library is unloaded or the process ends.
extern "C" fn print() {
    let calls = CALLS.lock().unwrap_or_else(PoisonError::into_inner);
    let mut out = std::io::stderr().lock();
    for (symbol, count) in &*calls {
        // Nobody is left to be told that standard error is closed.
        let _ = writeln!(out, "foregather_blas[{}]: {symbol} {count}", std::process::id());
    }
}

// SAFETY: the loader calls what stands in this section, once, without arguments that `print` would miss.
#[unsafe(link_section = ".fini_array")]
#[used]
static AT_EXIT: extern "C" fn() = print;
