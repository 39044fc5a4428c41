//! `cargo xtask wheel`: the wheel for Python with the command and the libraries in it.
//!
//! maturin builds the extension. It takes everything else from folders beside the extension, which this chore
//! fills.
use crate::build::{GLIBC, PARTS, Platform, done, python, root};
use crate::{ChoreError, drop_in, install, notices};
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) const HELP: &str = "\
cargo xtask wheel [--for x86_64|aarch64] [MATURIN ARGUMENTS]

Builds the wheel of faces/python with the command `foregather` and the drop-in libraries in it, into target/wheels. `--for` builds for
every Linux of that architecture with glibc 2.28 or newer. Needs python3 with maturin, and ziglang for `--for` (FOREGATHER_PYTHON names
another interpreter), strip and cc.";

/// The package of Python.
const FACE: &str = "faces/python";
/// Files of a wheel, and the packages that they are built from.
const FILES: [(&str, &str); 7] = [
    ("foregather/_foregather.abi3.so", "foregather-python"),
    ("bin/foregather", PARTS[4]),
    ("foregather/lib/libforegather_gomp.so", PARTS[1]),
    ("foregather/lib/libforegather_pthread.so", PARTS[2]),
    ("foregather/lib/libforegather_blas.so", PARTS[3]),
    ("foregather/lib/libforegather_watch.so", PARTS[5]),
    ("foregather/lib/libforegather_mpi.so", PARTS[6]),
];

pub(crate) fn run(words: &[&str]) -> Result<bool, ChoreError> {
    let (platform, arguments) = match words {
        ["--for", architecture, rest @ ..] => (Platform::portable(architecture)?, rest),
        rest => (Platform::Here, rest),
    };
    build(platform, &PARTS[1..], &root()?.join("target/wheels"), arguments)?;
    Ok(true)
}

/// Builds a wheel into a folder. `packages` are built together with those of its files: the same as a chore
/// before has built are there already.
pub(crate) fn build(platform: Platform, packages: &[&str], into: &Path, arguments: &[&str]) -> Result<()> {
    let face = root()?.join(FACE);
    let (scripts, libraries) = (face.join("foregather.data/scripts"), face.join("python/foregather/lib"));
    let built = platform.build(packages)?;
    // Nothing links with the command, and its names are a tenth of a wheel.
    let command = put(&built.join("foregather"), &scripts)?;
    platform.strip(&command, &["--strip-all"])?;
    install::manual(platform, &command, &face.join("foregather.data/data"))?;
    for (name, _) in drop_in::DROP_INS {
        put(&drop_in::library(platform, name, &built)?, &libraries)?;
    }
    let packages = FILES.map(|(_, package)| package);
    fs::write(face.join(notices::FILE), notices::text(platform, &packages)?)?;
    if let Some(file) = notices::of_standard_library()? {
        put(&file, &face)?;
    }
    let sbom = platform.target()?.join(notices::SBOM);
    fs::write(&sbom, notices::sbom(platform, &FILES)?)?;
    let mut maturin = maturin("build");
    maturin.args(["--quiet", "--release", "--locked", "--sbom-include"]).arg(sbom).arg("--out").arg(into);
    if let Some(triple) = platform.triple() {
        let tag = format!("manylinux_{}", GLIBC.replace('.', "_"));
        maturin.args(["--target", &triple, "--zig", "--compatibility", &tag]);
        platform.configure(&mut maturin)?;
    }
    done(maturin.args(arguments)).context("maturin builds the wheel: `python3 -m pip install maturin ziglang`")
}

/// Packs the sources of the extension into a folder.
pub(crate) fn sources(into: &Path) -> Result<()> {
    done(maturin("sdist").arg("--out").arg(into)).context("maturin packs the sources: `python3 -m pip install maturin`")
}

fn maturin(verb: &str) -> Command {
    let mut maturin = Command::new(python());
    maturin.args(["-m", "maturin", verb, "--manifest-path"]);
    maturin.arg(Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name(FACE).join("Cargo.toml"));
    maturin
}

/// Copies a program or a library into a folder of the wheel; returns the path of the copy.
fn put(file: &Path, folder: &Path) -> Result<PathBuf> {
    let name = file.file_name().context("a file has a name")?;
    fs::create_dir_all(folder)?;
    let there = folder.join(name);
    fs::copy(file, &there).with_context(|| format!("{}", file.display()))?;
    Ok(there)
}
