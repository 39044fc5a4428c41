//! OpenMP runtimes: where each may be, and how to get it.
use foregather_host::dl::Library;
use foregather_machine::Error;
use std::path::PathBuf;

/// One runtime: the files it may be in, and how to get it.
pub(crate) struct Runtime {
    pub(crate) libraries: &'static [&'static str],
    pub(crate) remedy: &'static str,
}

/// Where this project's own runtime is, unless it is beside this program.
const OURS: &str = "FOREGATHER_GOMP";

impl Runtime {
    pub(crate) fn library(&self) -> Result<Library, Error> {
        let [own @ "libforegather_gomp.so"] = self.libraries else { return Library::open(self.libraries) };
        let beside = || std::env::current_exe().ok()?.parent().map(|folder| folder.join("../drop-in").join(own));
        let path = std::env::var_os(OURS).map(PathBuf::from).or_else(beside).unwrap_or_default();
        Library::open(&[&path.to_string_lossy()])
    }
}
