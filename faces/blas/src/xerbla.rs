//! Reports a wrong argument: `xerbla_` and `cblas_xerbla`, which a program may replace by its own.
//!
//! The loader prefers a definition in the program. Calls go through relocated pointers that are read as
//! volatile, so that the compiler cannot take the definition here, which does not return, for the one that
//! will be called.
use std::ffi::{CStr, c_char, c_int};
use std::io::Write;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

type Fortran<I> = unsafe extern "C" fn(*const u8, *const I, usize);
type C = unsafe extern "C" fn(c_int, *const c_char, *const c_char, ...);

/// Room for a name. R's handler copies up to twenty bytes, whatever the length, unless a nought comes before.
const NAME_BYTES: usize = 24;
/// Names are padded to this length, which handlers compare.
const NAME_BYTES_LEAST: usize = 6;

/// The reference CBLAS sets it during a call in C's order, when positions are those of the swapped Fortran
/// call. Handlers of its testers read it. Positions here are always those of the caller's own list.
#[unsafe(export_name = "RowMajorStrg")]
static ROW_MAJOR: AtomicI32 = AtomicI32::new(0);

/// The reference CBLAS sets it while it calls its Fortran routines; this library calls none.
#[unsafe(export_name = "CBLAS_CallFromC")]
#[used]
static CALLED_FROM_C: AtomicI32 = AtomicI32::new(0);

static FORTRAN: Fortran<i32> = xerbla_;
static FORTRAN_WIDE: Fortran<i64> = xerbla_64_;
// SAFETY: by the calling conventions of Linux a function may be given more arguments than it declares, and
// all supported processors pass the three named ones alike with and without others after them.
static C_HANDLER: C =
    unsafe { std::mem::transmute::<unsafe extern "C" fn(c_int, *const c_char, *const c_char), C>(cblas_xerbla) };

/// Reports an argument of a Fortran routine with 32-bit integers.
pub(crate) fn fortran(name: &str, position: u32) {
    let (padded, length) = padded(name);
    // SAFETY: the pointer holds `xerbla_`, this library's or the program's; the standard's arguments, with
    // the string's length at the end.
    unsafe { (&raw const FORTRAN).read_volatile()(padded.as_ptr(), &(position as i32), length) }
}

/// Reports an argument of a Fortran routine with 64-bit integers.
pub(crate) fn fortran_wide(name: &str, position: u32) {
    let (padded, length) = padded(name);
    // SAFETY: the pointer holds `xerbla_64_`, this library's or the program's; the standard's arguments, with
    // the string's length at the end.
    unsafe { (&raw const FORTRAN_WIDE).read_volatile()(padded.as_ptr(), &i64::from(position), length) }
}

/// Reports an argument of a C routine, whose name ends with a nought.
pub(crate) fn c(name: &'static str, position: u32) {
    let row_major = ROW_MAJOR.swap(0, Relaxed);
    // SAFETY: the pointer holds `cblas_xerbla`, this library's or the program's; strings end with noughts,
    // the format takes no arguments.
    unsafe { (&raw const C_HANDLER).read_volatile()(position as c_int, name.as_ptr().cast(), c"".as_ptr()) };
    ROW_MAJOR.store(row_major, Relaxed);
}

/// The name in upper case, and its length with blanks; noughts follow.
fn padded(name: &str) -> ([u8; NAME_BYTES], usize) {
    let length = name.len().clamp(NAME_BYTES_LEAST, NAME_BYTES - 1);
    let mut bytes = [0; NAME_BYTES];
    bytes[..length].fill(b' ');
    for (to, from) in bytes[..length].iter_mut().zip(name.bytes()) {
        *to = from.to_ascii_uppercase();
    }
    (bytes, length)
}

/// Writes what is wrong and ends the process, as the standard's handler does.
fn stop(name: &[u8], position: i64) -> ! {
    let name = String::from_utf8_lossy(name);
    let name = name.trim_end();
    // An error would mean that standard error is closed: there is no other place to report it.
    let _ = writeln!(std::io::stderr(), " ** On entry to {name} parameter number {position} had an illegal value");
    std::process::exit(1)
}

/// A Fortran string.
///
/// # Safety
/// `length` bytes can be read.
unsafe fn string<'a>(first: *const u8, length: usize) -> &'a [u8] {
    // SAFETY: by this function's contract `length` bytes can be read.
    unsafe { std::slice::from_raw_parts(first, length) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn xerbla_(name: *const u8, position: *const i32, length: usize) {
    // SAFETY: the standard's arguments.
    unsafe { stop(string(name, length), (*position).into()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn xerbla_64_(name: *const u8, position: *const i64, length: usize) {
    // SAFETY: the standard's arguments.
    unsafe { stop(string(name, length), *position) }
}

/// The form for callers without Fortran strings: an array of characters and its length.
#[unsafe(no_mangle)]
unsafe extern "C" fn xerbla_array_(name: *const u8, length: *const i32, position: *const i32) {
    // SAFETY: the standard's arguments; the pointer holds `xerbla_`, this library's or the program's.
    unsafe { (&raw const FORTRAN).read_volatile()(name, position, (*length).max(0) as usize) }
}

/// The arguments that other libraries pass behind `form` are not printed.
#[unsafe(no_mangle)]
unsafe extern "C" fn cblas_xerbla(position: c_int, name: *const c_char, _form: *const c_char) {
    // SAFETY: a string that ends with a nought.
    let name = unsafe { CStr::from_ptr(name) };
    stop(name.to_bytes(), position.into())
}

/// Whether two letters are equal but for their case: a helper of the reference set that LAPACK calls.
#[unsafe(no_mangle)]
unsafe extern "C" fn lsame_(one: *const u8, other: *const u8, _lengths: usize, _: usize) -> c_int {
    // SAFETY: Fortran strings of one character at least.
    unsafe { (*one).eq_ignore_ascii_case(&*other) }.into()
}

#[cfg(test)]
mod tests {
    use super::padded;

    #[test]
    fn names_have_six_letters_at_least_and_end_with_noughts() {
        for (name, length, text) in [("dgemm", 6, &b"DGEMM \0"[..]), ("dgemmtr", 7, b"DGEMMTR\0"), ("xerbla", 6, b"XERBLA\0")] {
            let (bytes, found) = padded(name);
            assert_eq!((found, &bytes[..text.len()]), (length, text));
            assert!(bytes.len() > 20 && bytes[length..].iter().all(|&byte| byte == 0), "{name}");
        }
    }
}
