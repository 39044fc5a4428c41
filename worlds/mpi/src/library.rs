//! The search for the MPI library of this process: the one that the user names, that is already loaded, that
//! belongs to the launcher, or that the loader finds.
use crate::abi::{ALL, Abi, Constant, MPICH, OPEN_MPI, STANDARD, TEXT_ROOM};
use crate::functions::{Functions, MpiHandle};
use core::ffi::{CStr, c_char, c_int, c_void};
use foregather_host::dl::{Library, loaded_since};
use foregather_machine::{Cause, Error};
use std::ffi::CString;
use std::path::{Path, PathBuf};

/// The environment variable that names the file of the MPI library.
pub(crate) const OVERRIDE: &str = "FOREGATHER_MPI";

/// A loaded MPI library, its binary interface and its functions.
#[derive(Debug)]
pub(crate) struct FoundMpi {
    pub(crate) library: Library,
    pub(crate) abi: &'static Abi,
    pub(crate) functions: Functions,
}

/// An MPI library of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MpiInfo {
    /// The file of the library.
    pub path: PathBuf,
    /// The first line of the library's version text.
    pub version: String,
    /// The name of its binary interface.
    pub interface: &'static str,
}

/// Returns every MPI library that can be found through `FOREGATHER_MPI`, the first `mpiexec` in `PATH`, or
/// the loader. Does not initialise any of them.
pub fn found() -> Vec<MpiInfo> {
    let mut all: Vec<MpiInfo> = Vec::new();
    for name in named().into_iter().chain(candidates(false)) {
        if let Ok(found) = FoundMpi::open(&name)
            && !all.iter().any(|known| known.path == found.library.path())
        {
            all.push(found.info());
        }
    }
    all
}

/// Returns the library that the user has named in `FOREGATHER_MPI`.
fn named() -> Option<String> {
    std::env::var(OVERRIDE).ok().filter(|path| !path.is_empty())
}

/// Returns the names to try, in order: first the files of each interface in the `lib` directory of the
/// installation with the first `mpiexec` in `PATH`, then the names for the loader. Open MPI comes first under
/// its own launcher, and last otherwise.
fn candidates(by_open_mpi: bool) -> Vec<String> {
    let folder = std::env::var_os("PATH").and_then(|path| {
        let launcher = std::env::split_paths(&path).map(|folder| folder.join("mpiexec")).find(|file| file.is_file())?;
        Some(launcher.parent()?.parent()?.join("lib"))
    });
    let order = if by_open_mpi { [&OPEN_MPI, &STANDARD, &MPICH] } else { [&STANDARD, &MPICH, &OPEN_MPI] };
    let names = || order.iter().flat_map(|abi| abi.libraries);
    let beside = names().filter_map(|name| Some(folder.as_ref()?.join(name)).filter(|file| file.is_file()));
    beside.map(|file| file.to_string_lossy().into_owned()).chain(names().map(|&name| name.to_owned())).collect()
}

/// Returns the MPI libraries that the program has already loaded and that this world must share.
fn loaded() -> Vec<CString> {
    let is_mpi = |name: &[u8]| ALL.iter().flat_map(|abi| abi.libraries).any(|known| name.starts_with(known.as_bytes()));
    loaded_since(0, is_mpi).map(|(_, paths)| paths).unwrap_or_default()
}

impl FoundMpi {
    /// Finds the library for this process. `by_open_mpi` says whether Open MPI's launcher started the
    /// process.
    pub(crate) fn find(by_open_mpi: bool) -> Result<Self, Error> {
        if let Some(name) = named() {
            return Self::open(&name);
        }
        match &loaded()[..] {
            [] => {}
            [one] => return Self::open(&one.to_string_lossy()),
            [one, other, ..] => {
                let (one, other) = (one.to_string_lossy(), other.to_string_lossy());
                return Err(refused(format!(
                    "this process has two MPI libraries, {one} and {other}: link it with one, or name that one in {OVERRIDE}"
                )));
            }
        }
        let (mut complaints, mut broken) = (Vec::new(), None);
        for name in candidates(by_open_mpi) {
            match Library::open(&[&name]) {
                Ok(library) => match Self::of(library) {
                    Ok(found) => return Ok(found),
                    Err(error) => broken = Some(error),
                },
                Err(_) => complaints.push(name),
            }
        }
        Err(broken.unwrap_or_else(|| {
            let what = format!("an MPI library ({})", complaints.join(", "));
            let remedy = format!(
                "load the site's MPI module, `apt-get install libopenmpi3` or `pip install mpich`, or name its file in {OVERRIDE}"
            );
            Cause::Unavailable { what, remedy }.into()
        }))
    }

    fn open(name: &str) -> Result<Self, Error> {
        let library = Library::open(&[name]).map_err(|error| {
            let remedy = format!("name the file of an MPI library in {OVERRIDE} ({error})");
            Error::from(Cause::Unavailable { what: format!("the MPI library {name}"), remedy })
        })?;
        Self::of(library)
    }

    fn of(library: Library) -> Result<Self, Error> {
        let foreign = || {
            refused(format!(
                "{} is not an MPI library with a known binary interface: use one with MPI 5's standard ABI (libmpi_abi.so.1), \
                 Open MPI 4 or 5, or MPICH, and name its file in {OVERRIDE}",
                library.path().display()
            ))
        };
        let functions = Functions::of(&library).map_err(|_| foreign())?;
        let text = version(&functions);
        let file = library.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let abi = if file.starts_with("libmpi_abi.") {
            is_version_1(&library).then_some(&STANDARD)
        } else if library.symbol("ompi_mpi_comm_world").is_ok() {
            Some(&OPEN_MPI)
        } else {
            ["MPICH", "Intel(R) MPI", "MVAPICH"].iter().any(|name| text.contains(name)).then_some(&MPICH)
        };
        let abi = abi.ok_or_else(foreign)?;
        Ok(Self { library, abi, functions })
    }

    /// Returns the handle of a constant of the interface.
    pub(crate) fn handle(&self, constant: Constant) -> Result<MpiHandle, Error> {
        match constant {
            Constant::Number(number) => Ok(MpiHandle(number)),
            Constant::Symbol(name) => self.library.symbol(name).map(|address| MpiHandle(address.addr())),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.library.path()
    }

    pub(crate) fn info(&self) -> MpiInfo {
        let (path, interface) = (self.path().to_owned(), self.abi.name);
        MpiInfo { path, version: version(&self.functions), interface }
    }
}

/// Returns the first line of the library's version text, which MPI provides even before it is initialised.
fn version(functions: &Functions) -> String {
    let (mut text, mut len): (Vec<c_char>, c_int) = (vec![0; TEXT_ROOM], 0);
    // SAFETY: the buffer is longer than any library's version text, and stays NUL-terminated.
    let text = unsafe {
        (functions.library_version)(text.as_mut_ptr(), &raw mut len);
        CStr::from_ptr(text.as_ptr()).to_string_lossy().into_owned()
    };
    text.lines().next().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns whether the library has version 1 of the standard interface.
fn is_version_1(library: &Library) -> bool {
    let Ok(address) = library.symbol("MPI_Abi_get_version") else { return false };
    let (mut major, mut minor): (c_int, c_int) = (0, 0);
    // SAFETY: MPI 5 declares the function with these parameters, and allows it before initialisation.
    let done = unsafe {
        core::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int>(address)(
            &raw mut major,
            &raw mut minor,
        )
    };
    done == 0 && major == 1
}

pub(crate) fn refused(why: String) -> Error {
    Error::from(Cause::Refused { why })
}
