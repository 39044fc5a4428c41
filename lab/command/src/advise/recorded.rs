//! `advise --save` and `--from`: what was seen, in a file, to be judged elsewhere.
use super::JudgedObservation;
use super::document::RuntimeAccount;
use super::predicted::SeenMachine;
use crate::cli::Advise;
use anyhow::{Context, Result, bail, ensure};
use foregather_host::regular;
use foregather_machine::shown;
use foregather_results::output;
use foregather_watch::Observation;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;

const SCHEMA: &str = "foregather.recording/1";
/// A thread takes about two kilobytes.
const MOST_BYTES: u64 = 64 << 20;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Recording {
    schema: String,
    /// The version of the command that wrote it.
    version: String,
    not_seen: Vec<String>,
    runtime: Vec<RuntimeAccount>,
    machine: Option<SeenMachine>,
    seen: Value,
}

/// Writes what was seen. The command's arguments may be anything, so they are left out unless they are
/// wanted.
///
/// # Errors
/// If the file cannot be written.
pub(super) fn save(path: &Path, advice: &JudgedObservation, with_arguments: bool) -> Result<()> {
    let mut seen = advice.seen.clone();
    if !with_arguments {
        seen.command = seen.command.as_deref().map(without_arguments);
    }
    let recording = Recording {
        schema: SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        not_seen: advice.not_seen.clone(),
        runtime: advice.runtime.clone(),
        machine: advice.machine,
        seen: seen.to_json(),
    };
    output::write(path, &(serde_json::to_string(&recording)? + "\n"))?;
    Ok(())
}

/// Its first word.
fn without_arguments(command: &str) -> String {
    match super::paste::words(command).collect::<Vec<_>>()[..] {
        [program, _, ..] => format!("{program} ..."),
        _ => command.to_owned(),
    }
}

/// The advice about what a file recorded.
///
/// # Errors
/// If it is no recording of this version, or a damaged one: what is wrong, and where.
pub(super) fn load(path: &Path, options: &Advise) -> Result<JudgedObservation> {
    let place = path.to_string_lossy();
    let place = shown(&place);
    let text = regular::read_text(path, MOST_BYTES).with_context(|| format!("cannot read {place}"))?;
    let value: Value = serde_json::from_str(&text).with_context(|| format!("{place} is cut off or no recording"))?;
    match value["schema"].as_str() {
        Some(SCHEMA) => {}
        Some(other) => {
            bail!("{place} has the schema {}, and this version reads {SCHEMA}: record the program again", shown(other))
        }
        None => bail!("{place} is no recording: name a file that `foregather advise --save` wrote"),
    }
    let Recording { not_seen, runtime, machine, seen, .. } =
        serde_json::from_value(value).with_context(|| format!("{place} is damaged: record the program again"))?;
    let seen = Observation::from_json(&seen).map_err(|why| anyhow::anyhow!("{place} is damaged: {why}"))?;
    ensure!(not_seen.len() <= 100, "{place} is damaged: it has too many notes");
    ensure!(machine.is_none_or(|machine| machine.is_possible()), "{place} is damaged: there is no such machine");
    Ok(JudgedObservation::new(options, seen, runtime, not_seen, machine))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_left_out_unless_they_are_wanted() {
        let short = ["./sum", "./sum --key secret", "'/a b/sum' 'x y'"].map(without_arguments);
        assert_eq!(short, ["./sum", "./sum ...", "'/a b/sum' ..."]);
    }

    #[test]
    fn what_is_no_recording_is_an_error_that_says_so() {
        let path = std::env::temp_dir().join(format!("foregather-recording-{}", std::process::id()));
        let why = |text: &str| {
            std::fs::write(&path, text).unwrap();
            format!("{:#}", load(&path, &Advise::default()).err().unwrap())
        };
        assert!(why("{\"schema\": \"foregather.rec").contains("is cut off or no recording"));
        assert!(why("{}").contains("name a file that `foregather advise --save` wrote"));
        assert!(why("{\"schema\": \"foregather.recording/9\"}").contains("has the schema foregather.recording/9"));
        assert!(why("{\"schema\": \"foregather.recording/1\"}").contains("is damaged: record the program again"));
        let empty = "{\"schema\": \"foregather.recording/1\", \"version\": \"1\", \"not_seen\": [], \"runtime\": [], \"machine\": null, \"seen\": {}}";
        assert!(why(empty).contains("is damaged: ledger: expected a Ledger"), "{}", why(empty));
        std::fs::remove_file(&path).unwrap();
        assert!(format!("{:#}", load(&path, &Advise::default()).err().unwrap()).starts_with("cannot read "));
    }
}
