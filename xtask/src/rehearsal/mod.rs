//! `cargo xtask release-rehearsal`: a release, published to folders and installed from there.
//!
//! The files are those that `cargo xtask dist` made: nothing is built again, so what is tried is what will be
//! published. The lines are those of README, as they are typed.
mod index;
mod lines;
mod room;

use crate::ChoreError;
use crate::build::{root, target};
use anyhow::Context;
use std::fs;

pub(crate) const HELP: &str = "\
cargo xtask release-rehearsal [--chroot]

Fills a local index with the wheel of target/dist-files (`cargo xtask dist` makes it) and a local registry with the crates that would be
published and those that they need, and runs README's lines from there, each block of an audience by itself. Prints its seconds and its
megabytes. Without `--chroot` the lines run here, in a home of their own; with it, as an ordinary user in a bare Debian that has Python, a
C compiler, the Rust toolchain and no network, which needs root and debootstrap.";

pub(crate) fn run(words: &[&str]) -> Result<bool, ChoreError> {
    let in_chroot = match words {
        [] => false,
        ["--chroot"] => true,
        _ => return Err(ChoreError::Usage(format!("expected nothing or `--chroot`, got `{}`", words.join(" ")))),
    };
    let (readme, files) = (fs::read_to_string(root()?.join("README.md"))?, target()?.join("dist-files"));
    let lines = lines::Readme::of(&readme)?;
    // Outside of the repository: a new crate below it would become a member of its workspace.
    let place = std::env::temp_dir().join("foregather-rehearsal");
    let _ = fs::remove_dir_all(&place);
    index::fill_wheels(&files, &place.join("simple/foregather"))?;
    index::fill_crates(&place.join("crates"))?;
    let work = place.join("work");
    fs::create_dir_all(&work)?;
    let tarball = index::of_this_machine(&files, ".tar.gz")?;
    fs::copy(&tarball, work.join(tarball.file_name().context("a file has a name")?))?;
    lines.write(&work)?;
    if in_chroot {
        room::run_in_chroot(&place)?
    } else {
        room::run_here(&place)?
    }
    fs::remove_dir_all(&place)?;
    println!("{} blocks of README.md ran from the local index and registry", lines.blocks());
    Ok(true)
}
