//! `cargo xtask drop-in libgomp|pthread|blas|watch|mpi|all`: libraries that are loaded before those that programs
//! have.
//!
//! rustc writes a version script of its own for every shared library, and linkers take one. So the face of
//! OpenMP, whose symbols have versions, is a static library, which a C compiler links once more with the
//! script that the face's table gives.
use crate::build::{PARTS, Platform, done};
use crate::{ChoreError, elf};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) const HELP: &str = "\
cargo xtask drop-in libgomp|pthread|blas|watch|mpi|all

Builds libforegather_gomp.so, to be preloaded by programs that use the GNU OpenMP runtime, libforegather_pthread.so, by programs with
barriers of POSIX threads, libforegather_blas.so, by programs with a BLAS, libforegather_watch.so, by which `foregather advise` records
what threads wait for, or libforegather_mpi.so, by which `foregather hang` sees calls of MPI, and prints where it is. `all` builds them all,
with the command and the library for C. The first stands in gomp/libgomp.so.1
beside it, too, for library paths. They keep the names of their functions for debuggers. Needs cc and strip.";

/// The libraries that there are, with the packages that they are built from.
pub(crate) const DROP_INS: [(&str, &str); 5] =
    [("libgomp", PARTS[1]), ("pthread", PARTS[2]), ("blas", PARTS[3]), ("watch", PARTS[5]), ("mpi", PARTS[6])];

pub(crate) fn run(names: &[&str]) -> Result<bool, ChoreError> {
    let wanted: Vec<_> = DROP_INS.into_iter().filter(|(known, _)| names == [*known] || names == ["all"]).collect();
    let built = match wanted[..] {
        [] => {
            let known = DROP_INS.map(|(known, _)| known).join(", ");
            return Err(ChoreError::Usage(format!("expected one of {known}, or all, got `{}`", names.join(" "))));
        }
        [(_, package)] => Platform::Here.build(&[package])?,
        _ => Platform::Here.build(&PARTS)?,
    };
    for (name, _) in wanted {
        println!("{}", library(Platform::Here, name, &built)?.display());
    }
    Ok(true)
}

/// Makes the library of that name of what cargo has built. Returns where it is.
pub(crate) fn library(platform: Platform, name: &str, built: &Path) -> Result<PathBuf> {
    let place = built.with_file_name("drop-in");
    fs::create_dir_all(&place)?;
    match name {
        "libgomp" => libgomp(platform, built, &place),
        "pthread" => shared(platform, &built.join("libforegather_pthread.so"), &place),
        "watch" => shared(platform, &built.join("libforegather_watch.so"), &place),
        "mpi" => shared(platform, &built.join("libforegather_mpi.so"), &place),
        _ => shared(platform, &built.join("libforegather_blas.so"), &place),
    }
}

/// A library that needs no other script than rustc's.
fn shared(platform: Platform, built: &Path, place: &Path) -> Result<PathBuf> {
    let library = place.join(built.file_name().context("a library has a name")?);
    crate::install::put(built, &library)?;
    platform.strip(&library, &["--strip-debug"])?;
    Ok(library)
}

/// The OpenMP runtime, to be preloaded; and below `gomp` the same under the name that programs link with.
/// Returns where the first is.
fn libgomp(platform: Platform, built: &Path, place: &Path) -> Result<PathBuf> {
    let mut table = platform.command(&built.join("foregather-gomp-symbols"))?;
    let script = table.output().context("the table of symbols")?;
    ensure!(script.status.success(), "the table of symbols cannot be printed");
    let versions = place.join("libgomp.map");
    fs::write(&versions, script.stdout)?;
    fs::create_dir_all(place.join("gomp"))?;
    let [preloaded, linked] = ["libforegather_gomp.so", LIBGOMP].map(|name| place.join(name));
    for library in [&linked, &preloaded] {
        let name = library.file_name().context("a library has a name")?;
        let (mut cc, unwinder) = platform.linker();
        cc.args(["-shared", "-Wl,--gc-sections", "-Wl,-z,nodelete,-z,defs,-z,now"]);
        cc.arg(format!("-Wl,-soname,{}", name.display()));
        cc.arg(format!("-Wl,--version-script={}", versions.display()));
        cc.arg("-Wl,--whole-archive").arg(built.join("libforegather_gomp.a")).arg("-Wl,--no-whole-archive");
        done(cc.args([unwinder, "-lpthread", "-ldl", "-lm", "-o"]).arg(library))?;
        platform.strip(library, &["--strip-debug"])?;
        let mut linked = fs::read(library)?;
        elf::set_init_first(&mut linked).with_context(|| format!("{}", library.display()))?;
        fs::write(library, linked)?;
    }
    let full = place.join(LIBGOMP_FULL);
    let _ = fs::remove_file(&full);
    std::os::unix::fs::symlink(linked.file_name().context("a library has a name")?, &full)?;
    Ok(preloaded)
}

/// Where the OpenMP runtime stands under the name that programs link with, beside the drop-in libraries. In a
/// folder of its own, which a library path may name without the others.
pub(crate) const LIBGOMP: &str = "gomp/libgomp.so.1";
/// The same by the name that a few extensions, such as numba's, need; a link.
pub(crate) const LIBGOMP_FULL: &str = "gomp/libgomp.so.1.0.0";
