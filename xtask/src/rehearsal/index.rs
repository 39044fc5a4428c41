//! Fills a local index of wheels and a local registry of crates.
use crate::build::{done, root, target};
use anyhow::{Context, Result, ensure};
use serde_json::json;
use std::env::consts::ARCH;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Puts the wheel and the sources into a folder that pip reads as the page of a package (PEP 503).
pub(super) fn fill_wheels(files: &Path, page: &Path) -> Result<()> {
    fs::create_dir_all(page)?;
    let wheel = of_this_machine(files, ".whl")?;
    let name = wheel.file_name().context("a file has a name")?;
    fs::copy(&wheel, page.join(name))?;
    let name = name.to_string_lossy();
    let mut html = String::from("<!DOCTYPE html>\n");
    writeln!(html, "<a href=\"{name}#sha256={}\">{name}</a>", sha256(&wheel)?)?;
    Ok(fs::write(page.join("index.html"), html)?)
}

/// Finds the file of a release that is for this architecture.
pub(super) fn of_this_machine(files: &Path, end: &str) -> Result<PathBuf> {
    let names = fs::read_dir(files).with_context(|| format!("{} is missing; run `cargo xtask dist`", files.display()))?;
    for entry in names {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.ends_with(end) && name.contains(ARCH) {
            return Ok(entry.path());
        }
    }
    anyhow::bail!("{} has no *{ARCH}*{end}; run `cargo xtask dist`", files.display())
}

/// Puts the crates that would be published, and those of others, into a directory source of cargo.
pub(super) fn fill_crates(source: &Path) -> Result<()> {
    let cargo = || {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.current_dir(root().unwrap_or(Path::new(".")));
        cargo
    };
    done(cargo().args(["vendor", "--quiet", "--locked", "--versioned-dirs"]).arg(source).stdout(std::process::Stdio::null()))?;
    let package = ["publish", "--workspace", "--dry-run", "--no-verify", "--allow-dirty", "--locked", "--quiet"];
    // Where a dry run leaves what it would upload.
    let packages = target()?.join("package/tmp-registry");
    let _ = fs::remove_dir_all(&packages);
    done(cargo().args(package)).context("cargo packs the crates")?;
    let mut packed = 0;
    for entry in fs::read_dir(packages)? {
        let file = entry?.path();
        if file.extension().is_some_and(|extension| extension == "crate") {
            done(Command::new("tar").arg("-xzf").arg(&file).arg("-C").arg(source))?;
            let folder = source.join(file.file_stem().context("a file has a name")?);
            let checksum = json!({ "files": {}, "package": sha256(&file)? });
            fs::write(folder.join(".cargo-checksum.json"), checksum.to_string())?;
            ensure!(folder.join("LICENSE-MIT").exists(), "{} has no licence", file.display());
            packed += 1;
        }
    }
    ensure!(packed > 0, "no crate was packed");
    println!("{packed} crates packed");
    Ok(())
}

fn sha256(file: &Path) -> Result<String> {
    let printed = Command::new("sha256sum").arg(file).output().context("sha256sum")?;
    let words = String::from_utf8(printed.stdout)?;
    Ok(words.split_whitespace().next().with_context(|| format!("{} cannot be read", file.display()))?.to_owned())
}
