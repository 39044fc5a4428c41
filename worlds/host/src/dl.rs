//! Shared libraries that may or may not be installed: found at run time, so that nothing needs them to build
//! or to run.
use core::ffi::{CStr, c_void};
use core::ptr::NonNull;
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
        let address = versioned(self.handle, &c_name, &c_version);
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

#[cfg(target_env = "gnu")]
fn versioned(handle: NonNull<c_void>, name: &CStr, version: &CStr) -> *mut c_void {
    // SAFETY: the handle is that of a library which stays loaded; the names are C strings.
    unsafe { libc::dlvsym(handle.as_ptr(), name.as_ptr(), version.as_ptr()) }
}

#[cfg(not(target_env = "gnu"))]
fn versioned(_: NonNull<c_void>, _: &CStr, _: &CStr) -> *mut c_void {
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
