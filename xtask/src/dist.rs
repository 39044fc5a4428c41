//! `cargo xtask dist`: what a release consists of.
use crate::build::{ARCHITECTURES, PARTS, Platform, done, epoch, target};
use crate::{ChoreError, install, wheel};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) const HELP: &str = "\
cargo xtask dist [--for x86_64|aarch64|all]

Makes a tarball of what `cargo xtask install` lays out, the wheel for Python, its sources, and their checksums, in target/dist-files.
Without `--for` they are for this machine, and soon built. With it they are those of a release: they run on every Linux of that
architecture with glibc 2.28 or newer, and two builds of a commit by the same tools are the same bytes. Needs what `install` and `wheel`
need, tar, gzip and sha256sum; for aarch64 on another machine a runner, such as
CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER=\"qemu-aarch64 -L SYSROOT\".";

pub(crate) fn run(words: &[&str]) -> Result<bool, ChoreError> {
    let platforms = match words {
        [] => vec![Platform::Here],
        ["--for", "all"] => ARCHITECTURES.map(Platform::Portable).to_vec(),
        ["--for", architecture] => vec![Platform::portable(architecture)?],
        _ => return Err(ChoreError::Usage(format!("expected `--for ARCHITECTURE`, got `{}`", words.join(" ")))),
    };
    println!("{}", make(&platforms)?.display());
    Ok(true)
}

/// Makes all files for these platforms. Returns their folder.
pub(crate) fn make(platforms: &[Platform]) -> Result<PathBuf> {
    let files = target()?.join("dist-files");
    let _ = fs::remove_dir_all(&files);
    fs::create_dir_all(&files)?;
    for platform in platforms {
        tarball(*platform, &files)?;
        wheel::build(*platform, &PARTS, &files, &[])?;
    }
    wheel::sources(&files)?;
    sums(&files)?;
    Ok(files)
}

/// Packs what `cargo xtask install` lays out.
fn tarball(platform: Platform, files: &Path) -> Result<()> {
    let name = format!("foregather-{}-{}-linux", env!("CARGO_PKG_VERSION"), platform.architecture());
    let tree = files.join(&name);
    fs::rename(install::lay_out(platform)?, &tree)?;
    let mut tar = Command::new("tar");
    tar.current_dir(files).args(["--owner=0", "--group=0", "--numeric-owner", "--mode=u+w,go=rX", "--sort=name"]);
    if let Some(epoch) = epoch()? {
        tar.arg(format!("--mtime=@{epoch}"));
    }
    // gzip writes no time of its own for what it reads from a pipe.
    done(tar.args(["-I", "gzip -9n", "-cf", &format!("{name}.tar.gz"), &name])).context("tar packs the tree")?;
    Ok(fs::remove_dir_all(&tree)?)
}

/// Writes the checksums of all files there.
fn sums(files: &Path) -> Result<()> {
    let mut names: Vec<_> = fs::read_dir(files)?.map(|entry| Ok(entry?.file_name())).collect::<Result<_>>()?;
    names.sort();
    let sums = Command::new("sha256sum").current_dir(files).args(&names).output().context("sha256sum")?;
    ensure!(sums.status.success(), "sha256sum exited with {}", sums.status);
    fs::write(files.join("SHA256SUMS"), sums.stdout)?;
    Ok(())
}
