//! Files that others wrote, mutated at random: no panic, and no more memory than the size of the file allows.
//!
//! Some thousands of each are tried in every run of the tests. Many more, of one kind:
//! `FOREGATHER_FUZZ=1000000 cargo test --release -p foregather-lab --test fuzz -- --ignored documents`.
mod documents;
mod mutation;
mod plans;
#[path = "../../../report/tests/documents/sample/mod.rs"]
#[expect(dead_code, reason = "some of it is for the page's own tests")]
mod sample;

use foregather_host::heap::{self, CountingHeap};

#[global_allocator]
static HEAP: CountingHeap = CountingHeap;

/// As many as `FOREGATHER_FUZZ` says, else a million.
fn many() -> u64 {
    std::env::var("FOREGATHER_FUZZ").ok().and_then(|count| count.parse().ok()).unwrap_or(1_000_000)
}

/// Tries an input, says which one it was if that ends in a panic, and holds its memory against the bound: 64
/// KiB, sixteen bytes for each of the input, and what it asks for besides by a stated maximum. Gives the
/// share of the bound.
fn tried(number: u64, input: &str, besides: u64, work: impl FnOnce()) -> f64 {
    let bound = (64 << 10) + 16 * input.len() as u64 + besides;
    let (end, held) = heap::held_by(|| std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)));
    assert!(end.is_ok(), "input {number} of {} bytes ends in a panic:\n{input:.4000}", input.len());
    assert!(held <= bound, "input {number} of {} bytes takes {held} bytes, at most {bound}:\n{input:.4000}", input.len());
    held as f64 / bound as f64
}
