//! The functions that the program would have called without this library.
use core::ffi::{CStr, c_void};
use core::ptr::{NonNull, null_mut};
use core::sync::atomic::{AtomicPtr, Ordering::*};
use foregather_host::dl::{loaded_since, next_function, seen_by};

/// How the names of all libraries of Open MPI and of MPICH begin.
const LIBRARIES: &[u8] = b"libmpi";

/// A function of the next library, found at its first call.
pub(crate) struct NextCall {
    name: &'static CStr,
    /// The name for layers such as this one.
    profiling: &'static CStr,
    found: AtomicPtr<c_void>,
}

impl NextCall {
    pub(crate) const fn new(name: &'static CStr, profiling: &'static CStr) -> Self {
        Self { name, profiling, found: AtomicPtr::new(null_mut()) }
    }

    /// Its address. Ends the process, as the loader would, if there is none.
    #[inline]
    pub(crate) fn get(&self) -> *mut c_void {
        let found = self.found.load(Acquire);
        if found.is_null() { self.find() } else { found }
    }

    #[cold]
    fn find(&self) -> *mut c_void {
        let Some(found) = find(self.name).or_else(|| find(self.profiling)) else {
            eprintln!("libforegather_mpi.so: the program calls {}, and no library has it", self.name.to_string_lossy());
            // As the loader's status for a symbol that is missing.
            // SAFETY: ends the process at once.
            unsafe { libc::_exit(127) }
        };
        self.found.store(found, Release);
        found
    }
}

/// A name that ends with a zero.
pub(crate) const fn to_c(name: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(name.as_bytes()) {
        Ok(name) => name,
        Err(_) => panic!("a name ends with one zero"),
    }
}

/// The symbol of that name after this library; else that of an MPI which was loaded for one library alone, as
/// Python does.
pub(crate) fn find(name: &CStr) -> Option<*mut c_void> {
    next_function(name, None).map(|found| found.as_ptr().cast()).or_else(|| find_alone(name))
}

/// A variable of that name: the program may have the one that all libraries use (a copy relocation).
pub(crate) fn find_variable(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the name is a C string; the handle stands for the libraries that all see.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    if found.is_null() { find_alone(name) } else { Some(found) }
}

/// The symbol of that name in any MPI library that is loaded, even for one other library alone.
fn find_alone(name: &CStr) -> Option<*mut c_void> {
    let (_, paths) = loaded_since(0, |file| file.starts_with(LIBRARIES))?;
    // The program's own handle keeps the object loaded.
    paths.iter().find_map(|path| seen_by(path, name)).map(NonNull::as_ptr)
}
