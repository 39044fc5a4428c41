//! What the environment asks of this face: read at the first call, and nowhere else. The team that shares
//! calls reads its own settings (`FOREGATHER_THREADS`, else `OMP_NUM_THREADS`, and `FOREGATHER_WAIT`).
//!
//! An answer is one byte, complete by itself, so it needs no order: every call reads it, and nothing else.
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

const UNREAD: u8 = 0;
const NO: u8 = 1;
const YES: u8 = 2;

static TRACE: AtomicU8 = AtomicU8::new(UNREAD);

/// `FOREGATHER_BLAS_TRACE`: whether to print at exit which symbols were called, and how often.
#[inline(always)]
pub(crate) fn trace() -> bool {
    match TRACE.load(Relaxed) {
        NO => false,
        UNREAD => read(),
        _ => true,
    }
}

#[cold]
fn read() -> bool {
    let asked = std::env::var_os("FOREGATHER_BLAS_TRACE").is_some_and(|value| !value.is_empty() && value != "0");
    // If threads make the first call at the same time, the first answer holds: else some calls might be
    // counted and others not.
    let answer = if asked { YES } else { NO };
    TRACE.compare_exchange(UNREAD, answer, Relaxed, Relaxed).map_or_else(|first| first, |_| answer) == YES
}
