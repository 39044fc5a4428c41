//! The points that were reached, and by which seeds: `conformance/reached.toml`, which `--write` writes and
//! `--sample` reads.
use crate::subjects::Subject;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// For each point, the subject and the seed that reached it first.
pub(crate) type Reached = BTreeMap<String, (Subject, u64)>;

/// The points that this thread has reached since it last asked.
#[cfg(feature = "probes")]
pub(crate) fn reached_here() -> Vec<&'static str> {
    foregather_machine::reached_here().into_keys().collect()
}

/// Nothing is counted without the feature `probes`.
#[cfg(not(feature = "probes"))]
pub(crate) fn reached_here() -> Vec<&'static str> {
    Vec::new()
}

/// The file that records them.
pub(crate) fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("reached.toml")
}

/// The file's text. A machine writes and reads it, so it needs no more than these lines.
pub(crate) fn written(reached: &Reached, commit: &str, seeds: u64) -> String {
    let mut text = String::from(
        "# Written by `cargo xtask swarm --seeds N --write`: for each point of a named race, a run that reaches it.\n",
    );
    let _ = writeln!(text, "commit = \"{commit}\"\nseeds = {seeds}");
    for (point, (subject, seed)) in reached {
        let _ = writeln!(text, "\n[[reached]]\npoint = \"{point}\"\nsubject = \"{}\"\nseed = {seed}", subject.name());
    }
    text
}

/// Reads the file's text.
///
/// # Errors
/// For a line that [`written`] does not write.
pub(crate) fn read(text: &str) -> Result<Reached, String> {
    let mut reached = Reached::new();
    let (mut point, mut subject) = (None, None);
    for line in text.lines().map(str::trim) {
        let Some((key, value)) = line.split_once(" = ") else { continue };
        let value = value.trim_matches('"');
        match key {
            "point" => point = Some(value.to_owned()),
            "subject" => subject = Subject::named(value),
            "seed" => {
                let seed = value.parse().map_err(|_| format!("a seed that is no number: {line}"))?;
                let of = point.take().zip(subject.take()).ok_or_else(|| format!("no point and subject before {line}"))?;
                reached.insert(of.0, (of.1, seed));
            }
            _ => {}
        }
    }
    Ok(reached)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let reached = Reached::from([("link:1".into(), (Subject::Memory, 7)), ("barrier:T4".into(), (Subject::Barrier, 0))]);
        let text = written(&reached, "abc", 10);
        assert!(text.contains("commit = \"abc\"\nseeds = 10\n") && text.find("barrier:T4") < text.find("link:1"), "{text}");
        assert_eq!(read(&text), Ok(reached));
        assert!(read("seed = 3").is_err() && read("seed = x").is_err());
    }
}
