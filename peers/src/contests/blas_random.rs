//! Random calls of the BLAS, by our library and by the reference: here are the libraries, and the program
//! that makes the calls (`peers/src/blas_random`).
use super::PeerError;
use super::support::{built, root};
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const PROGRAM: [&str; 7] =
    ["build", "--release", "--message-format=json", "--package", "foregather-peers", "--bin", "foregather-peers"];
/// Where distributions have the reference and others.
const PLACES: [&str; 2] = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu"];
const REFERENCE: &str = "blas/libblas.so.3";
const OPENBLAS: &str = "openblas-pthread/libblas.so.3";
const MKL: [&str; 2] = ["libmkl_rt.so.3", "libmkl_rt.so.2"];

pub(super) fn hold(options: &[&str]) -> Result<(), PeerError> {
    let words = options.chunks(2).filter(|pair| pair[0] != "--ours").flatten();
    let mut command = Command::new(built(&PROGRAM)?);
    let place = env::temp_dir().join(format!("foregather-blas-errors-{}", std::process::id()));
    fs::create_dir_all(&place)?;
    let handler = handler(&place)?;
    let reference = installed(REFERENCE)
        .ok_or_else(|| PeerError::Missing("no reference BLAS; on Debian `apt-get install libblas3`".to_owned()))?;
    let ours = options.chunks(2).find(|pair| pair[0] == "--ours" && pair.len() == 2).map(|pair| PathBuf::from(pair[1]));
    let ours = fs::canonicalize(ours.map_or_else(drop_in, Ok)?).context("the library under test")?;
    command.arg("blas-random");
    // All libraries report to this handler, also those of the processes that this program starts.
    command.env("LD_PRELOAD", &handler);
    command.envs([("OPENBLAS_NUM_THREADS", "1"), ("MKL_NUM_THREADS", "1"), ("MKL_THREADING_LAYER", "SEQUENTIAL")]);
    for (name, file) in [("--ours", &ours), ("--reference", &reference), ("--handler", &handler)] {
        command.arg(name).arg(file);
    }
    for (name, file) in [("OpenBLAS", installed(OPENBLAS)), ("MKL", mkl())] {
        match file {
            Some(file) => drop(command.args(["--other", &format!("{name}={}", file.display())])),
            None => eprintln!("left out: {name} is not installed"),
        }
    }
    if !options.contains(&"--seed") && !options.contains(&"--call") {
        command.args(["--seed", &fresh_seed().to_string()]);
    }
    let status = command.args(words).status().context("the program that makes the calls")?;
    // What was built stays only if it could not be removed.
    let _ = fs::remove_dir_all(&place);
    match status.code() {
        Some(0) => Ok(()),
        Some(2) => Err(PeerError::Usage("see above".to_owned())),
        _ => Err(PeerError::Failed(anyhow::anyhow!("results differ, or {status}"))),
    }
}

/// Builds our library. Returns where it is.
fn drop_in() -> Result<PathBuf> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built =
        Command::new(cargo).args(["xtask", "drop-in", "blas"]).current_dir(root()?).output().context("cannot run cargo")?;
    ensure!(built.status.success(), "the library does not build: {}", String::from_utf8_lossy(&built.stderr));
    Ok(PathBuf::from(String::from_utf8_lossy(&built.stdout).trim()))
}

/// Compiles the handler of illegal arguments.
fn handler(place: &Path) -> Result<PathBuf> {
    let library = place.join("libblas_errors.so");
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(root()?.join("peers/c/blas_errors.c"));
    ensure!(cc.status().context("cannot run `cc`")?.success(), "cc does not compile peers/c/blas_errors.c");
    Ok(library)
}

fn installed(name: &str) -> Option<PathBuf> {
    PLACES.iter().map(|place| Path::new(place).join(name)).find(|file| file.is_file())
}

/// MKL lies where `LD_LIBRARY_PATH` says.
fn mkl() -> Option<PathBuf> {
    let path = env::var_os("LD_LIBRARY_PATH")?;
    let folders: Vec<PathBuf> = env::split_paths(&path).collect();
    folders.iter().flat_map(|folder| MKL.map(|name| folder.join(name))).find(|file| file.is_file())
}

/// A seed that no run has had before.
fn fresh_seed() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    now.as_secs() << 20 | u64::from(now.subsec_micros())
}
