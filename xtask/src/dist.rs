//! `cargo xtask dist`: what a release consists of.
use crate::{Trouble, drop_in, install, wheel};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::Path;
use std::process::Command;

pub(crate) const HELP: &str = "\
cargo xtask dist

Makes a tarball of what `cargo xtask install` lays out, the wheel for Python, and their checksums, in target/dist-files. Needs what
`install` and `wheel` need, tar and sha256sum.";

pub(crate) fn run(words: &[&str]) -> Result<bool, Trouble> {
    if !words.is_empty() {
        return Err(Trouble::Usage(format!("expected nothing more, got `{}`", words.join(" "))));
    }
    let target = drop_in::root()?.join("target");
    let (files, name) =
        (target.join("dist-files"), format!("foregather-{}-{}-linux", env!("CARGO_PKG_VERSION"), std::env::consts::ARCH));
    let tree = files.join(&name);
    let _ = fs::remove_dir_all(&files);
    fs::create_dir_all(&tree)?;
    install::run(&["--prefix", &tree.display().to_string()])?;
    wheel::run(&[])?;
    for wheel in fs::read_dir(target.join("wheels"))? {
        let wheel = wheel?.path();
        fs::copy(&wheel, files.join(wheel.file_name().context("a file has a name")?))?;
    }
    let tarball = format!("{name}.tar.gz");
    let tar = ["--owner=0", "--group=0", "--sort=name", "-czf", &tarball, &name];
    drop_in::done(Command::new("tar").current_dir(&files).args(tar)).context("tar packs the tree")?;
    fs::remove_dir_all(&tree)?;
    sums(&files)?;
    println!("{}", files.display());
    Ok(true)
}

/// Writes the checksums of all files there.
fn sums(files: &Path) -> Result<()> {
    let mut names: Vec<_> = fs::read_dir(files)?.map(|entry| Ok(entry?.file_name())).collect::<Result<_>>()?;
    names.sort();
    let sums = Command::new("sha256sum").current_dir(files).args(&names).output().context("sha256sum")?;
    ensure!(sums.status.success(), "sha256sum ended with {}", sums.status);
    fs::write(files.join("SHA256SUMS"), sums.stdout)?;
    Ok(())
}
