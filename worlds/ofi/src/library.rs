//! libfabric itself: found at run time, or not at all.
use crate::abi::{DupInfo, FreeInfo, GetInfo, OpenFn, Version};
use crate::signals::kept;
use core::ffi::c_void;
use foregather_host::dl::Library;
use foregather_machine::{Cause, Error};
use std::path::Path;

/// Names another library than the system's.
const OVERRIDE: &str = "FOREGATHER_LIBFABRIC";

/// The five functions that are exported by name; all others are in the tables of the objects that they
/// return.
#[derive(Debug)]
pub(crate) struct Api {
    library: Library,
    version: Version,
    pub(crate) get_info: GetInfo,
    pub(crate) dup_info: DupInfo,
    pub(crate) free_info: FreeInfo,
    pub(crate) open_fabric: OpenFn,
}

impl Api {
    /// Loads it: the file that `FOREGATHER_LIBFABRIC` names, or the system's.
    pub(crate) fn load() -> Result<Self, Error> {
        if cfg!(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), target_endian = "little"))) {
            let remedy = "its records are known for x86-64 and aarch64 only: use another fabric".to_owned();
            return Err(Cause::Unavailable { what: "the layout of libfabric on this machine".to_owned(), remedy }.into());
        }
        match std::env::var(OVERRIDE) {
            Ok(path) if !path.is_empty() => Self::open(&path),
            _ => Self::open("libfabric.so.1"),
        }
    }

    pub(crate) fn open(name: &str) -> Result<Self, Error> {
        let library = kept(|| Library::open(&[name])).map_err(|error| {
            let what = format!("libfabric ({name})");
            let remedy = format!("`apt-get install libfabric1`, or name the file in {OVERRIDE} ({error})");
            Error::from(Cause::Unavailable { what, remedy })
        })?;
        // The version fixes the layout: without one, a newer library gives a newer layout under the same
        // name.
        let of = |name, version| library.symbol_of_version(name, version);
        let (get, dup, free) =
            (of("fi_getinfo", "FABRIC_1.3")?, of("fi_dupinfo", "FABRIC_1.3")?, of("fi_freeinfo", "FABRIC_1.3")?);
        let (open, version) = (of("fi_fabric", "FABRIC_1.1")?, of("fi_version", "FABRIC_1.0")?);
        // SAFETY: libfabric declares these functions with these types under these versions.
        unsafe {
            Ok(Self {
                version: core::mem::transmute::<*mut c_void, Version>(version),
                get_info: core::mem::transmute::<*mut c_void, GetInfo>(get),
                dup_info: core::mem::transmute::<*mut c_void, DupInfo>(dup),
                free_info: core::mem::transmute::<*mut c_void, FreeInfo>(free),
                open_fabric: core::mem::transmute::<*mut c_void, OpenFn>(open),
                library,
            })
        }
    }

    /// The version of its interface: major and minor.
    pub(crate) fn version(&self) -> (u32, u32) {
        // SAFETY: the function takes no parameters, and returns a number.
        let version = unsafe { (self.version)() };
        (version >> 16, version & 0xffff)
    }

    pub(crate) fn path(&self) -> &Path {
        self.library.path()
    }
}
