//! The program's allocators and their memory.
use crate::export::entries;
use crate::memory::{self, BlockRequest};
use core::ffi::{c_int, c_uint, c_void};
use foregather_openmp::allocator::AllocatorHandle;
use foregather_openmp::allocators::{destroy, make, set_usual, usual};

/// A trait as programs have it.
#[repr(C)]
struct AllocTrait {
    key: c_uint,
    value: usize,
}

/// A new allocator; 0 if there is none with these traits.
///
/// # Safety
/// There are `count` traits.
unsafe fn init(space: usize, count: i64, traits: *const AllocTrait) -> AllocatorHandle {
    let Ok(count) = usize::try_from(count) else { return 0 };
    // SAFETY: by this function's contract.
    let traits = if count == 0 { &[] } else { unsafe { core::slice::from_raw_parts(traits, count) } };
    make(space, traits.iter().map(|of| (of.key, of.value))).unwrap_or(0)
}

/// `count` elements of `bytes` each, as zeros.
fn zeros(alignment: usize, count: usize, bytes: usize, allocator: AllocatorHandle) -> *mut c_void {
    match count.checked_mul(bytes) {
        Some(bytes) => memory::allocate(BlockRequest { bytes, alignment, zeroed: true }, allocator),
        None => core::ptr::null_mut(),
    }
}

entries! {
    "OMP_5.0.1" {
        fn omp_init_allocator(space: usize, count: c_int, traits: *const AllocTrait) -> AllocatorHandle {
            // SAFETY: the program passes as many traits as it says.
            unsafe { init(space, count.into(), traits) }
        }
        fn omp_init_allocator_(space: &usize, count: &c_int, traits: *const AllocTrait) -> AllocatorHandle {
            // SAFETY: the program passes as many traits as it says.
            unsafe { init(*space, (*count).into(), traits) }
        }
        fn omp_init_allocator_8_(space: &usize, count: &i64, traits: *const AllocTrait) -> AllocatorHandle {
            // SAFETY: the program passes as many traits as it says.
            unsafe { init(*space, *count, traits) }
        }
        fn omp_get_default_allocator omp_get_default_allocator_() -> AllocatorHandle {
            usual()
        }
        fn omp_alloc(bytes: usize, allocator: AllocatorHandle) -> *mut c_void {
            memory::allocate(BlockRequest { bytes, alignment: 1, zeroed: false }, allocator)
        }
        fn omp_free(block: *mut c_void, _allocator: AllocatorHandle) {
            // SAFETY: the program gives back what it got of these entries.
            unsafe { memory::free(block) }
        }
    }
    "OMP_5.0.2" {
        fn omp_aligned_alloc(alignment: usize, bytes: usize, allocator: AllocatorHandle) -> *mut c_void {
            memory::allocate(BlockRequest { bytes, alignment, zeroed: false }, allocator)
        }
        fn omp_calloc(count: usize, bytes: usize, allocator: AllocatorHandle) -> *mut c_void {
            zeros(1, count, bytes, allocator)
        }
        fn omp_aligned_calloc(alignment: usize, count: usize, bytes: usize, allocator: AllocatorHandle) -> *mut c_void {
            zeros(alignment, count, bytes, allocator)
        }
        fn omp_realloc(block: *mut c_void, bytes: usize, allocator: AllocatorHandle, _of: AllocatorHandle) -> *mut c_void {
            // SAFETY: as for `omp_free`.
            unsafe { memory::reallocate(block, bytes, allocator) }
        }
    }
    "GOMP_5.0.1" {
        fn GOMP_alloc(alignment: usize, bytes: usize, allocator: AllocatorHandle) -> *mut c_void {
            // The compiler relies on an address even for a variable of no length, and on having one at all.
            let block = memory::allocate(BlockRequest { bytes: bytes.max(1), alignment, zeroed: false }, allocator);
            assert!(!block.is_null(), "out of memory for a variable of {bytes} bytes");
            block
        }
        fn GOMP_free(block: *mut c_void, _allocator: AllocatorHandle) {
            // SAFETY: the compiler gives back what it got of `GOMP_alloc`.
            unsafe { memory::free(block) }
        }
    }
    "GOMP_5.1.2" {
        fn GOMP_add_alloc(block: *mut c_void) {
            memory::mark(block);
        }
        fn GOMP_is_alloc(block: *mut c_void) -> bool {
            memory::is_marked(block)
        }
    }
}

pub(super) mod handles {
    use super::*;
    use crate::export::pairs;
    pairs! {
        "OMP_5.0.1" {
            fn omp_destroy_allocator omp_destroy_allocator_(allocator: AllocatorHandle) { destroy(allocator); }
            fn omp_set_default_allocator omp_set_default_allocator_(allocator: AllocatorHandle) { set_usual(allocator); }
        }
    }
}
