//! `cargo xtask drop-in libgomp|pthread|blas`: libraries that take the place of those that programs have.
//!
//! rustc writes a version script of its own for every shared library, and linkers take one. So the face of
//! OpenMP, whose symbols have versions, is a static library, which `cc` links once more with the script that
//! the face's table gives.
use crate::Trouble;
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

pub(crate) const HELP: &str = "\
cargo xtask drop-in libgomp|pthread|blas

Builds libforegather_gomp.so, to be preloaded by programs that use the GNU OpenMP runtime, libforegather_pthread.so, by programs with
barriers of POSIX threads, or libforegather_blas.so, by programs with a BLAS, and prints where it is. Needs cc.";

pub(crate) fn run(names: &[&str]) -> Result<bool, Trouble> {
    let library = match names {
        ["libgomp"] => libgomp()?,
        ["pthread"] => shared("foregather-pthread-face", "libforegather_pthread.so")?,
        ["blas"] => shared("foregather-blas-face", "libforegather_blas.so")?,
        _ => return Err(Trouble::Usage(format!("expected `libgomp`, `pthread` or `blas`, got `{}`", names.join(" ")))),
    };
    println!("{}", library.display());
    Ok(true)
}

/// Builds a face. Returns where cargo leaves it, and where it shall be.
fn build(face: &str) -> Result<(PathBuf, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask stands in the workspace")?;
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    done(Command::new(cargo).current_dir(root).args(["build", "--quiet", "--locked", "--profile", "dist", "-p", face]))?;
    let place = target.join("drop-in");
    fs::create_dir_all(&place)?;
    Ok((target.join("dist"), place))
}

/// A library that needs no other script than rustc's.
fn shared(face: &str, name: &str) -> Result<PathBuf> {
    let (built, place) = build(face)?;
    let library = place.join(name);
    fs::copy(built.join(name), &library)?;
    Ok(library)
}

fn libgomp() -> Result<PathBuf> {
    let (built, place) = build("foregather-openmp-face")?;
    let script = Command::new(built.join("foregather-gomp-symbols")).output().context("the table of symbols")?;
    ensure!(script.status.success(), "the table of symbols cannot be printed");
    let (versions, library) = (place.join("libgomp.map"), place.join("libforegather_gomp.so"));
    fs::write(&versions, script.stdout)?;
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-Wl,-soname,libforegather_gomp.so", "-Wl,--gc-sections", "-Wl,-z,nodelete", "-Wl,-z,defs"]);
    cc.arg(format!("-Wl,--version-script={}", versions.display()));
    cc.arg("-Wl,--whole-archive").arg(built.join("libforegather_gomp.a")).arg("-Wl,--no-whole-archive");
    done(cc.args(["-lgcc_s", "-lpthread", "-ldl", "-lm", "-s", "-o"]).arg(&library))?;
    Ok(library)
}

/// Runs a program to its good end.
fn done(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("{} cannot be started", command.get_program().display()))?;
    ensure!(status.success(), "{} ended with {status}", command.get_program().display());
    Ok(())
}
