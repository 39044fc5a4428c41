//! Shared libraries that may or may not be installed: found at run time, so that nothing needs them to build
//! or to run.
use core::ffi::{CStr, c_void};
use core::mem::MaybeUninit;
use core::ptr::{NonNull, without_provenance};
use foregather_machine::{Cause, Error};
use std::ffi::CString;
use std::path::{Path, PathBuf};

/// A loaded library. It is never unloaded: it may have started threads, and pointers into it may be anywhere.
#[derive(Debug)]
pub struct Library {
    handle: NonNull<c_void>,
    path: PathBuf,
}

// SAFETY: the handle only names the library; the loader's functions take it from any thread.
unsafe impl Send for Library {}
// SAFETY: the loader's functions may be called from several threads at once; they lock for themselves.
unsafe impl Sync for Library {}

impl Library {
    /// Loads the first of these libraries that can be loaded, by file name (`libgomp.so.1`) or path. Its
    /// initialisers run: name only libraries that a program would link with.
    ///
    /// # Errors
    /// If none can be loaded; the error quotes the loader about each.
    pub fn open(names: &[&str]) -> Result<Self, Error> {
        let mut complaints = Vec::new();
        for &name in names {
            let Ok(c_name) = CString::new(name) else {
                complaints.push(format!("{name:?} is no file name"));
                continue;
            };
            // SAFETY: the name is a C string. The library's initialisers are trusted as those of a linked one
            // would be.
            match NonNull::new(unsafe { libc::dlopen(c_name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) }) {
                Some(handle) => return Ok(Self { handle, path: path_of(handle).unwrap_or_else(|| PathBuf::from(name)) }),
                None => complaints.push(last_complaint()),
            }
        }
        let remedy = format!("install the package that contains it ({})", complaints.join("; "));
        Err(Error::from(Cause::Unavailable { what: format!("the library {}", names.join(" or ")), remedy }))
    }

    /// A library that is loaded already, by the path under which [`loaded_since`] has found it. It stays
    /// loaded from now on.
    pub fn loaded(path: &CStr) -> Option<Self> {
        // SAFETY: the path is a C string; a library that is there is not loaded again, and runs no
        // initialiser.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE) };
        let path = PathBuf::from(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(path.to_bytes()));
        NonNull::new(handle).map(|handle| Self { handle, path })
    }

    /// The address of a function or variable, whose type only the caller can know.
    ///
    /// # Errors
    /// If the library has no such symbol.
    pub fn symbol(&self, name: &str) -> Result<*mut c_void, Error> {
        let missing =
            |remedy: String| Error::from(Cause::Unavailable { what: format!("`{name}` in {}", self.path.display()), remedy });
        let c_name = CString::new(name).map_err(|_| missing("a name must not contain a zero byte".to_owned()))?;
        // SAFETY: the handle is that of a library which stays loaded; the name is a C string.
        let address = unsafe { libc::dlsym(self.handle.as_ptr(), c_name.as_ptr()) };
        if address.is_null() {
            return Err(missing(format!("install another version of it ({})", last_complaint())));
        }
        Ok(address)
    }

    /// [`Library::symbol`] of that version, where a library keeps several of one name for programs of
    /// different age.
    ///
    /// # Errors
    /// If the library has no such symbol of that version, or the loader knows no versions.
    pub fn symbol_of_version(&self, name: &str, version: &str) -> Result<*mut c_void, Error> {
        let missing = |remedy: String| {
            Error::from(Cause::Unavailable { what: format!("`{name}` of {version} in {}", self.path.display()), remedy })
        };
        let (Ok(c_name), Ok(c_version)) = (CString::new(name), CString::new(version)) else {
            return Err(missing("a name must not contain a zero byte".to_owned()));
        };
        let address = versioned(self.handle.as_ptr(), &c_name, &c_version);
        if address.is_null() {
            return Err(missing(format!("install another version of it ({})", last_complaint())));
        }
        Ok(address)
    }

    /// The file that was loaded.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// The function that the program would call without the library that this code is linked into; of that
/// version if one is named. `None` if no later library has it.
pub fn next_function(name: &CStr, version: Option<&CStr>) -> Option<NonNull<()>> {
    let address = match version {
        // SAFETY: the name is a C string; the handle asks for the libraries after this one.
        None => unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) },
        Some(version) => versioned(libc::RTLD_NEXT, name, version),
    };
    NonNull::new(address.cast())
}

/// A loaded library or program.
#[derive(Debug)]
pub struct LoadedObject {
    /// Its file, by the path that [`Library::loaded`] takes.
    pub path: CString,
    /// The address at which it begins.
    pub base: usize,
}

impl LoadedObject {
    /// The object that contains an address. `None` if none does.
    pub fn of(address: usize) -> Option<Self> {
        let mut about = MaybeUninit::<libc::Dl_info>::zeroed();
        // SAFETY: the call takes any address and writes into `about`, for which zeros are valid; the loader's
        // file names are C strings.
        unsafe {
            let found = libc::dladdr(without_provenance(address), about.as_mut_ptr()) != 0;
            let about = about.assume_init();
            (found && !about.dli_fname.is_null())
                .then(|| Self { path: CStr::from_ptr(about.dli_fname).to_owned(), base: about.dli_fbase.addr() })
        }
    }

    /// The name of its file, without folders.
    pub fn file_name(&self) -> String {
        self.path.to_string_lossy().rsplit('/').next().unwrap_or_default().to_owned()
    }
}

/// What the loader is asked.
struct LoaderQuery<'a> {
    /// How many libraries had been loaded in the life of the process when it was asked before, and now.
    before: u64,
    now: u64,
    is_wanted: &'a dyn Fn(&[u8]) -> bool,
    paths: Vec<CString>,
}

/// The libraries of this process, in the order in which they were loaded, whose file names are wanted; those
/// that were loaded for one library alone (`RTLD_LOCAL`) are among them. Returns their paths, and how many
/// libraries have been loaded so far; `None` if that is as many as `before`.
pub fn loaded_since(before: u64, is_wanted: impl Fn(&[u8]) -> bool) -> Option<(u64, Vec<CString>)> {
    let mut query = LoaderQuery { before, now: before, is_wanted: &is_wanted, paths: Vec::new() };
    // SAFETY: `visit` takes what is passed here.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut query).cast()) };
    (query.now != before).then_some((query.now, query.paths))
}

/// Looks at one loaded library; the look ends if this is not 0. It must not open libraries: the loader holds
/// a lock that another thread, which is opening one, may wait for.
///
/// # Safety
/// `info` is valid, and `query` is a [`LoaderQuery`] that only this call uses.
unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _: usize, query: *mut c_void) -> core::ffi::c_int {
    // SAFETY: by this function's contract.
    let (info, query) = unsafe { (&*info, &mut *query.cast::<LoaderQuery<'_>>()) };
    query.now = info.dlpi_adds;
    if query.now == query.before {
        return 1;
    }
    if !info.dlpi_name.is_null() {
        // SAFETY: the loader's names are strings that end with a zero.
        let path = unsafe { CStr::from_ptr(info.dlpi_name) };
        let name = path.to_bytes().rsplit(|&byte| byte == b'/').next().unwrap_or_default();
        if (query.is_wanted)(name) {
            query.paths.push(path.to_owned());
        }
    }
    0
}

/// The symbol that a loaded object of this path sees, in itself and in the libraries that it needs. It is
/// valid as long as the object stays loaded.
pub fn seen_by(object: &CStr, name: &CStr) -> Option<NonNull<c_void>> {
    // SAFETY: both are C strings. RTLD_NOLOAD only finds an object that is loaded already, so no initialiser
    // runs, and the handle is closed once.
    unsafe {
        let handle = NonNull::new(libc::dlopen(object.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD))?;
        let found = libc::dlsym(handle.as_ptr(), name.as_ptr());
        libc::dlclose(handle.as_ptr());
        NonNull::new(found)
    }
}

#[cfg(target_env = "gnu")]
fn versioned(handle: *mut c_void, name: &CStr, version: &CStr) -> *mut c_void {
    // SAFETY: the handle is `RTLD_NEXT`, or of a library that stays loaded; the names are C strings.
    unsafe { libc::dlvsym(handle, name.as_ptr(), version.as_ptr()) }
}

#[cfg(not(target_env = "gnu"))]
fn versioned(_: *mut c_void, _: &CStr, _: &CStr) -> *mut c_void {
    core::ptr::null_mut()
}

/// The loader's message about this thread's last failure.
fn last_complaint() -> String {
    // SAFETY: the result is null or a C string that lives until this thread's next call of the loader.
    unsafe {
        let text = libc::dlerror();
        if text.is_null() { "the loader gave no reason".to_owned() } else { CStr::from_ptr(text).to_string_lossy().into_owned() }
    }
}

#[cfg(target_env = "gnu")]
fn path_of(handle: NonNull<c_void>) -> Option<PathBuf> {
    /// The beginning of the loader's public record of a library (`struct link_map` of `<link.h>`).
    #[repr(C)]
    struct LinkMap {
        base: usize,
        name: *const core::ffi::c_char,
    }
    let mut map: *const LinkMap = core::ptr::null();
    // SAFETY: for this request the loader writes one pointer to a record that lives as long as the library,
    // which is never unloaded; the record's name is a C string.
    let name = unsafe {
        if libc::dlinfo(handle.as_ptr(), libc::RTLD_DI_LINKMAP, (&raw mut map).cast()) != 0
            || map.is_null()
            || (*map).name.is_null()
        {
            return None;
        }
        CStr::from_ptr((*map).name)
    };
    (!name.is_empty()).then(|| PathBuf::from(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(name.to_bytes())))
}

#[cfg(not(target_env = "gnu"))]
fn path_of(_: NonNull<c_void>) -> Option<PathBuf> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_library_that_loads_is_used() {
        let library = Library::open(&["libno-such-thing.so.9", "libm.so.6"]).unwrap();
        assert!(library.path().is_absolute() || cfg!(not(target_env = "gnu")));
        assert!(library.path().ends_with("libm.so.6"), "{:?}", library.path());
        let cos = library.symbol("cos").unwrap();
        // SAFETY: the C library declares `double cos(double)`.
        let cos = unsafe { core::mem::transmute::<*mut c_void, extern "C" fn(f64) -> f64>(cos) };
        assert_eq!(cos(0.0), 1.0);
    }

    #[test]
    #[cfg(target_env = "gnu")]
    fn a_version_is_asked_for_by_name() {
        let library = Library::open(&["libc.so.6"]).unwrap();
        let version = if cfg!(target_arch = "x86_64") { "GLIBC_2.2.5" } else { "GLIBC_2.17" };
        assert_eq!(library.symbol_of_version("getpid", version).unwrap(), library.symbol("getpid").unwrap());
        let error = library.symbol_of_version("getpid", "GLIBC_0.1").unwrap_err().to_string();
        assert!(error.contains("GLIBC_0.1") && error.contains("getpid"), "{error}");
        assert!(library.symbol_of_version("get\0pid", version).is_err());
    }

    #[test]
    fn a_loaded_library_is_found_by_its_file_name_until_nothing_new_is_loaded() {
        let opened = Library::open(&["libm.so.6"]).unwrap();
        let (now, paths) = loaded_since(0, |name| name == b"libm.so.6").unwrap();
        let found = Library::loaded(&paths[0]).unwrap();
        assert_eq!((paths.len(), found.symbol("cos").unwrap()), (1, opened.symbol("cos").unwrap()));
        assert!(loaded_since(0, |_| false).unwrap().1.is_empty());
        assert!(now > 0 && loaded_since(now, |_| panic!("nothing is looked at")).is_none_or(|(later, _)| later > now));
        assert!(Library::loaded(c"/no/such/thing.so").is_none());
    }

    #[test]
    fn an_address_belongs_to_the_object_that_contains_it() {
        let address = libc::getpid as *const () as usize;
        let object = LoadedObject::of(address).unwrap();
        assert!(object.file_name().starts_with("libc.") && object.base < address, "{object:?}");
        assert!(Library::loaded(&object.path).unwrap().symbol("getpid").is_ok());
        assert!(LoadedObject::of(8).is_none());
    }

    #[test]
    fn missing_libraries_and_symbols_are_named() {
        let error = Library::open(&["libno-such-thing.so.9", "libnor-that.so"]).unwrap_err().to_string();
        assert!(error.contains("libno-such-thing.so.9 or libnor-that.so") && error.contains("cannot open"), "{error}");
        assert!(Library::open(&["with\0zero"]).is_err() && Library::open(&[]).is_err());
        let library = Library::open(&["libm.so.6"]).unwrap();
        let error = library.symbol("no_such_function").unwrap_err().to_string();
        assert!(error.contains("no_such_function") && error.contains("libm"), "{error}");
        assert!(library.symbol("cos\0").is_err());
    }
}
