//! `cargo xtask examples`: each program of `foregather/examples/` as a crate of its own, with exactly the
//! features that its first lines name.
//!
//! In the workspace all features of the library are on together, so a program that needs one more than it
//! says would not be noticed.
use crate::ChoreError;
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::Command;
use std::{env, fs};

pub(crate) const HELP: &str = "\
cargo xtask examples [NAME ...]

Builds and runs the programs of foregather/examples/, each as a crate outside of the workspace, by the `cargo add` line among its first lines.";

/// What `cargo add foregather` stands for in a manifest.
fn dependency(line: &str, library: &Path) -> Result<String> {
    let Some(arguments) = line.split('`').nth(1).and_then(|command| command.strip_prefix("cargo add foregather")) else {
        bail!("no `cargo add foregather ...` in `{line}`");
    };
    let (mut defaults, mut features) = (true, "");
    let mut words = arguments.split_whitespace();
    while let Some(word) = words.next() {
        match word {
            "--no-default-features" => defaults = false,
            "--features" => features = words.next().context("--features needs names")?,
            other => bail!("`{other}` is no option of these lines"),
        }
    }
    let features: Vec<&str> = features.split(',').filter(|name| !name.is_empty()).collect();
    Ok(format!("foregather = {{ path = {library:?}, default-features = {defaults}, features = {features:?} }}"))
}

pub(crate) fn run(names: &[&str]) -> Result<bool, ChoreError> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask stands in the workspace")?;
    let mut programs: Vec<_> =
        fs::read_dir(root.join("foregather/examples"))?.collect::<Result<Vec<_>, _>>()?.iter().map(fs::DirEntry::path).collect();
    programs.retain(|path| path.extension().is_some_and(|extension| extension == "rs"));
    programs.sort();
    for program in programs {
        let name = program.file_stem().and_then(|stem| stem.to_str()).context("a name in UTF-8")?;
        if names.is_empty() || names.contains(&name) {
            try_one(root, &program, name).with_context(|| format!("foregather/examples/{name}.rs"))?;
        }
    }
    Ok(true)
}

fn try_one(root: &Path, program: &Path, name: &str) -> Result<()> {
    let text = fs::read_to_string(program)?;
    let line = text.lines().find(|line| line.contains("cargo add")).context("it does not say how its dependency is added")?;
    let dependency = dependency(line, &root.join("foregather"))?;
    let place = root.join("target/examples").join(name);
    fs::create_dir_all(place.join("src"))?;
    let manifest = format!(
        "[package]\nname = {name:?}\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n{dependency}\n"
    );
    fs::write(place.join("Cargo.toml"), manifest)?;
    fs::write(place.join("src/main.rs"), text)?;
    // The versions that the workspace is tested with.
    fs::copy(root.join("Cargo.lock"), place.join("Cargo.lock"))?;
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    println!("{name}: {dependency}");
    let status = Command::new(cargo)
        .args(["run", "--quiet"])
        .current_dir(&place)
        .env("CARGO_TARGET_DIR", root.join("target/examples/target"))
        // No debugger steps through them.
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .status()?;
    if status.success() { Ok(()) } else { bail!("{status}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_dependency() {
        let of = |line| dependency(line, Path::new("/x"));
        assert_eq!(
            of("//! `cargo add foregather --no-default-features --features job,sim`").unwrap(),
            r#"foregather = { path = "/x", default-features = false, features = ["job", "sim"] }"#
        );
        assert_eq!(
            of("//! `cargo add foregather`").unwrap(),
            r#"foregather = { path = "/x", default-features = true, features = [] }"#
        );
        for bad in ["//! `cargo add rayon`", "//! `cargo add foregather --git x`", "//! `cargo add foregather --features`"] {
            assert!(of(bad).is_err(), "{bad}");
        }
    }
}
