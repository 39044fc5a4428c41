//! What compilers make of constructs: regions are done at once by the thread that meets them.
//!
//! Several take more arguments after those that are named here, which make no difference on the host: a
//! caller passes them where no argument of ours is (the C calling conventions of x86-64 and aarch64).
use crate::export::entries;
use crate::table::regions::Body;
use crate::table::targets::Copies;
use core::ffi::{c_int, c_void};

/// A region on the host.
///
/// # Safety
/// The body may be called with those addresses, of which `count` are described.
unsafe fn region(body: Body, count: usize, addresses: *mut *mut c_void, sizes: *mut usize, kinds: *mut u16) {
    // SAFETY: by this function's contract.
    unsafe {
        let _copies = Copies::make(count, addresses, sizes, kinds);
        body(addresses.cast());
    }
}

entries! {
    "GOACC_2.0" {
        fn GOACC_parallel(
            _flags: c_int, body: Body, count: usize, addresses: *mut *mut c_void, sizes: *mut usize, kinds: *mut u16,
        ) {
            // SAFETY: the compiler passes a body with its data.
            unsafe { region(body, count, addresses, sizes, kinds) }
        }
        fn GOACC_data_start(_flags: c_int, _count: usize, _addresses: *mut *mut c_void, _sizes: *mut usize, _kinds: *mut u16) {}
        fn GOACC_data_end() {}
        fn GOACC_enter_exit_data GOACC_update(
            _flags: c_int, _count: usize, _addresses: *mut *mut c_void, _sizes: *mut usize, _kinds: *mut u16, _queue: c_int,
        ) {}
        fn GOACC_wait(_queue: c_int, _count: c_int) {}
        fn GOACC_get_num_threads() -> c_int { 1 }
        fn GOACC_get_thread_num() -> c_int { 0 }
    }
    "GOACC_2.0.1" {
        fn GOACC_parallel_keyed(
            _flags: c_int, body: Body, count: usize, addresses: *mut *mut c_void, sizes: *mut usize, kinds: *mut u16,
        ) {
            // SAFETY: the compiler passes a body with its data.
            unsafe { region(body, count, addresses, sizes, kinds) }
        }
        fn GOACC_declare(_flags: c_int, _count: usize, _addresses: *mut *mut c_void, _sizes: *mut usize, _kinds: *mut u16) {}
    }
    "GOACC_2.0.2" {
        fn GOACC_enter_data GOACC_exit_data(
            _flags: c_int, _count: usize, _addresses: *mut *mut c_void, _sizes: *mut usize, _kinds: *mut u16, _queue: c_int,
        ) {}
    }
}
