//! `cargo xtask semver REVISION`: checks that the library's interface is compatible with a revision's.
use crate::ChoreError;
use anyhow::Context;
use std::process::{Command, Stdio};

pub(crate) const HELP: &str = "\
cargo xtask semver REVISION

Compares the public items of `foregather`, with all features, with those of a revision of this repository, such as a tag, and says
which version number the differences ask for. Needs cargo-semver-checks: `cargo install --locked cargo-semver-checks`.";

pub(crate) fn run(words: &[&str]) -> Result<bool, ChoreError> {
    let [revision] = words else {
        return Err(ChoreError::Usage(format!("expected a revision, got `{}`", words.join(" "))));
    };
    let cargo = || Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let there = cargo().args(["semver-checks", "--version"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !there.context("cargo cannot be started")?.success() {
        return Err(ChoreError::Usage("cargo-semver-checks is not installed".to_owned()));
    }
    let mut check = cargo();
    check.args(["semver-checks", "--package", "foregather", "--all-features", "--baseline-rev", revision]);
    Ok(check.status().context("cargo cannot be started")?.success())
}
