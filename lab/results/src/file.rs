//! Results on disk: written in one piece or not at all, read with errors that say what to do.
use super::output::{self, NotWritten};
use super::{Results, SCHEMA};
use anyhow::{Context, Result, anyhow, bail, ensure};
use foregather_host::regular;
use foregather_machine::shown;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;
use std::path::Path;

/// Of a document; the largest runs come to some megabytes.
const BYTES_MAX: u64 = 256 << 20;

/// What every version of the schema has.
#[derive(Deserialize)]
struct Header {
    schema: Option<String>,
}

impl Results {
    /// Writes the document so that a reader sees either the old file or the whole new one.
    ///
    /// # Errors
    /// Why it is not there, and where it is instead.
    pub fn write(&self, path: &Path) -> Result<(), NotWritten> {
        output::write(path, &self.to_json())
    }

    /// Reads a document that this version of the program can have written.
    pub fn read(path: &Path) -> Result<Self> {
        let text = regular::read_text(path, BYTES_MAX).with_context(|| format!("cannot read results from {}", path.display()))?;
        Self::parse(&text).with_context(|| format!("{} is not a results file", path.display()))
    }

    /// The document in this text.
    pub fn parse(text: &str) -> Result<Self> {
        let header: Header = parsed(text).context("it is not a JSON object, or was cut short")?;
        match header.schema.as_deref() {
            Some(SCHEMA) => {}
            Some(other) => bail!("its schema is {other:?}, but this version reads {SCHEMA:?} only; measure again"),
            None => bail!("it has no \"schema\": results of this program say {SCHEMA:?} there"),
        }
        let results: Self = parsed(text).with_context(|| format!("it does not follow the schema {SCHEMA}"))?;
        let mut seen = BTreeSet::new();
        for m in &results.measurements {
            ensure!(seen.insert(&m.id), "two of its measurements have the id {:?}", m.id);
        }
        Ok(results)
    }
}

/// What the parser complains of may quote the file.
fn parsed<T: DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| anyhow!("{}", shown(&error.to_string())))
}
