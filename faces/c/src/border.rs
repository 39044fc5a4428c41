//! What each function does where C begins: no panic goes across, nulls are errors, and versions are compared.
use crate::failure::{INVALID, PANIC, Refusal, VERSION_DIFFERS};
use crate::slots::{self, Handle, Thing};
use core::ffi::{c_char, c_int};
use core::mem::MaybeUninit;
use core::time::Duration;
use foregather::SharedElement;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, TryLockError};

/// The numbers of this library's version.
const MAJOR: u32 = number(env!("CARGO_PKG_VERSION_MAJOR"));
const MINOR: u32 = number(env!("CARGO_PKG_VERSION_MINOR"));
const PATCH: u32 = number(env!("CARGO_PKG_VERSION_PATCH"));

const fn number(text: &str) -> u32 {
    let (bytes, mut at, mut number) = (text.as_bytes(), 0, 0);
    while at < bytes.len() {
        number = number * 10 + (bytes[at] - b'0') as u32;
        at += 1;
    }
    number
}

/// The body of a function: 0, or the code of an error that becomes the last one of this thread.
#[inline]
pub(crate) fn call(body: impl FnOnce() -> Result<(), Refusal>) -> c_int {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => 0,
        Ok(Err(failure)) => failure.tell(),
        Err(panic) => panicked(&*panic).tell(),
    }
}

#[cold]
fn panicked(panic: &(dyn core::any::Any + Send)) -> Refusal {
    let words = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    Refusal::new(PANIC, format!("this library has failed: {}", words.unwrap_or("a panic without words")))
}

/// The place for a result.
///
/// # Safety
/// `into` is null, or points to memory for a `T` that no other thread uses during `'a`.
#[inline]
pub(crate) unsafe fn place<'a, T>(into: *mut T) -> Result<&'a mut MaybeUninit<T>, Refusal> {
    // SAFETY: by this function's contract; what is there need not be initialised.
    unsafe { into.cast::<MaybeUninit<T>>().as_mut() }.ok_or_else(|| Refusal::new(INVALID, "the place for a result is null"))
}

/// The bytes of a caller.
///
/// # Safety
/// `at` is null, or points to `length` bytes that are not written during `'a`.
#[inline]
pub(crate) unsafe fn bytes<'a>(at: *const u8, length: usize) -> Result<&'a [u8], Refusal> {
    check_room(at, length)?;
    // SAFETY: by this function's contract; the length was checked.
    Ok(if length == 0 { &[] } else { unsafe { core::slice::from_raw_parts(at, length) } })
}

/// The elements of a caller, of a type whose every pattern of bits is a value.
///
/// # Safety
/// `at` is null, or points to `count` elements that are not written during `'a`.
pub(crate) unsafe fn elements<'a, T: SharedElement>(at: *const T, count: usize) -> Result<&'a [T], Refusal> {
    check_aligned(at, count)?;
    // SAFETY: by this function's contract; length and alignment were checked.
    Ok(if count == 0 { &[] } else { unsafe { core::slice::from_raw_parts(at, count) } })
}

/// # Safety
/// `at` is null, or points to `count` elements that no other thread uses during `'a`. C knows no
/// uninitialised bytes; they are read by no code before they are written.
pub(crate) unsafe fn elements_mut<'a, T: SharedElement>(at: *mut T, count: usize) -> Result<&'a mut [T], Refusal> {
    check_aligned(at, count)?;
    // SAFETY: by this function's contract; length and alignment were checked.
    Ok(if count == 0 { &mut [] } else { unsafe { core::slice::from_raw_parts_mut(at, count) } })
}

fn check_aligned<T>(at: *const T, count: usize) -> Result<(), Refusal> {
    check_room(at.cast(), count.saturating_mul(size_of::<T>()))?;
    if at.is_aligned() {
        return Ok(());
    }
    let what = format!("elements of {} bytes cannot begin at {at:?}: an address has to be a multiple of that", size_of::<T>());
    Err(Refusal::new(INVALID, what))
}

/// Room that a caller has for bytes.
///
/// # Safety
/// `at` is null, or points to `length` bytes, initialised or not, that no other thread uses during `'a`.
#[inline]
pub(crate) unsafe fn room<'a>(at: *mut u8, length: usize) -> Result<&'a mut [MaybeUninit<u8>], Refusal> {
    check_room(at, length)?;
    // SAFETY: by this function's contract; the length was checked.
    Ok(if length == 0 { &mut [] } else { unsafe { core::slice::from_raw_parts_mut(at.cast(), length) } })
}

#[inline]
fn check_room(at: *const u8, length: usize) -> Result<(), Refusal> {
    match isize::try_from(length) {
        Err(_) => Err(Refusal::new(INVALID, format!("{length} bytes are more than memory has"))),
        Ok(1..) if at.is_null() => Err(Refusal::new(INVALID, format!("the address of {length} bytes is null"))),
        Ok(_) => Ok(()),
    }
}

/// A time limit in nanoseconds; a negative one is none.
#[inline]
pub(crate) fn limit(ns: i64) -> Option<Duration> {
    u64::try_from(ns).ok().map(Duration::from_nanos)
}

/// Makes a thing, and puts its handle into `into`, or null.
///
/// # Safety
/// As [`place`].
pub(crate) unsafe fn create<T: Thing>(into: *mut Handle, make: impl FnOnce() -> Result<T, Refusal>) -> c_int {
    call(|| {
        // SAFETY: by this function's contract.
        let into = unsafe { place(into) }?;
        into.write(Handle::NULL);
        into.write(slots::insert(make()?)?);
        Ok(())
    })
}

/// The one call at a time that a thing allows.
pub(crate) fn alone<'m, T>(thing: &'m Mutex<T>, name: &str) -> Result<MutexGuard<'m, T>, Refusal> {
    thing.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => slots::busy(name),
        TryLockError::Poisoned(_) => Refusal::new(PANIC, format!("a call with this {name} has failed before: destroy it")),
    })
}

/// Writes a text as `snprintf` does: as much as fits, and a zero; `length` becomes what all of it needs.
///
/// # Safety
/// `into` is null or points to `size` bytes, and `length` is null or points to a number, which no other
/// thread uses during the call.
unsafe fn write(text: &str, into: *mut c_char, size: usize, length: *mut usize) -> Result<(), Refusal> {
    // SAFETY: by this function's contract.
    let into = unsafe { room(into.cast(), size) }?;
    let fits = into.len().saturating_sub(1).min(text.len());
    for (to, byte) in into.iter_mut().zip(text.as_bytes()[..fits].iter().chain(&[0])) {
        to.write(*byte);
    }
    // SAFETY: by this function's contract.
    if let Some(length) = unsafe { length.cast::<MaybeUninit<usize>>().as_mut() } {
        length.write(text.len());
    }
    Ok(())
}

/// The text about a thing, as `write` writes it.
///
/// # Safety
/// As [`write`].
pub(crate) unsafe fn tell<T: Thing>(
    thing: Handle,
    text: impl FnOnce(&T) -> String,
    into: *mut c_char,
    size: usize,
    length: *mut usize,
) -> c_int {
    call(|| {
        let text = text(&*slots::enter::<T>(thing)?);
        // SAFETY: by this function's contract.
        unsafe { write(&text, into, size, length) }
    })
}

/// Checks that a header of version `packed` is compatible with this library.
pub(crate) fn check(packed: u32) -> Result<(), Refusal> {
    let (major, minor) = (packed >> 24, packed >> 12 & 0xfff);
    // Before 1.0 a minor version may change anything.
    if major == MAJOR && (minor == MINOR || major > 0 && minor < MINOR) {
        return Ok(());
    }
    let what = "recompile the program with the foregather.h of this library, or link the library of that header";
    Err(Refusal::new(
        VERSION_DIFFERS,
        format!("the header is of version {major}.{minor} and the library of {MAJOR}.{MINOR}.{PATCH}: {what}"),
    ))
}

/// The library's version, in a number as headers have it: `FG_VERSION`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn fg_version() -> u32 {
    MAJOR << 24 | MINOR << 12 | PATCH
}

/// Checks that a header of this version is compatible with this library. Returns the error code.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn fg_check_version(major: u32, minor: u32) -> c_int {
    call(|| check(major.min(0xff) << 24 | minor.min(0xfff) << 12))
}
