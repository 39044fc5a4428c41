//! A rank runs under the library with each MPI that is installed, and the page shows its calls.
use foregather_host::watched::calls::{CallPage, MpiCall, VARIABLE, WORLD};
use foregather_host::watched::path_of;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The compiler of each MPI, and its library for Fortran.
const INSTALLED: [(&str, &str); 2] = [("mpicc.openmpi", "-lmpi_mpifh"), ("mpicc.mpich", "-lmpichfort")];
const ROUNDS: u32 = 20;

/// The library, beside this test.
fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let built = test.ancestors().map(|folder| folder.join("libforegather_mpi.so")).find(|path| path.exists());
    built.expect("cargo builds the library for its tests")
}

/// Builds the program. `None` if that MPI is not installed.
fn built(compiler: &str, fortran: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("calls-{compiler}"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/calls.c");
    let built = Command::new(compiler).args(["-O1", "-o"]).arg(&path).arg(source).arg(fortran).output();
    let is_built = built.is_ok_and(|built| built.status.success());
    if !is_built {
        eprintln!("not run: {compiler} {fortran} does not build programs here");
    }
    is_built.then_some(path)
}

#[test]
fn calls_in_c_and_in_fortran_are_on_the_page() {
    for (compiler, fortran) in INSTALLED {
        let Some(path) = built(compiler, fortran) else { continue };
        let (page, file) = CallPage::create().unwrap();
        let mut command = Command::new(path);
        command.env("LD_PRELOAD", library()).env(VARIABLE, path_of(&file));
        // Otherwise Open MPI starts a daemon for a rank without a launcher.
        command.env("OMPI_MCA_ess_singleton_isolated", "1").env("IPATH_NO_BACKTRACE", "1");
        let ended = command.output().unwrap();
        assert_eq!(ended.status.code(), Some(5), "{compiler}: {}", String::from_utf8_lossy(&ended.stderr));
        let [rank] = &page.calls()[..] else { panic!("{compiler}: one thread calls") };
        assert_eq!((rank.rank, rank.size, rank.has_finalized, rank.call), (Some(0), 1, true, Some(MpiCall::Finalize)));
        let counted = |tag| (rank.sent.get(0, tag) / ROUNDS, rank.wanted.get(0, tag) / ROUNDS);
        assert_eq!([5, 6, 7, 8, 9].map(counted), [(2, 2), (1, 0), (1, 1), (1, 1), (0, 0)], "{compiler}");
        assert_eq!(rank.wild, ROUNDS, "{compiler}: receives from any rank");
        let split_dup_and_bcast = u64::from(ROUNDS) * 3;
        assert_eq!(rank.collectives_on(WORLD).unwrap().number, split_dup_and_bcast, "{compiler}");
    }
}
