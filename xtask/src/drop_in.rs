//! `cargo xtask drop-in libgomp`: the library that takes the place of an OpenMP runtime.
//!
//! rustc writes a version script of its own for every shared library, and linkers take one. So the face is a
//! static library, which `cc` links once more with the script that the face's table gives.
use crate::Trouble;
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

pub(crate) const HELP: &str = "\
cargo xtask drop-in libgomp

Builds libforegather_gomp.so, to be preloaded by programs that use the GNU OpenMP runtime, and prints where it is. Needs cc.";

pub(crate) fn run(names: &[&str]) -> Result<bool, Trouble> {
    match names {
        ["libgomp"] => {
            println!("{}", link()?.display());
            Ok(true)
        }
        _ => Err(Trouble::Usage(format!("expected `libgomp`, got `{}`", names.join(" ")))),
    }
}

fn link() -> Result<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask stands in the workspace")?;
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    done(Command::new(cargo).current_dir(root).args([
        "build",
        "--quiet",
        "--locked",
        "--profile",
        "dist",
        "-p",
        "foregather-openmp-face",
    ]))?;
    let (built, place) = (target.join("dist"), target.join("drop-in"));
    let script = Command::new(built.join("foregather-gomp-symbols")).output().context("the table of symbols")?;
    ensure!(script.status.success(), "the table of symbols cannot be printed");
    fs::create_dir_all(&place)?;
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
