//! Data calls: the host's memory is the device's, so an address is its own counterpart, and nothing is copied
//! but by the calls that copy memory.
use crate::export::entries;
use core::ffi::{c_int, c_void};

/// Ends a program that maps data of its own, which it does only where the device has memory of its own.
fn refuse(name: &str) -> ! {
    eprintln!("foregather: {name}: the host is the device, and its memory cannot be mapped to other memory");
    std::process::exit(1);
}

/// Copies memory of the host.
///
/// # Safety
/// Both have that length.
unsafe fn copy(to: *mut c_void, from: *const c_void, bytes: usize) {
    // SAFETY: by this function's contract.
    unsafe { to.cast::<u8>().copy_from(from.cast(), bytes) }
}

entries! {
    "OACC_2.0" {
        // What gives the address that data has on the device.
        fn acc_copyin acc_create acc_present_or_copyin acc_present_or_create
        (address: *mut c_void, _bytes: usize) -> *mut c_void { address }
        // What only moves data, or ends its life on the device.
        fn acc_copyout acc_delete acc_update_device acc_update_self(_address: *mut c_void, _bytes: usize) {}
        // For Fortran: by an address with a length of either size, which stands behind an address, too.
        fn acc_copyin_32_h_ acc_copyin_64_h_ acc_copyout_32_h_ acc_copyout_64_h_ acc_create_32_h_
            acc_create_64_h_ acc_delete_32_h_ acc_delete_64_h_ acc_present_or_copyin_32_h_
            acc_present_or_copyin_64_h_ acc_present_or_create_32_h_ acc_present_or_create_64_h_
            acc_update_device_32_h_ acc_update_device_64_h_ acc_update_self_32_h_ acc_update_self_64_h_
        (_address: *mut c_void, _bytes: *const c_void) {}
        // For Fortran: by the description of an array.
        fn acc_copyin_array_h_ acc_copyout_array_h_ acc_create_array_h_ acc_delete_array_h_
            acc_present_or_copyin_array_h_ acc_present_or_create_array_h_ acc_update_device_array_h_
            acc_update_self_array_h_
        (_array: *const c_void) {}
        fn acc_is_present(address: *mut c_void, _bytes: usize) -> c_int {
            (!address.is_null()).into()
        }
        fn acc_is_present_32_h_ acc_is_present_64_h_(_address: *mut c_void, _bytes: *const c_void) -> c_int { 1 }
        fn acc_is_present_array_h_(_array: *const c_void) -> c_int { 1 }
        fn acc_malloc(bytes: usize) -> *mut c_void {
            // SAFETY: it has no contract.
            if bytes == 0 { core::ptr::null_mut() } else { unsafe { libc::malloc(bytes) } }
        }
        fn acc_free(memory: *mut c_void) {
            // SAFETY: the program gives back what it got of `acc_malloc`.
            unsafe { libc::free(memory) }
        }
        fn acc_deviceptr acc_hostptr(address: *mut c_void) -> *mut c_void {
            address
        }
        fn acc_map_data(_host: *mut c_void, _device: *mut c_void, _bytes: usize) {
            refuse("acc_map_data");
        }
        fn acc_unmap_data(_host: *mut c_void) {
            refuse("acc_unmap_data");
        }
        fn acc_memcpy_to_device acc_memcpy_from_device(to: *mut c_void, from: *mut c_void, bytes: usize) {
            // SAFETY: the program names memory that it has.
            unsafe { copy(to, from, bytes) }
        }
    }
    "OACC_2.5" {
        // What only moves data, or ends its life on the device.
        fn acc_copyout_finalize acc_delete_finalize(_address: *mut c_void, _bytes: usize) {}
        fn acc_copyin_async acc_create_async acc_copyout_async acc_delete_async acc_update_device_async
            acc_update_self_async acc_copyout_finalize_async acc_delete_finalize_async
        (_address: *mut c_void, _bytes: usize, _queue: c_int) {}
        // For Fortran: by an address with a length of either size, which stands behind an address, too.
        fn acc_copyout_finalize_32_h_ acc_copyout_finalize_64_h_ acc_delete_finalize_32_h_
            acc_delete_finalize_64_h_
        (_address: *mut c_void, _bytes: *const c_void) {}
        fn acc_copyin_async_32_h_ acc_copyin_async_64_h_ acc_copyout_async_32_h_ acc_copyout_async_64_h_
            acc_create_async_32_h_ acc_create_async_64_h_ acc_delete_async_32_h_ acc_delete_async_64_h_
            acc_update_device_async_32_h_ acc_update_device_async_64_h_ acc_update_self_async_32_h_
            acc_update_self_async_64_h_
        (_address: *mut c_void, _bytes: *const c_void, _queue: *const c_int) {}
        // For Fortran: by the description of an array.
        fn acc_copyout_finalize_array_h_ acc_delete_finalize_array_h_(_array: *const c_void) {}
        fn acc_copyin_async_array_h_ acc_copyout_async_array_h_ acc_create_async_array_h_
            acc_delete_async_array_h_ acc_update_device_async_array_h_ acc_update_self_async_array_h_
        (_array: *const c_void, _queue: *const c_int) {}
        fn acc_memcpy_to_device_async acc_memcpy_from_device_async(to: *mut c_void, from: *mut c_void, bytes: usize, _queue: c_int) {
            // SAFETY: the program names memory that it has.
            unsafe { copy(to, from, bytes) }
        }
    }
    "OACC_2.6.1" {
        fn acc_copyout_finalize_async_32_h_ acc_copyout_finalize_async_64_h_
            acc_delete_finalize_async_32_h_ acc_delete_finalize_async_64_h_
        (_address: *mut c_void, _bytes: *const c_void, _queue: *const c_int) {}
        fn acc_copyout_finalize_async_array_h_ acc_delete_finalize_async_array_h_
        (_array: *const c_void, _queue: *const c_int) {}
        fn acc_memcpy_device(to: *mut c_void, from: *mut c_void, bytes: usize) {
            // SAFETY: the program names memory that it has.
            unsafe { copy(to, from, bytes) }
        }
        fn acc_memcpy_device_async(to: *mut c_void, from: *mut c_void, bytes: usize, _queue: c_int) {
            // SAFETY: the program names memory that it has.
            unsafe { copy(to, from, bytes) }
        }
    }
    "OACC_2.0.1" {
        // What gives the address that data has on the device.
        fn acc_pcopyin acc_pcreate(address: *mut c_void, _bytes: usize) -> *mut c_void { address }
    }
    "OACC_2.6" {
        // Pointers within data that was mapped.
        fn acc_attach acc_detach acc_detach_finalize(_pointer: *mut *mut c_void) {}
        fn acc_attach_async acc_detach_async acc_detach_finalize_async
        (_pointer: *mut *mut c_void, _queue: c_int) {}
    }
}
