//! The functions that the program would have called without this library.
use core::ffi::{CStr, c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering::*};

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
    find_from(libc::RTLD_NEXT, name)
}

/// A variable of that name: the program may have the one that all libraries use (a copy relocation).
pub(crate) fn find_variable(name: &CStr) -> Option<*mut c_void> {
    find_from(libc::RTLD_DEFAULT, name)
}

fn find_from(handle: *mut c_void, name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the name ends with a zero; the handle stands for libraries that are loaded.
    let found = unsafe { libc::dlsym(handle, name.as_ptr()) };
    if !found.is_null() {
        return Some(found);
    }
    let mut search = ObjectSearch { name, found: null_mut() };
    // SAFETY: the function gets the pointer to `search`, which lives during the call.
    unsafe { libc::dl_iterate_phdr(Some(in_object), (&raw mut search).cast()) };
    (!search.found.is_null()).then_some(search.found)
}

struct ObjectSearch<'a> {
    name: &'a CStr,
    found: *mut c_void,
}

unsafe extern "C" fn in_object(object: *mut libc::dl_phdr_info, _: usize, search: *mut c_void) -> c_int {
    // SAFETY: the loader gives a valid object with a name that ends with a zero; `search` is that of `find`.
    let (path, search) = unsafe { ((*object).dlpi_name, &mut *search.cast::<ObjectSearch<'_>>()) };
    if path.is_null() {
        return 0;
    }
    // SAFETY: the name is the loader's, which ends with a zero.
    let text = unsafe { CStr::from_ptr(path) }.to_bytes();
    let file = text.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    if !file.starts_with(LIBRARIES) {
        return 0;
    }
    // SAFETY: the object is loaded already, so nothing of it is executed; the handle is closed again, and the
    // program's own handle keeps the object loaded.
    search.found = unsafe {
        let handle = libc::dlopen(path, libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if handle.is_null() {
            return 0;
        }
        let found = libc::dlsym(handle, search.name.as_ptr());
        libc::dlclose(handle);
        found
    };
    c_int::from(!search.found.is_null())
}

/// The name of the file that contains an address.
pub(crate) fn file_of(code: *const c_void) -> String {
    let mut about = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: the call writes into `about`, for which zeros are valid, and looks the address up; the name is
    // the loader's, which ends with a zero.
    unsafe {
        if libc::dladdr(code, about.as_mut_ptr()) == 0 || about.assume_init_ref().dli_fname.is_null() {
            return String::new();
        }
        let path = CStr::from_ptr(about.assume_init_ref().dli_fname).to_string_lossy();
        path.rsplit('/').next().unwrap_or_default().to_owned()
    }
}
