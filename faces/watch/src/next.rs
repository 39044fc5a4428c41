//! The functions that the program would have called without this library.
use core::ffi::{CStr, c_void};
use core::mem::MaybeUninit;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering::*};

/// How the name of the runtime begins that `foregather exec` puts before all others.
const REPLACEMENT: &str = "libforegather_gomp.so";

/// A function of the next library, found at its first call.
pub(crate) struct NextFunction {
    name: &'static CStr,
    found: AtomicPtr<c_void>,
    /// Whether it belongs to the runtime that `foregather exec` puts before all others.
    replaces: AtomicBool,
}

impl NextFunction {
    pub(crate) const fn new(name: &'static CStr) -> Self {
        Self { name, found: AtomicPtr::new(null_mut()), replaces: AtomicBool::new(false) }
    }

    /// Its address; null if no library has it.
    #[inline]
    pub(crate) fn get(&self) -> *mut c_void {
        let found = self.found.load(Acquire);
        if found.is_null() { self.find() } else { found }
    }

    #[cold]
    fn find(&self) -> *mut c_void {
        // SAFETY: the name ends with a zero; the handle asks for the libraries after this one.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        self.replaces.store(place(found).starts_with(REPLACEMENT), Relaxed);
        self.found.store(found, Release);
        found
    }

    /// Its address, if it serves all callers, also those with a runtime of their own.
    #[inline]
    pub(crate) fn replacement(&self) -> Option<*mut c_void> {
        let found = self.get();
        self.replaces.load(Relaxed).then_some(found)
    }
}

/// A name that ends with a zero.
pub(crate) const fn to_c(name: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(name.as_bytes()) {
        Ok(name) => name,
        Err(_) => panic!("a name ends with one zero"),
    }
}

/// The function of that name which a caller sees whose code is at `code`: wheels load a runtime of their own
/// that no other library sees. Null if there is none.
pub(crate) fn seen_from(code: *const c_void, name: &CStr) -> *mut c_void {
    let mut about = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: the call writes into `about`, for which zeros are valid, and looks the address up.
    let about = unsafe {
        if libc::dladdr(code, about.as_mut_ptr()) == 0 {
            return null_mut();
        }
        about.assume_init()
    };
    if about.dli_fname.is_null() {
        return null_mut();
    }
    // SAFETY: the name is the loader's, which ends with a zero. The object is loaded already, so nothing of
    // it is executed; the handle is closed again, and the caller's own code keeps the object loaded.
    unsafe {
        let handle = libc::dlopen(about.dli_fname, libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if handle.is_null() {
            return null_mut();
        }
        let found = libc::dlsym(handle, name.as_ptr());
        libc::dlclose(handle);
        found
    }
}

/// A caller's code, and the function that it was given.
struct KnownCaller {
    code: AtomicPtr<c_void>,
    found: AtomicPtr<c_void>,
}

/// The functions of one name that callers see, each looked up once.
pub(crate) struct KnownCallers([KnownCaller; CALLERS]);

const CALLERS: usize = 256;
/// How many places are tried for a caller. One that finds none is looked up each time.
const TRIED: usize = 8;

impl KnownCallers {
    pub(crate) const fn new() -> Self {
        Self([const { KnownCaller { code: AtomicPtr::new(null_mut()), found: AtomicPtr::new(null_mut()) } }; CALLERS])
    }

    /// The function for a caller: the one that its object sees, else the next one. Ends the process, as the
    /// loader would, if there is none.
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
        // Functions begin at multiples of 16 in most objects.
        let first = (code.addr() >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
        (0..TRIED).map(move |at| &self.0[(first + at) % CALLERS])
    }

    #[cold]
    fn look_up(&self, code: *const c_void, name: &CStr, next: &NextFunction, own: *const c_void) -> *mut c_void {
        let found = next.replacement().unwrap_or_else(|| {
            let seen = seen_from(code, name);
            if seen.is_null() || seen.cast_const() == own { next.get() } else { seen }
        });
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
    // As the loader's status for a symbol that is missing.
    // SAFETY: ends the process at once.
    unsafe { libc::_exit(127) }
}

/// The name of the object that contains an address, and its offset there: `libgomp.so.1+0x1f20`.
pub(crate) fn place(code: *const c_void) -> String {
    let mut about = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: the call writes into `about`, for which zeros are valid, and looks the address up;
    // the names are the loader's, which end with a zero.
    unsafe {
        if libc::dladdr(code, about.as_mut_ptr()) == 0 {
            return String::new();
        }
        let about = about.assume_init();
        if about.dli_fname.is_null() {
            return String::new();
        }
        let file = CStr::from_ptr(about.dli_fname).to_string_lossy();
        let offset = code.addr() - about.dli_fbase.addr();
        format!("{}+{offset:#x}", file.rsplit('/').next().unwrap_or_default())
    }
}
