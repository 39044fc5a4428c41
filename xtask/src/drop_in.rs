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
barriers of POSIX threads, or libforegather_blas.so, by programs with a BLAS, and prints where it is. The first stands in gomp/libgomp.so.1
beside it, too, for library paths. They keep the names of their functions for debuggers. Needs cc and strip.";

pub(crate) fn run(names: &[&str]) -> Result<bool, Trouble> {
    let [name] = names else {
        return Err(Trouble::Usage(format!("expected one of {}, got `{}`", NAMES.join(", "), names.join(" "))));
    };
    if !NAMES.contains(name) {
        return Err(Trouble::Usage(format!("expected one of {}, got `{name}`", NAMES.join(", "))));
    }
    println!("{}", library(name)?.display());
    Ok(true)
}

/// The libraries that there are.
pub(crate) const NAMES: [&str; 3] = ["libgomp", "pthread", "blas"];

/// Builds the library of that name. Returns where it is.
pub(crate) fn library(name: &str) -> Result<PathBuf> {
    match name {
        "libgomp" => libgomp(),
        "pthread" => shared("foregather-pthread-face", "libforegather_pthread.so"),
        _ => shared("foregather-blas-face", "libforegather_blas.so"),
    }
}

/// The repository.
pub(crate) fn root() -> Result<&'static Path> {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask stands in the workspace")
}

/// Builds a package for others to use: as `dist`, or as FOREGATHER_PROFILE says, which is faster if most of
/// it is built like that already. Returns where cargo leaves it.
pub(crate) fn cargo_build(package: &str) -> Result<PathBuf> {
    let root = root()?;
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let (cargo, profile) = (env::var_os("CARGO").unwrap_or_else(|| "cargo".into()), env::var("FOREGATHER_PROFILE"));
    let profile = profile.unwrap_or_else(|_| "dist".to_owned());
    done(Command::new(cargo).current_dir(root).args(["build", "--quiet", "--locked", "--profile", &profile, "-p", package]))?;
    Ok(target.join(profile))
}

/// Builds a package. Returns where cargo leaves it, and where it shall be.
pub(crate) fn build(face: &str) -> Result<(PathBuf, PathBuf)> {
    let built = cargo_build(face)?;
    let place = built.with_file_name("drop-in");
    fs::create_dir_all(&place)?;
    Ok((built, place))
}

/// A library that needs no other script than rustc's.
pub(crate) fn shared(face: &str, name: &str) -> Result<PathBuf> {
    let (built, place) = build(face)?;
    let library = place.join(name);
    fs::copy(built.join(name), &library)?;
    strip(&library)?;
    Ok(library)
}

/// Takes the lines of the source out of a program or a library. The names of its functions stay, so that
/// debuggers and profilers can show them.
pub(crate) fn strip(file: &Path) -> Result<()> {
    done(Command::new("strip").arg("--strip-debug").arg(file)).context("`strip` comes with binutils")
}

/// Takes the names out of a program as well: nothing links with it, and they are a tenth of a wheel.
pub(crate) fn strip_program(file: &Path) -> Result<()> {
    done(Command::new("strip").arg("--strip-all").arg(file)).context("`strip` comes with binutils")
}

/// The OpenMP runtime, to be preloaded; and below `gomp` the same under the name that programs link with.
/// Returns where the first is.
fn libgomp() -> Result<PathBuf> {
    let (built, place) = build("foregather-openmp-face")?;
    let script = Command::new(built.join("foregather-gomp-symbols")).output().context("the table of symbols")?;
    ensure!(script.status.success(), "the table of symbols cannot be printed");
    let versions = place.join("libgomp.map");
    fs::write(&versions, script.stdout)?;
    fs::create_dir_all(place.join("gomp"))?;
    let [preloaded, linked] = ["libforegather_gomp.so", LIBGOMP].map(|name| place.join(name));
    for library in [&linked, &preloaded] {
        let name = library.file_name().context("a library has a name")?;
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-Wl,--gc-sections", "-Wl,-z,nodelete,-z,defs,-z,now,-z,initfirst"]);
        cc.arg(format!("-Wl,-soname,{}", name.display()));
        cc.arg(format!("-Wl,--version-script={}", versions.display()));
        cc.arg("-Wl,--whole-archive").arg(built.join("libforegather_gomp.a")).arg("-Wl,--no-whole-archive");
        done(cc.args(["-lgcc_s", "-lpthread", "-ldl", "-lm", "-Wl,--strip-debug", "-o"]).arg(library))?;
    }
    Ok(preloaded)
}

/// Where the OpenMP runtime stands under the name that programs link with, beside the drop-in libraries. In a
/// folder of its own, which a library path may name without the others.
pub(crate) const LIBGOMP: &str = "gomp/libgomp.so.1";

/// Runs a program to its good end.
pub(crate) fn done(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("{} cannot be started", command.get_program().display()))?;
    ensure!(status.success(), "{} ended with {status}", command.get_program().display());
    Ok(())
}
