//! The workspace once more, under the target directory, so that the tree itself is not changed;
//! or that tree, for machines that throw it away.
use crate::claims::mutants::Mutant;
use crate::tree::Tree;
use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(super) struct TreeCopy<'a> {
    tree: &'a Tree,
    at: PathBuf,
    target: PathBuf,
}

/// What an experiment said of its claims, by their names: `holds`, `differs`, ...
pub(super) type Verdicts = BTreeMap<String, String>;

/// Of a verdict, what is needed here.
#[derive(Deserialize)]
struct Verdict {
    id: String,
    verdict: String,
}

impl<'a> TreeCopy<'a> {
    pub(super) fn of(tree: &'a Tree, in_place: bool) -> Result<Self> {
        let root = root()?;
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |place| root.join(place));
        if in_place {
            return Ok(Self { tree, at: root, target });
        }
        let copy = Self { tree, at: target.join("mutants/tree"), target: target.join("mutants/target") };
        fs::create_dir_all(&copy.at)?;
        copy.forget(&copy.at)?;
        for path in tree.binaries() {
            let place = copy.at.join(path);
            fs::create_dir_all(place.parent().context("a file has a folder")?)?;
            fs::copy(root.join(path), &place).with_context(|| format!("cannot copy {path}"))?;
        }
        Ok(copy)
    }

    /// Takes away what the tree does not have any more.
    fn forget(&self, folder: &Path) -> Result<()> {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let name = path.strip_prefix(&self.at)?.to_str().context("a name in UTF-8")?.to_owned();
            match (self.tree.holds(&name), path.is_dir()) {
                (true, true) => self.forget(&path)?,
                (true, false) => {}
                (false, true) => fs::remove_dir_all(&path)?,
                (false, false) => fs::remove_file(&path)?,
            }
        }
        Ok(())
    }

    /// Writes the tree with this change. Files that are as they were stay untouched, so little is rebuilt.
    fn write(&self, mutant: Option<&Mutant>) -> Result<()> {
        for (path, text) in self.tree.texts() {
            let wanted = match mutant.filter(|mutant| mutant.file == path) {
                Some(mutant) => applied(mutant, text).with_context(|| format!("the mutant `{}`", mutant.name))?,
                None => text.to_owned(),
            };
            let place = self.at.join(path);
            if fs::read_to_string(&place).ok().as_deref() != Some(&wanted) {
                fs::create_dir_all(place.parent().context("a file has a folder")?)?;
                fs::write(&place, wanted)?;
            }
        }
        Ok(())
    }

    /// Builds the command with this change, or as it is.
    pub(super) fn build(&self, mutant: Option<&Mutant>) -> Result<()> {
        self.write(mutant)?;
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut build = Command::new(cargo);
        build.args(["build", "--release", "--locked", "--quiet", "--package", "foregather-lab"]).current_dir(&self.at);
        build.env("CARGO_TARGET_DIR", &self.target).env_remove("CARGO_MANIFEST_DIR");
        let status = build.status().context("cannot run cargo")?;
        if !status.success() {
            bail!("it cannot be built with {}: {status}", mutant.map_or("no change", |mutant| &mutant.name));
        }
        Ok(())
    }

    /// What the command that was built last says of the claims of one experiment.
    pub(super) fn verdicts(&self, paper: &str, experiment: &str) -> Result<Verdicts> {
        let mut command = Command::new(self.target.join("release/foregather"));
        command.args(["--quiet", "reproduce", paper, experiment, "--format", "json"]).current_dir(&self.at);
        let output = command.output().context("cannot run foregather")?;
        let said = String::from_utf8_lossy(&output.stderr);
        // 1: a claim that is expected to differ holds now. That is a reaction.
        ensure!(
            matches!(output.status.code(), Some(0 | 1)),
            "`foregather reproduce {paper} {experiment}`: {}; {said}",
            output.status
        );
        let verdicts: Vec<Verdict> = serde_json::from_slice(&output.stdout).context("verdicts of `foregather reproduce`")?;
        Ok(verdicts.into_iter().map(|verdict| (verdict.id, verdict.verdict)).collect())
    }
}

impl Drop for TreeCopy<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.write(None) {
            eprintln!("xtask mutants: a change stays in {}: {error:#}", self.at.display());
        }
    }
}

/// The text of its file with the change.
fn applied(mutant: &Mutant, text: &str) -> Result<String> {
    let found = text.matches(&mutant.from).count();
    ensure!(found == 1, "what it replaces stands {found} times in {}, not once", mutant.file);
    Ok(text.replacen(&mutant.from, &mutant.to, 1))
}

pub(super) fn root() -> Result<PathBuf> {
    Ok(Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask must lie in a workspace")?.to_owned())
}

/// The commit that is checked out.
pub(super) fn commit() -> Result<String> {
    let output = Command::new("git").args(["rev-parse", "HEAD"]).current_dir(root()?).output().context("cannot run git")?;
    ensure!(output.status.success(), "git knows no commit here");
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}
