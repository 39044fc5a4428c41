//! Places, the threads bound to them, and texts about both.
use super::queries::int;
use crate::export::entries;
use core::ffi::{CStr, c_char, c_int};
use foregather_openmp::{DisplayEnv, affinity_format, icvs, partition, place, settings};
use std::io::Write;

entries! {
    "OMP_4.0" {
        fn omp_get_proc_bind omp_get_proc_bind_() -> c_int { icvs().bind as c_int }
    }
    "OMP_4.5" {
        fn omp_get_num_places omp_get_num_places_() -> c_int { int(settings().places.places.len() as u32) }
        fn omp_get_place_num omp_get_place_num_() -> c_int { place().map_or(-1, int) }
        fn omp_get_partition_num_places omp_get_partition_num_places_() -> c_int { partition().map_or(0, |all| int(all.count)) }
    }
}

/// The processors of a place; none if there is no such place.
fn processors(place: i64) -> &'static [u32] {
    let place = usize::try_from(place).ok().and_then(|place| settings().places.places.get(place));
    place.map_or(&[], Vec::as_slice)
}

/// Writes numbers to the program's memory.
///
/// # Safety
/// `to` is null, or there is room for all of them.
unsafe fn write<T: From<c_int>>(numbers: impl Iterator<Item = u32>, to: *mut T) {
    if !to.is_null() {
        for (at, number) in numbers.enumerate() {
            // SAFETY: by this function's contract.
            unsafe { to.add(at).write(T::from(int(number))) };
        }
    }
}

/// The places of the calling thread's regions.
fn places() -> impl Iterator<Item = u32> {
    partition().into_iter().flat_map(|all| all.first..all.first + all.count)
}

pub(super) mod numbers {
    use super::*;
    use crate::export::numbers;
    numbers! {
        "OMP_4.5" {
            fn omp_get_place_num_procs omp_get_place_num_procs_ omp_get_place_num_procs_8_(place) -> c_int {
                int(processors(place).len() as u32)
            }
        }
        "OMP_5.1" {
            fn omp_display_env omp_display_env_ omp_display_env_8_(all) { show_settings(all != 0); }
        }
    }
}

pub(super) mod numbered {
    use super::*;
    entries! {
        "OMP_4.5" {
            fn omp_get_place_proc_ids(place: c_int, ids: *mut c_int) {
                // SAFETY: the program has made room for the processors of the place.
                unsafe { write(processors(place.into()).iter().copied(), ids) }
            }
            fn omp_get_place_proc_ids_(place: &c_int, ids: *mut c_int) {
                // SAFETY: the program has made room for the processors of the place.
                unsafe { write(processors((*place).into()).iter().copied(), ids) }
            }
            fn omp_get_place_proc_ids_8_(place: &i64, ids: *mut i64) {
                // SAFETY: the program has made room for the processors of the place.
                unsafe { write(processors(*place).iter().copied(), ids) }
            }
            fn omp_get_partition_place_nums omp_get_partition_place_nums_(to: *mut c_int) {
                // SAFETY: the program has made room for the places of its partition.
                unsafe { write(places(), to) }
            }
            fn omp_get_partition_place_nums_8_(to: *mut i64) {
                // SAFETY: the program has made room for the places of its partition.
                unsafe { write(places(), to) }
            }
        }
    }
}

/// The text of a program in C; none for null.
///
/// # Safety
/// `text` is null, or a string that ends with a zero and outlives the result.
unsafe fn of_c<'t>(text: *const c_char) -> &'t [u8] {
    // SAFETY: by this function's contract.
    if text.is_null() { &[] } else { unsafe { CStr::from_ptr(text) }.to_bytes() }
}

/// The text of a program in Fortran.
///
/// # Safety
/// `text` has that length, and outlives the result.
unsafe fn of_fortran<'t>(text: *const u8, length: usize) -> &'t [u8] {
    // SAFETY: by this function's contract.
    if length == 0 { &[] } else { unsafe { core::slice::from_raw_parts(text, length) } }
}

/// Gives a program in C as much of a text as fits, and a zero. Returns the whole length.
///
/// # Safety
/// `buffer` has that size, or the size is 0.
unsafe fn give_c(text: &[u8], buffer: *mut c_char, size: usize) -> usize {
    if let Some(most) = size.checked_sub(1).filter(|_| !buffer.is_null()) {
        let length = text.len().min(most);
        // SAFETY: by this function's contract the zero fits, too.
        unsafe {
            buffer.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), length);
            buffer.add(length).write(0);
        }
    }
    text.len()
}

/// Gives a program in Fortran as much of a text as fits, and blanks. Returns the whole length.
///
/// # Safety
/// `buffer` has that size.
pub(super) unsafe fn give_fortran(text: &[u8], buffer: *mut u8, size: usize) -> c_int {
    let length = text.len().min(size);
    if size > 0 {
        // SAFETY: by this function's contract.
        unsafe {
            buffer.copy_from_nonoverlapping(text.as_ptr(), length);
            buffer.add(length).write_bytes(b' ', size - length);
        }
    }
    int(text.len() as u32)
}

/// Shows the calling thread on standard error.
fn show(format: &[u8]) {
    let mut line = affinity_format::shown(format);
    line.push(b'\n');
    // Without a place for it there is nothing to show.
    let _ = std::io::stderr().write_all(&line);
}

/// Shows the settings on standard error.
fn show_settings(all: bool) {
    eprint!("{}", settings().text(if all { DisplayEnv::All } else { DisplayEnv::Standard }));
}

pub(super) mod shown {
    use super::*;
    entries! {
        "OMP_5.0" {
            fn omp_set_affinity_format(format: *const c_char) {
                // SAFETY: programs in C pass a string.
                affinity_format::set_format(unsafe { of_c(format) });
            }
            fn omp_get_affinity_format(buffer: *mut c_char, size: usize) -> usize {
                // SAFETY: programs pass a buffer's own size.
                unsafe { give_c(&affinity_format::format(), buffer, size) }
            }
            fn omp_display_affinity(format: *const c_char) {
                // SAFETY: programs in C pass a string, and a buffer's own size.
                show(unsafe { of_c(format) });
            }
            fn omp_capture_affinity(buffer: *mut c_char, size: usize, format: *const c_char) -> usize {
                // SAFETY: programs in C pass a string, and a buffer's own size.
                unsafe { give_c(&affinity_format::shown(of_c(format)), buffer, size) }
            }
            fn omp_set_affinity_format_(format: *const u8, length: usize) {
                // SAFETY: programs in Fortran pass a text's own length.
                affinity_format::set_format(unsafe { of_fortran(format, length) }.trim_ascii_end());
            }
            fn omp_get_affinity_format_(buffer: *mut u8, size: usize) -> c_int {
                // SAFETY: programs in Fortran pass a text's own length.
                unsafe { give_fortran(&affinity_format::format(), buffer, size) }
            }
            fn omp_display_affinity_(format: *const u8, length: usize) {
                // SAFETY: programs in Fortran pass a text's own length.
                show(unsafe { of_fortran(format, length) });
            }
            fn omp_capture_affinity_(buffer: *mut u8, format: *const u8, size: usize, length: usize) -> c_int {
                // SAFETY: programs in Fortran pass a text's own length.
                unsafe {
                    let text = affinity_format::shown(of_fortran(format, length));
                    give_fortran(&text, buffer, size)
                }
            }
        }
    }
}
