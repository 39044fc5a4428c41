//! Shows that a program calls this library and not another BLAS: with `FOREGATHER_BLAS_TRACE=1` each symbol
//! that was called is printed to standard error when the process ends, one a line, with the number of its
//! calls.
//!
//! Without a lock: a fork could copy one while another thread holds it, and the child would wait forever.
use crate::settings::trace;
use std::fs::File;
use std::io::Write;
use std::mem::ManuallyDrop;
use std::os::fd::FromRawFd;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// A symbol, and how often it was called: one for each, where it is defined.
pub(crate) struct SymbolCount {
    symbol: &'static str,
    calls: AtomicU64,
    /// The symbol whose first call came before this one's.
    next: AtomicPtr<SymbolCount>,
}

/// The symbol whose first call came last: the head of the list. Symbols are added and never taken off.
static CALLED: AtomicPtr<SymbolCount> = AtomicPtr::new(ptr::null_mut());

impl SymbolCount {
    /// The counter of that symbol.
    pub(crate) const fn new(symbol: &'static str) -> Self {
        Self { symbol, calls: AtomicU64::new(0), next: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Counts a call if the trace is on.
    #[inline(always)]
    pub(crate) fn note(&'static self) {
        if trace() {
            self.count();
        }
    }

    #[cold]
    #[inline(never)]
    fn count(&'static self) {
        // Exactly one call is the first, and it alone writes `next`.
        if self.calls.fetch_add(1, Ordering::Relaxed) > 0 {
            return;
        }
        let this = ptr::from_ref(self).cast_mut();
        let mut first = CALLED.load(Ordering::Relaxed);
        loop {
            self.next.store(first, Ordering::Relaxed);
            match CALLED.compare_exchange_weak(first, this, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(other) => first = other,
            }
        }
    }
}

/// The symbols that were called, in the order of names.
fn counted() -> Vec<(&'static str, u64)> {
    let mut all = Vec::new();
    let mut at = CALLED.load(Ordering::Acquire);
    // SAFETY: the list is made of static counters alone.
    while let Some(counter) = unsafe { at.as_ref() } {
        all.push((counter.symbol, counter.calls.load(Ordering::Relaxed)));
        at = counter.next.load(Ordering::Relaxed);
    }
    all.sort_unstable();
    all
}

/// Called by the loader when the library is unloaded or the process ends.
extern "C" fn print() {
    // The standard library's handle has a lock, too.
    // SAFETY: standard error is not closed by this handle, which is never dropped.
    let mut standard_error = ManuallyDrop::new(unsafe { File::from_raw_fd(2) });
    for (symbol, count) in counted() {
        let line = format!("foregather_blas[{}]: {symbol} {count}\n", std::process::id());
        // An error would mean that standard error is closed: there is no other place to report it.
        let _ = standard_error.write_all(line.as_bytes());
    }
}

// SAFETY: the loader calls the functions in this section once; `print` ignores the arguments.
#[unsafe(link_section = ".fini_array")]
#[used]
static AT_EXIT: extern "C" fn() = print;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_is_counted_whoever_makes_it_and_every_symbol_is_listed_once() {
        static COUNTERS: [SymbolCount; 3] = [SymbolCount::new("third"), SymbolCount::new("first"), SymbolCount::new("second")];
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..1_000).for_each(|at| COUNTERS[at % 2].count()));
            }
        });
        assert_eq!(counted(), [("first", 2_000), ("third", 2_000)]);
    }
}
