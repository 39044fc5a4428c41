//! How much memory a piece of work holds at once: an allocator that counts, for test programs.
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// Bytes that this thread has allocated and not freed; freeing another thread's memory lowers it.
    static HELD: Cell<i64> = const { Cell::new(0) };
    /// The highest value of [`HELD`].
    static MOST: Cell<i64> = const { Cell::new(0) };
}

/// The system's allocator, which counts what each thread holds: `static HEAP: CountingHeap = CountingHeap`
/// under `#[global_allocator]`.
pub struct CountingHeap;

fn note(bytes: i64) {
    // A thread that ends has no counters any more.
    let _ = HELD.try_with(|held| {
        held.set(held.get() + bytes);
        MOST.try_with(|most| most.set(most.get().max(held.get())))
    });
}

// SAFETY: every request goes to `System` unchanged, which keeps the trait's contract; counting neither
// allocates nor panics.
unsafe impl GlobalAlloc for CountingHeap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size() as i64);
        // SAFETY: the caller keeps the contract of `GlobalAlloc::alloc`, which is that of `System`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        note(-(layout.size() as i64));
        // SAFETY: the caller keeps the contract of `GlobalAlloc::dealloc`, and `System` has allocated the
        // memory.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        note(bytes as i64 - layout.size() as i64);
        // SAFETY: the caller keeps the contract of `GlobalAlloc::realloc`, and `System` has allocated the
        // memory.
        unsafe { System.realloc(at, layout, bytes) }
    }
}

/// The result of `work`, and the most bytes that this thread held meanwhile beyond what it held before; 0 in
/// a program without [`CountingHeap`].
pub fn held_by<T>(work: impl FnOnce() -> T) -> (T, u64) {
    let before = HELD.get();
    MOST.set(before);
    let given = work();
    (given, (MOST.get() - before).max(0) as u64)
}
