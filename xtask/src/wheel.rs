//! `cargo xtask wheel`: the wheel for Python with the command and the libraries in it.
//!
//! maturin builds the extension. What else the wheel has, it takes from folders beside it, which this chore
//! fills.
use crate::{Trouble, drop_in};
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) const HELP: &str = "\
cargo xtask wheel [MATURIN ARGUMENTS]

Builds the wheel of faces/python with the command `foregather` and the drop-in libraries in it, into target/wheels. Needs python3 with
maturin (FOREGATHER_PYTHON names another interpreter), strip and cc.";

/// The package of Python.
const FACE: &str = "faces/python";

pub(crate) fn run(arguments: &[&str]) -> Result<bool, Trouble> {
    let face = drop_in::root()?.join(FACE);
    let (scripts, libraries) = (face.join("foregather.data/scripts"), face.join("python/foregather/lib"));
    drop_in::strip_program(&put(&drop_in::cargo_build("foregather-lab")?.join("foregather"), &scripts)?)?;
    for name in drop_in::NAMES {
        drop_in::strip(&put(&drop_in::library(name)?, &libraries)?)?;
    }
    let python = std::env::var_os("FOREGATHER_PYTHON").unwrap_or_else(|| "python3".into());
    let mut maturin = Command::new(python);
    maturin.current_dir(&face).args(["-m", "maturin", "build", "--release", "--locked", "--out", "../../target/wheels"]);
    drop_in::done(maturin.args(arguments)).context("maturin builds the wheel: `python3 -m pip install maturin`")?;
    Ok(true)
}

/// Copies a program or a library into a folder of the wheel; returns the path of the copy.
fn put(file: &Path, folder: &Path) -> Result<PathBuf> {
    let name = file.file_name().context("a file has a name")?;
    fs::create_dir_all(folder)?;
    let there = folder.join(name);
    fs::copy(file, &there).with_context(|| format!("{}", file.display()))?;
    Ok(there)
}
