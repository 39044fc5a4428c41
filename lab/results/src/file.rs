//! Results on disk: written in one piece or not at all, read with errors that say what to do.
use super::{Results, SCHEMA};
use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// What every version of the schema has.
#[derive(Deserialize)]
struct Header {
    schema: Option<String>,
}

impl Results {
    /// Writes the document so that a reader sees either the old file or the whole new one.
    pub fn write(&self, path: &Path) -> Result<()> {
        write(path, &self.to_json())
    }

    /// Reads a document that this version of the program can have written.
    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| format!("cannot read results from {}", path.display()))?;
        Self::parse(&text).with_context(|| format!("{} is not a results file", path.display()))
    }

    /// The document in this text.
    pub fn parse(text: &str) -> Result<Self> {
        let header: Header = serde_json::from_str(text).context("it is not a JSON object, or was cut short")?;
        match header.schema.as_deref() {
            Some(SCHEMA) => {}
            Some(other) => bail!("its schema is {other:?}, but this version reads {SCHEMA:?} only; measure again"),
            None => bail!("it has no \"schema\": results of this program say {SCHEMA:?} there"),
        }
        let results: Self = serde_json::from_str(text).with_context(|| format!("it does not follow the schema {SCHEMA}"))?;
        let mut seen = BTreeSet::new();
        for m in &results.measurements {
            ensure!(seen.insert(&m.id), "two of its measurements have the id {:?}", m.id);
        }
        Ok(results)
    }
}

/// Writes a text file in one piece. What is no ordinary file (a pipe, `/dev/stdout`) is written to, not replaced.
pub fn write(path: &Path, text: &str) -> Result<()> {
    // The file that a symbolic link names is replaced, not the link.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let special = fs::metadata(&target).is_ok_and(|m| !m.is_file() && !m.is_dir());
    let done = if special { fs::write(&target, text) } else { replace(&target, text) };
    done.with_context(|| format!("cannot write {}; choose another place", path.display()))
}

fn replace(target: &Path, text: &str) -> std::io::Result<()> {
    let beside = beside(target);
    let done = fs::write(&beside, text).and_then(|()| fs::rename(&beside, target));
    if done.is_err() {
        let _ = fs::remove_file(&beside);
    }
    done
}

/// A name in the same directory, so that renaming it is one step.
fn beside(target: &Path) -> PathBuf {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    target.with_file_name(format!(".{name}.{}.part", std::process::id()))
}
