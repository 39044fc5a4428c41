//! Finds the functions that the program would have called without this library, which this library calls in
//! its turn.
use core::ffi::{CStr, c_void};
use core::ptr::{NonNull, null_mut};
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering::*};
use foregather_host::dl::{LoadedObject, next_function, seen_by};

/// The start of the file name of the OpenMP runtime that `foregather exec` preloads.
const REPLACEMENT: &str = "libforegather_gomp.so";

/// A function of the next library in the loader's order, looked up at its first call.
pub(crate) struct NextFunction {
    name: &'static CStr,
    found: AtomicPtr<c_void>,
    /// Whether it belongs to the runtime that `foregather exec` preloads.
    replaces: AtomicBool,
}

impl NextFunction {
    pub(crate) const fn new(name: &'static CStr) -> Self {
        Self { name, found: AtomicPtr::new(null_mut()), replaces: AtomicBool::new(false) }
    }

    /// Returns its address; null if no library has it.
    #[inline]
    pub(crate) fn get(&self) -> *mut c_void {
        let found = self.found.load(Acquire);
        if found.is_null() { self.find() } else { found }
    }

    #[cold]
    fn find(&self) -> *mut c_void {
        let found = next_function(self.name, None).map_or(null_mut(), |found| found.as_ptr().cast());
        self.replaces.store(place(found).starts_with(REPLACEMENT), Relaxed);
        self.found.store(found, Release);
        found
    }

    /// Returns its address if it belongs to the preloaded runtime, which serves all callers, also those with
    /// a runtime of their own.
    #[inline]
    pub(crate) fn replacement(&self) -> Option<*mut c_void> {
        let found = self.get();
        self.replaces.load(Relaxed).then_some(found)
    }
}

/// Turns a name that ends with a zero into a C string.
pub(crate) const fn to_c(name: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(name.as_bytes()) {
        Ok(name) => name,
        Err(_) => panic!("a name ends with one zero"),
    }
}

/// Returns the function of that name which the object with the code at `code` sees, if it sees one. A wheel
/// loads a runtime of its own, which no other library sees. The function stays valid, because the object of
/// the calling code stays loaded.
pub(crate) fn seen_from(code: *const c_void, name: &CStr) -> Option<*mut c_void> {
    seen_by(&LoadedObject::of(code.addr())?.path, name).map(NonNull::as_ptr)
}

/// The address of a caller's code, and the function found for it.
struct KnownCaller {
    code: AtomicPtr<c_void>,
    found: AtomicPtr<c_void>,
}

/// The functions of one name that callers see: a hash table without locks, so that each caller is looked up
/// once.
pub(crate) struct KnownCallers([KnownCaller; CALLERS]);

/// Places in the table.
const CALLERS: usize = 256;
/// How many places are tried for a caller. If all are taken by others, it is looked up at each call.
const TRIED: usize = 8;

impl KnownCallers {
    pub(crate) const fn new() -> Self {
        Self([const { KnownCaller { code: AtomicPtr::new(null_mut()), found: AtomicPtr::new(null_mut()) } }; CALLERS])
    }

    /// Returns the function for a caller: that of the preloaded runtime, else the one that the caller's
    /// object sees, else the next one. `own` is this library's function of that name, which is never
    /// returned. Exits like the loader if there is no such function.
    #[inline]
    pub(crate) fn of(&self, code: *const c_void, name: &CStr, next: &NextFunction, own: *const c_void) -> *mut c_void {
        for known in self.places(code) {
            if known.code.load(Acquire) == code.cast_mut() {
                let found = known.found.load(Acquire);
                if !found.is_null() {
                    return found;
                }
            }
        }
        self.look_up(code, name, next, own)
    }

    fn places(&self, code: *const c_void) -> impl Iterator<Item = &KnownCaller> {
        // Most functions begin at multiples of 16, so the low bits say nothing.
        let first = (code.addr() >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
        (0..TRIED).map(move |at| &self.0[(first + at) % CALLERS])
    }

    #[cold]
    fn look_up(&self, code: *const c_void, name: &CStr, next: &NextFunction, own: *const c_void) -> *mut c_void {
        let seen = || seen_from(code, name).filter(|seen| seen.cast_const() != own);
        let found = next.replacement().or_else(seen).unwrap_or_else(|| next.get());
        if found.is_null() {
            missing(name);
        }
        let is_free = |known: &&KnownCaller| known.code.compare_exchange(null_mut(), code.cast_mut(), AcqRel, Relaxed).is_ok();
        if let Some(known) = self.places(code).find(is_free) {
            known.found.store(found, Release);
        }
        found
    }
}

#[cold]
fn missing(name: &CStr) -> ! {
    eprintln!("libforegather_watch.so: the program calls {}, and no library has it", name.to_string_lossy());
    // 127 is the loader's exit code for a missing symbol.
    // SAFETY: `_exit` has no preconditions.
    unsafe { libc::_exit(127) }
}

/// Returns the file name of the object that contains an address, and the offset there: `libgomp.so.1+0x1f20`.
/// Empty if no object contains it.
pub(crate) fn place(code: *const c_void) -> String {
    let Some(object) = LoadedObject::of(code.addr()) else { return String::new() };
    format!("{}+{:#x}", object.file_name(), code.addr() - object.base)
}
