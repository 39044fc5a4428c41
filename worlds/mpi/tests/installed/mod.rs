//! The MPI installations of this machine with their launchers.
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// One MPI installation.
pub(crate) struct Installed {
    pub(crate) name: &'static str,
    launcher: PathBuf,
    options: &'static [&'static str],
    /// The value for `FOREGATHER_MPI`.
    library: String,
}

impl Installed {
    /// Returns the value for `FOREGATHER_MPI`.
    #[allow(dead_code, reason = "not every test asks")]
    pub(crate) fn library(&self) -> &str {
        &self.library
    }

    /// The family of the library. Libraries of one family work with each other's launchers.
    #[allow(dead_code, reason = "not every test asks")]
    pub(crate) fn family(&self) -> &'static str {
        if self.name == "Open MPI" { self.name } else { "MPICH" }
    }

    /// Returns the command that starts two ranks with this launcher and the library of another MPI.
    #[allow(dead_code, reason = "not every test asks")]
    pub(crate) fn with_library_of(&self, other: &Self) -> Command {
        let mut command = self.command(2);
        command.env("FOREGATHER_MPI", &other.library);
        command
    }

    #[allow(dead_code, reason = "not every test asks")]
    /// Returns the command that starts this test program with that many ranks. The caller appends the
    /// program's arguments.
    pub(crate) fn command(&self, ranks: u32) -> Command {
        let mut command = Command::new(&self.launcher);
        command.args(["-n", &ranks.to_string()]).args(self.options).arg(std::env::current_exe().unwrap());
        command.env("FOREGATHER_MPI", &self.library).env("IPATH_NO_BACKTRACE", "1");
        // Open MPI refuses root and more ranks than processors otherwise.
        command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        if !can_read_processes() {
            // The settings that `README.md` recommends in containers.
            command.env("OMPI_MCA_btl_vader_single_copy_mechanism", "none").env("UCX_TLS", "^tcp");
        }
        command
    }
}

/// What this process is to do, in a child that a test has started; `None` in the parent.
pub(crate) fn part(variable: &str) -> Option<String> {
    let what = std::env::var(variable).ok()?;
    // SAFETY: the call takes a number only. Whatever hangs, this process ends.
    unsafe { libc::alarm(100) };
    Some(what)
}

/// Makes a command that starts this test program a child whose part is `what`, and runs it.
pub(crate) fn run_part(mut command: Command, variable: &str, what: &str) -> Output {
    command.args(["--exact", "part", "--nocapture"]).env(variable, what).output().unwrap()
}

/// Returns whether a process may read another one's memory, which containers forbid.
fn can_read_processes() -> bool {
    let (from, mut into) = (7_u8, 0_u8);
    let there = libc::iovec { iov_base: (&raw const from).cast_mut().cast(), iov_len: 1 };
    let here = libc::iovec { iov_base: (&raw mut into).cast(), iov_len: 1 };
    // SAFETY: both ranges are one byte on this stack frame, and the kernel writes only to the second.
    unsafe { libc::process_vm_readv(libc::getpid(), &raw const here, 1, &raw const there, 1, 0) == 1 }
}

/// Returns the first file of this name in `PATH`.
fn which(name: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Returns all installations. A missing one is an error on a machine of the project that must have it.
pub(crate) fn installed() -> Vec<Installed> {
    let mut all = Vec::new();
    let mut known = |name, launcher: Option<PathBuf>, options, library: Option<String>, is_needed: bool| match (launcher, library)
    {
        (Some(launcher), Some(library)) => all.push(Installed { name, launcher, options, library }),
        _ => {
            assert!(!is_needed || std::env::var_os("FOREGATHER_REQUIRE_PARTS").is_none(), "a part is missing: {name}");
            eprintln!("skipped: no {name} here");
        }
    };
    // The wheel's folder, wherever its compiler is.
    let wheel = which("mpicc_abi").and_then(|file| Some(file.parent()?.parent()?.to_owned()));
    let beside = |part: &str| wheel.as_deref().map(|root: &Path| root.join(part)).filter(|file| file.is_file());
    let library = beside("lib/libmpi_abi.so.1").map(|file| file.to_string_lossy().into_owned());
    known("MPICH 5 by the standard ABI", beside("bin/mpiexec"), &[], library, false);
    known("Open MPI", which("mpirun.openmpi"), &["--oversubscribe", "--bind-to", "none"], Some("libmpi.so.40".to_owned()), true);
    known("MPICH 4", which("mpiexec.mpich"), &[], Some("libmpich.so.12".to_owned()), true);
    all
}
