//! The peers' program: where it is, and what it finds on this machine.
use crate::children::myself;
use anyhow::{Context, Result, bail};
use foregather_host::child::Child;
use foregather_machine::Nanos;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// How it is made.
pub const BUILD: &str = "cargo build --release --locked -p foregather-peers";

/// Where it is, if it was built: beside this one, or where `FOREGATHER_PEERS` says.
pub fn program() -> Option<PathBuf> {
    let beside = myself().with_file_name("foregather-peers");
    let named = std::env::var_os("FOREGATHER_PEERS").map(PathBuf::from);
    named.or(Some(beside)).filter(|path| path.is_file())
}

/// One entry of what it lists.
#[derive(Deserialize)]
struct Peer {
    name: String,
    available: bool,
    remedy: Option<String>,
    env: BTreeMap<String, String>,
}

/// What it lists.
pub struct Listed {
    /// Names, and what their environments must have.
    pub found: Vec<(String, Vec<(String, String)>)>,
    /// Those that are not here, by what to do about it.
    pub missing: Vec<Missing>,
}

/// Peers that lack the same.
#[derive(Debug, PartialEq, Eq)]
pub struct Missing {
    /// Their names, separated by commas.
    pub names: String,
    /// What to do about it.
    pub remedy: String,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no {}: {}", self.names, self.remedy)
    }
}

/// Asks it by one of its verbs.
///
/// # Errors
/// If it does not answer with a list: which program that was, what it did instead, and how to get one that answers.
pub fn listed(program: &Path, verb: &str) -> Result<Listed> {
    let mut command = Command::new(program);
    command.arg(verb).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let asked = format!("`{} {verb}`", program.display());
    let output = Child::spawn(command, &[]).and_then(|child| child.output_within(Nanos::from_ms(10_000)));
    let output = output.with_context(|| format!("{asked} gives no list"))?;
    let Some(peers) = list(&output) else {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("no complaint");
        bail!("{asked} gives no list ({}; {said}); it may be out of date: build it again by `{BUILD}`", output.status);
    };
    let (found, missing): (Vec<_>, Vec<_>) = peers.into_iter().partition(|peer| peer.available);
    let mut by_remedy = BTreeMap::<String, Vec<String>>::new();
    for peer in missing {
        by_remedy.entry(peer.remedy.unwrap_or_default()).or_default().push(peer.name);
    }
    let missing = by_remedy.into_iter().map(|(remedy, names)| Missing { names: names.join(", "), remedy }).collect();
    let found = found.into_iter().map(|peer| (peer.name, peer.env.into_iter().collect())).collect();
    Ok(Listed { found, missing })
}

fn list(output: &Output) -> Option<Vec<Peer>> {
    if output.status.success() { serde_json::from_slice(&output.stdout).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of a program that answers like that to any verb.
    fn complaint(program: &str) -> String {
        listed(Path::new(program), "list-teams").err().unwrap().to_string()
    }

    #[test]
    fn a_program_that_gives_no_list_is_named_with_what_it_did_and_the_remedy() {
        for (program, did) in [("true", "exit status: 0; no complaint"), ("sh", "list-teams: "), ("echo", "exit status: 0")] {
            let error = complaint(program);
            assert!(error.starts_with(&format!("`{program} list-teams`")), "{error}");
            assert!(error.contains(did) && error.contains(BUILD), "{error}");
        }
        assert!(complaint("/no/such/program").contains("/no/such/program list-teams"));
    }

    #[test]
    fn a_list_of_a_program_that_failed_is_none() {
        let output = |script: &str| Command::new("sh").args(["-c", script]).output().unwrap();
        assert!(list(&output("echo '[]'")).is_some_and(|peers| peers.is_empty()));
        assert!(list(&output("echo '[]'; exit 1")).is_none());
    }
}
