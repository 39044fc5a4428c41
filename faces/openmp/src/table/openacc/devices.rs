//! Questions about devices, and queues. Every wait is over: nothing is put off.
use crate::export::entries;
use core::ffi::{CStr, c_int, c_uint, c_void};
use core::ptr::null_mut;

/// Numbers of kinds of devices that stand for the host: the usual one, and itself.
const USUAL: c_uint = 1;
const HOST: c_uint = 2;
/// The device that the thread has.
const CURRENT: c_uint = c_uint::MAX;
/// No device, which the host is as well.
const NONE: c_uint = 0;

/// How many devices of a kind there are.
fn count(kind: c_uint) -> c_int {
    (kind == USUAL || kind == HOST).into()
}

/// The last kind of a device that the standard's header names.
const LAST: c_uint = 8;

/// Ends a program that asks for a kind of device which nothing knows. The others are the host, for want of
/// them.
fn reach(kind: c_uint) {
    if kind > LAST && kind != CURRENT {
        eprintln!("foregather: there is no kind of device with the number {kind}");
        std::process::exit(1);
    }
}

/// Returns 1 if the calling thread runs on a device of this kind, else 0.
fn is_on(kind: c_uint) -> c_int {
    (kind == NONE || kind == HOST).into()
}

/// What the host says of itself, as the GNU runtime has it; `None` for what is no text.
fn property(which: c_int) -> Option<&'static CStr> {
    match which {
        0x1_0001 => Some(c"GOMP"),
        0x1_0002 => Some(c"GNU"),
        0x1_0003 => Some(c"1.0"),
        _ => None,
    }
}

pub(in crate::table) mod pairs {
    use super::*;
    use crate::export::pairs;
    pairs! {
        "OACC_2.0" {
            fn acc_get_num_devices acc_get_num_devices_h_(kind: c_uint) -> c_int { count(kind) }
            fn acc_set_device_type acc_set_device_type_h_(kind: c_uint) { reach(kind); }
            fn acc_get_device_type acc_get_device_type_h_() -> c_uint { HOST }
            fn acc_set_device_num acc_set_device_num_h_(_number: c_int, kind: c_uint) { reach(kind); }
            fn acc_get_device_num acc_get_device_num_h_(_kind: c_uint) -> c_int { 0 }
            fn acc_on_device acc_on_device_h_(kind: c_uint) -> c_int { is_on(kind) }
            fn acc_init acc_init_h_(kind: c_uint) { reach(kind); }
            fn acc_shutdown acc_shutdown_h_(_kind: c_uint) {}
            fn acc_async_test acc_async_test_h_(_queue: c_int) -> c_int { 1 }
            fn acc_async_test_all acc_async_test_all_h_() -> c_int { 1 }
            fn acc_wait acc_wait_h_(_queue: c_int) {}
            fn acc_wait_all acc_wait_all_h_() {}
            fn acc_wait_async acc_wait_async_h_(_one: c_int, _other: c_int) {}
            fn acc_wait_all_async acc_wait_all_async_h_(_queue: c_int) {}
        }
    }
}

entries! {
    "OACC_2.0" {
        fn acc_get_current_cuda_device acc_get_current_cuda_context() -> *mut c_void { null_mut() }
        fn acc_get_cuda_stream(_queue: c_int) -> *mut c_void { null_mut() }
        fn acc_set_cuda_stream(_queue: c_int, _stream: *mut c_void) -> c_int { 0 }
    }
    "OACC_2.0.1" {
        fn acc_async_wait(_queue: c_int) {}
        fn acc_async_wait_all() {}
    }
    "OACC_2.6" {
        // The host tells none of its numbers.
        fn acc_get_property acc_get_property_h_(_number: c_int, _kind: c_uint, _which: c_int) -> usize { 0 }
        fn acc_get_property_string(_number: c_int, _kind: c_uint, which: c_int) -> *const core::ffi::c_char {
            property(which).map_or(core::ptr::null(), CStr::as_ptr)
        }
        fn acc_get_property_string_h_(_number: c_int, _kind: c_uint, which: c_int, text: *mut u8, size: usize) {
            let name = property(which).map_or(&[][..], CStr::to_bytes);
            // SAFETY: programs in Fortran pass a text's own length.
            unsafe { crate::table::places::give_fortran(name, text, size) };
        }
    }
}
