//! What plug-ins for devices and profilers call. None is loaded here, so these serve programs that only link
//! with the names: no event is ever reported.
use crate::export::entries;
use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::ptr::null_mut;

/// Says what a plug-in says. Its values are left out.
///
/// # Safety
/// `format` is a string that ends with a zero.
unsafe fn say(format: *const c_char) {
    // SAFETY: by this function's contract.
    eprintln!("foregather: a plug-in: {}", unsafe { CStr::from_ptr(format) }.to_string_lossy());
}

/// Memory that was asked for, or the program's end.
fn or_end(memory: *mut c_void, bytes: usize) -> *mut c_void {
    assert!(!memory.is_null() || bytes == 0, "out of memory for {bytes} bytes of a plug-in");
    memory
}

entries! {
    "OACC_2.5.1" {
        fn acc_prof_register(_event: c_uint, _callback: *const c_void, _how: c_uint) {}
        fn acc_prof_unregister(_event: c_uint, _callback: *const c_void, _how: c_uint) {}
        fn acc_prof_lookup(_name: *const c_char) -> *mut c_void {
            null_mut()
        }
        fn acc_register_library(_register: *const c_void, _unregister: *const c_void, _lookup: *const c_void) {}
    }
    "GOMP_PLUGIN_1.0" {
        fn GOMP_PLUGIN_malloc(bytes: usize) -> *mut c_void {
            // SAFETY: it has no contract.
            or_end(unsafe { libc::malloc(bytes) }, bytes)
        }
        fn GOMP_PLUGIN_malloc_cleared(bytes: usize) -> *mut c_void {
            // SAFETY: it has no contract.
            or_end(unsafe { libc::calloc(1, bytes) }, bytes)
        }
        fn GOMP_PLUGIN_realloc(memory: *mut c_void, bytes: usize) -> *mut c_void {
            // SAFETY: the plug-in passes what it got here.
            or_end(unsafe { libc::realloc(memory, bytes) }, bytes)
        }
        fn GOMP_PLUGIN_debug(_level: c_int, _format: *const c_char) {}
        fn GOMP_PLUGIN_error(format: *const c_char) {
            // SAFETY: the plug-in passes a format.
            unsafe { say(format) }
        }
        fn GOMP_PLUGIN_fatal(format: *const c_char) {
            // SAFETY: the plug-in passes a format.
            unsafe { say(format) }
            std::process::exit(1);
        }
        fn GOMP_PLUGIN_async_unmap_vars(_what: *mut c_void, _queue: c_int) {}
        fn GOMP_PLUGIN_acc_thread() -> *mut c_void {
            null_mut()
        }
    }
    "GOMP_PLUGIN_1.1" {
        fn GOMP_PLUGIN_target_task_completion(_task: *mut c_void) {}
    }
    "GOMP_PLUGIN_1.2" {
        fn GOMP_PLUGIN_acc_default_dim(_dimension: c_uint) -> c_int {
            1
        }
    }
    "GOMP_PLUGIN_1.3" {
        fn GOMP_PLUGIN_goacc_profiling_dispatch(_profile: *mut c_void, _event: *mut c_void, _api: *mut c_void) {}
        fn GOMP_PLUGIN_goacc_thread() -> *mut c_void {
            null_mut()
        }
    }
    "GOMP_PLUGIN_1.4" {
        fn GOMP_PLUGIN_target_rev(
            _function: u64, _count: u64, _addresses: u64, _sizes: u64, _kinds: u64, _device: c_int,
        ) {}
    }
}
