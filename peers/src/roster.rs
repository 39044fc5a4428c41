//! All peers: which of them this machine has, and how to get the others.
use crate::runtime::Runtime;
use foregather_host::dl::Library;
use foregather_host::facts::libc_version;
use serde_json::{Map, Value, json};

/// The barrier behind a name.
#[derive(Clone, Copy)]
pub(crate) enum Barrier {
    RustStd,
    Hurdles,
    Pthread,
    OpenMp(&'static Runtime),
}

/// A barrier of another project, with the settings under which it is measured.
pub(crate) struct Peer {
    pub(crate) name: &'static str,
    what: &'static str,
    pub(crate) barrier: Barrier,
    pub(crate) env: &'static [(&'static str, &'static str)],
}

/// Variables beginning so change what the OpenMP runtimes do.
const OPENMP_VARIABLES: [&str; 3] = ["OMP_", "GOMP_", "KMP_"];

impl Peer {
    /// Makes its name always mean the same settings, whatever the user's own are.
    pub(crate) fn settle_environment(&self) {
        let theirs = |name: &str| OPENMP_VARIABLES.iter().any(|start| name.starts_with(start));
        let names: Vec<_> = std::env::vars_os().map(|(name, _)| name).filter(|name| name.to_str().is_some_and(theirs)).collect();
        for name in names {
            // SAFETY: this process has no other thread yet.
            unsafe { std::env::remove_var(name) };
        }
        for (name, value) in self.env {
            // SAFETY: this process has no other thread yet.
            unsafe { std::env::set_var(name, value) };
        }
    }
}

const GNU: Runtime = Runtime { libraries: &["libgomp.so.1"], remedy: "install GNU's OpenMP runtime (Debian: libgomp1)" };
const LLVM: Runtime =
    Runtime { libraries: &["libomp.so.5", "libomp.so"], remedy: "install LLVM's OpenMP runtime (Debian: libomp5)" };
const INTEL: Runtime = Runtime {
    libraries: &["libiomp5.so"],
    remedy: "install Intel's OpenMP runtime (`pip install --no-deps --prefix FOLDER intel-openmp`) and name the folder that has \
             libiomp5.so, which is FOLDER/lib, in LD_LIBRARY_PATH",
};
const OWN: Runtime = Runtime {
    libraries: &["libforegather_gomp.so"],
    remedy: "build this project's OpenMP runtime (`cargo xtask drop-in libgomp`), and name it in FOREGATHER_GOMP if it is not in \
             drop-in beside this program's folder",
};
const DEFAULT: &[(&str, &str)] = &[];
const ACTIVE: &[(&str, &str)] = &[("OMP_WAIT_POLICY", "active")];
const PASSIVE: &[(&str, &str)] = &[("OMP_WAIT_POLICY", "passive")];

/// All peers. Each name's settings are applied before its library is loaded.
pub(crate) const PEERS: [Peer; 12] = [
    peer("rust-std", "std::sync::Barrier: mutex and condition variable", Barrier::RustStd, DEFAULT),
    peer("hurdles", "hurdles: sense-reversing, spins a little, then yields forever", Barrier::Hurdles, DEFAULT),
    peer("pthread", "pthread_barrier_wait of the C library: sleeps at once", Barrier::Pthread, DEFAULT),
    peer("gomp", "GNU OpenMP, as it comes", Barrier::OpenMp(&GNU), DEFAULT),
    peer("gomp-active", "GNU OpenMP, told to spin", Barrier::OpenMp(&GNU), ACTIVE),
    peer("gomp-passive", "GNU OpenMP, told to sleep", Barrier::OpenMp(&GNU), PASSIVE),
    peer("omp", "LLVM OpenMP, as it comes", Barrier::OpenMp(&LLVM), DEFAULT),
    peer("omp-active", "LLVM OpenMP, told to spin", Barrier::OpenMp(&LLVM), ACTIVE),
    peer("omp-passive", "LLVM OpenMP, told to sleep", Barrier::OpenMp(&LLVM), PASSIVE),
    peer("iomp", "Intel OpenMP, as it comes", Barrier::OpenMp(&INTEL), DEFAULT),
    peer("iomp-active", "Intel OpenMP, told to spin", Barrier::OpenMp(&INTEL), ACTIVE),
    peer("iomp-passive", "Intel OpenMP, told to sleep", Barrier::OpenMp(&INTEL), PASSIVE),
];

/// Our own runtime, beside the others: as it comes, and by fixed policies.
pub(crate) const OURS: [Peer; 3] = [
    peer("foregather", "this project's OpenMP runtime", Barrier::OpenMp(&OWN), DEFAULT),
    peer("foregather-block", "the same, which always sleeps", Barrier::OpenMp(&OWN), &[("FOREGATHER_WAIT", "block")]),
    peer("foregather-spin", "the same, which never sleeps", Barrier::OpenMp(&OWN), &[("FOREGATHER_WAIT", "spin")]),
];

const fn peer(name: &'static str, what: &'static str, barrier: Barrier, env: &'static [(&'static str, &'static str)]) -> Peer {
    Peer { name, what, barrier, env }
}

/// The peer of that name.
pub(crate) fn find(name: &str) -> Option<&'static Peer> {
    const { &PEERS }.iter().find(|peer| peer.name == name)
}

/// All peers, for the caller.
pub(crate) fn list() -> Value {
    PEERS.iter().map(describe).collect()
}

pub(crate) fn describe(peer: &Peer) -> Value {
    let version = match peer.barrier {
        // It is the compiler's, which the caller records for all its results.
        Barrier::RustStd => Ok(None),
        Barrier::Hurdles => Ok(locked_version("hurdles").map(str::to_owned)),
        Barrier::Pthread => Ok(Some(libc_version().unwrap_or_else(|| "not glibc".to_owned()))),
        Barrier::OpenMp(runtime) => runtime.library().map(|library| Some(resolved(&library))),
    };
    let remedy = match peer.barrier {
        Barrier::OpenMp(runtime) if version.is_err() => Some(runtime.remedy),
        _ => None,
    };
    let env: Map<_, _> = peer.env.iter().map(|&(name, value)| (name.to_owned(), value.into())).collect();
    json!({ "name": peer.name, "what": peer.what, "available": version.is_ok(), "remedy": remedy, "env": env,
            "version": version.ok().flatten() })
}

/// The version of a dependency that this program was built with.
pub(crate) fn locked_version(package: &str) -> Option<&'static str> {
    let lock = include_str!("../../Cargo.lock");
    let after = lock.split_once(&format!("name = \"{package}\"\nversion = \""))?.1;
    after.split_once('"').map(|(version, _)| version)
}

/// The runtimes do not report their versions; the file behind the symbolic links often does.
fn resolved(library: &Library) -> String {
    let path = library.path();
    path.canonicalize().unwrap_or_else(|_| path.to_owned()).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found() {
        for peer in &PEERS {
            assert_eq!(PEERS.iter().filter(|other| other.name == peer.name).count(), 1, "{}", peer.name);
            assert_eq!(find(peer.name).map(|found| found.what), Some(peer.what));
        }
        assert!(find("central/spin").is_none());
    }

    #[test]
    fn versions_of_dependencies_are_those_of_the_lock_file() {
        assert!(locked_version("hurdles").unwrap().starts_with(|first: char| first.is_ascii_digit()));
        assert_eq!(locked_version("no-such-package"), None);
    }
}
