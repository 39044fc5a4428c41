//! Objects by which other runtimes of a device are reached, and devices' names. The host has no such runtime,
//! so every object is none.
use crate::export::entries;
use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::ptr::{null, null_mut};
use foregather_openmp::icvs;

/// An object as programs have it; 0 is none.
type Interop = usize;

/// What a question about an object came to.
mod answer {
    use super::c_int;
    pub(super) const NONE: c_int = -1;
    pub(super) const NO_PROPERTY: c_int = -2;
}

/// Properties of objects, which have the numbers from -1 down.
const PROPERTIES: [&CStr; 9] =
    [c"fr_id", c"fr_name", c"vendor", c"vendor_name", c"device_num", c"platform", c"device", c"device_context", c"targetsync"];

/// The name of a property; null for none.
fn name(property: c_int) -> Option<&'static CStr> {
    let at = property.checked_neg().and_then(|number| usize::try_from(number).ok())?.checked_sub(1)?;
    PROPERTIES.get(at).copied()
}

/// What an answer means.
fn meaning(answer: c_int) -> Option<&'static CStr> {
    match answer {
        1 => Some(c"the property has no value here"),
        0 => Some(c"the value was given"),
        answer::NONE => Some(c"the object is none"),
        answer::NO_PROPERTY => Some(c"there is no such property"),
        -3 => Some(c"the property is an integer"),
        -4 => Some(c"the property is an address"),
        -5 => Some(c"the property is a text"),
        _ => None,
    }
}

/// Says what the question about a property came to.
///
/// # Safety
/// `answer` is null, or a variable of the caller.
unsafe fn answer_of(property: c_int, answer: *mut c_int) {
    let came_to = if name(property).is_some() { answer::NONE } else { answer::NO_PROPERTY };
    // SAFETY: by this function's contract.
    if let Some(answer) = unsafe { answer.as_mut() } {
        *answer = came_to;
    }
}

/// A text for C; null for none.
fn for_c(text: Option<&'static CStr>) -> *const c_char {
    text.map_or(null(), CStr::as_ptr)
}

/// A text for Fortran, as its functions give texts of any length: an address, null for none, and a length.
///
/// # Safety
/// Both are variables of the caller.
unsafe fn for_fortran(text: Option<&'static CStr>, address: *mut *const c_char, length: *mut usize) {
    // SAFETY: by this function's contract.
    unsafe {
        address.write(for_c(text));
        length.write(text.map_or(0, CStr::count_bytes));
    }
}

/// The host's name.
const HOST: &CStr = c"OMP_INITIAL_DEVICE";

/// Numbers of the first device, of no device, and of the task's usual one.
const FIRST: i64 = -1;
const INVALID: c_int = -4;
const USUAL: i64 = -5;

/// The name of a device.
fn uid(device: i64) -> Option<&'static CStr> {
    let device = if device == USUAL { icvs().device.into() } else { device };
    (device == FIRST || device == 0).then_some(HOST)
}

/// The device of a name.
fn device_of(uid: &[u8]) -> c_int {
    if uid == HOST.to_bytes() { 0 } else { INVALID }
}

entries! {
    "GOMP_5.1.3" {
        fn GOMP_interop(
            _device: c_int, begun: c_int, begin: *mut *mut Interop, _demands: *const c_int, _prefers: *mut *const c_char,
            _used: c_int, _use: *mut Interop, ended: c_int, end: *mut *mut Interop, _flags: c_uint, _depend: *mut *mut c_void,
        ) {
            for (count, objects) in [(begun, begin), (ended, end)] {
                for at in 0..usize::try_from(count).unwrap_or(0) {
                    // SAFETY: the compiler passes the addresses of `count` objects.
                    unsafe { objects.add(at).read().write(0) };
                }
            }
        }
        fn omp_get_num_interop_properties(_object: Interop) -> c_int {
            0
        }
        fn omp_get_interop_int(_object: Interop, property: c_int, answer: *mut c_int) -> isize {
            // SAFETY: the program passes null, or a variable of its own.
            unsafe { answer_of(property, answer) };
            0
        }
        fn omp_get_interop_ptr(_object: Interop, property: c_int, answer: *mut c_int) -> *mut c_void {
            // SAFETY: the program passes null, or a variable of its own.
            unsafe { answer_of(property, answer) };
            null_mut()
        }
        fn omp_get_interop_str(_object: Interop, property: c_int, answer: *mut c_int) -> *const c_char {
            // SAFETY: the program passes null, or a variable of its own.
            unsafe { answer_of(property, answer) };
            null()
        }
        fn omp_get_interop_str_(
            address: *mut *const c_char, length: *mut usize, _object: Interop, property: c_int, answer: *mut c_int,
        ) {
            // SAFETY: the compiler passes variables for the result, and null or the program's for the answer.
            unsafe {
                answer_of(property, answer);
                for_fortran(None, address, length);
            }
        }
        fn omp_get_interop_name(_object: Interop, property: c_int) -> *const c_char {
            for_c(name(property))
        }
        fn omp_get_interop_name_(address: *mut *const c_char, length: *mut usize, _object: Interop, property: c_int) {
            // SAFETY: the compiler passes variables for the result.
            unsafe { for_fortran(name(property), address, length) }
        }
        fn omp_get_interop_type_desc(_object: Interop, _property: c_int) -> *const c_char {
            null()
        }
        fn omp_get_interop_type_desc_(address: *mut *const c_char, length: *mut usize, _object: Interop, _property: c_int) {
            // SAFETY: the compiler passes variables for the result.
            unsafe { for_fortran(None, address, length) }
        }
        fn omp_get_interop_rc_desc(_object: Interop, answer: c_int) -> *const c_char {
            for_c(meaning(answer))
        }
        fn omp_get_interop_rc_desc_(address: *mut *const c_char, length: *mut usize, _object: Interop, answer: c_int) {
            // SAFETY: the compiler passes variables for the result.
            unsafe { for_fortran(meaning(answer), address, length) }
        }
    }
    "GOMP_6.0" {
        fn omp_get_uid_from_device(device: c_int) -> *const c_char {
            for_c(uid(device.into()))
        }
        fn omp_get_uid_from_device_(address: *mut *const c_char, length: *mut usize, device: i32) {
            // SAFETY: the compiler passes variables for the result.
            unsafe { for_fortran(uid(device.into()), address, length) }
        }
        fn omp_get_uid_from_device_8_(address: *mut *const c_char, length: *mut usize, device: i64) {
            // SAFETY: the compiler passes variables for the result.
            unsafe { for_fortran(uid(device), address, length) }
        }
        fn omp_get_device_from_uid(uid: *const c_char) -> c_int {
            // SAFETY: the program passes null, or a string that ends with a zero.
            if uid.is_null() { INVALID } else { device_of(unsafe { CStr::from_ptr(uid) }.to_bytes()) }
        }
        fn omp_get_device_from_uid_(uid: *const u8, length: usize) -> c_int {
            if uid.is_null() {
                return INVALID;
            }
            // SAFETY: the compiler passes a text with its length.
            device_of(unsafe { core::slice::from_raw_parts(uid, length) })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_and_answers_have_names() {
        assert_eq!(
            [name(-1), name(-9), name(-10), name(0), name(c_int::MIN)],
            [Some(c"fr_id"), Some(c"targetsync"), None, None, None]
        );
        assert!((-5..=1).all(|answer| meaning(answer).is_some()) && meaning(-6).is_none() && meaning(2).is_none());
    }

    #[test]
    fn the_host_is_the_one_device_with_a_name() {
        assert_eq!([uid(-1), uid(0), uid(1), uid(-4)], [Some(HOST), Some(HOST), None, None]);
        assert_eq!([device_of(HOST.to_bytes()), device_of(b"OMP")], [0, INVALID]);
    }
}
