//! The peers' program: where it is, what it finds on this machine, and the runners that are compared by it.
use crate::cells::{CellProgram, Within, myself};
use anyhow::{Context, Result, bail};
use foregather_bench::Cell;
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

/// Where our OpenMP runtime is, as that program finds it.
pub(super) fn own_runtime() -> Option<PathBuf> {
    let program = || program().unwrap_or_else(myself);
    let beside = || Some(program().parent()?.join("../drop-in/libforegather_gomp.so"));
    std::env::var_os("FOREGATHER_GOMP").map(PathBuf::from).or_else(beside)
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
    pub missing: Vec<MissingPeers>,
}

/// Peers that lack the same.
#[derive(Debug, PartialEq, Eq)]
pub struct MissingPeers {
    /// Their names, separated by commas.
    pub names: String,
    /// What to do about it.
    pub remedy: String,
}

impl fmt::Display for MissingPeers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no {}: {}", self.names, self.remedy)
    }
}

/// Asks it by one of its verbs.
///
/// # Errors
/// If it does not answer with a list: which program that was, what it did instead, and how to get one that
/// answers.
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
    let missing = by_remedy.into_iter().map(|(remedy, names)| MissingPeers { names: names.join(", "), remedy }).collect();
    let found = found.into_iter().map(|peer| (peer.name, peer.env.into_iter().collect())).collect();
    Ok(Listed { found, missing })
}

fn list(output: &Output) -> Option<Vec<Peer>> {
    if output.status.success() { serde_json::from_slice(&output.stdout).ok() } else { None }
}

/// What runs cells of one kind.
pub(super) struct CellRunner {
    /// Its name in results.
    pub(super) name: String,
    pub(super) program: CellProgram,
}

/// All that may run cells of one kind.
pub(super) struct RunnerSet {
    /// Our own.
    pub(super) own: &'static [&'static str],
    /// The verb by which the peers' program lists its own.
    pub(super) list: &'static str,
    /// What there is nothing to compare with where that program was not built.
    pub(super) without: &'static str,
    /// What an unknown name is.
    pub(super) unknown: &'static str,
}

impl RunnerSet {
    /// All that are here, or those of a list that is separated by commas; the notes say which are missing,
    /// and what to do about it.
    ///
    /// # Errors
    /// If one is unknown, which lists the others; or if the peers' program does not say which it has.
    pub(super) fn runners(&self, wanted: Option<&str>, notes: &mut Vec<String>) -> Result<Vec<CellRunner>> {
        let own = self.own.iter().map(|&name| CellRunner { name: name.to_owned(), program: CellProgram::default() });
        let mut all: Vec<CellRunner> = own.collect();
        match program() {
            Some(program) => {
                let Listed { found, missing } = listed(&program, self.list)?;
                let peer = |(name, env)| CellRunner { name, program: CellProgram::of_peers(program.clone(), env) };
                all.extend(found.into_iter().map(peer));
                notes.extend(missing.iter().map(ToString::to_string));
            }
            None => notes.push(format!("{}: build their program with `{BUILD}`", self.without)),
        }
        let Some(wanted) = wanted else { return Ok(all) };
        let wanted: Vec<&str> = wanted.split(',').map(str::trim).collect();
        if let Some(name) = wanted.iter().find(|name| all.iter().all(|runner| runner.name != **name)) {
            let names: Vec<&str> = all.iter().map(|runner| runner.name.as_str()).collect();
            bail!("--runners: `{name}` {}; there are {}", self.unknown, names.join(", "));
        }
        all.retain(|runner| wanted.contains(&runner.name.as_str()));
        Ok(all)
    }
}

impl CellRunner {
    /// Runs one cell in a process of its own. `None` if it was not done in its time.
    ///
    /// # Errors
    /// If the process cannot be started, or fails.
    pub(super) fn run<C: Cell>(&self, cell: &C) -> Result<Option<C::Answer>> {
        self.program.run(cell, Within::default())
    }

    /// The same of a cell that has to end.
    ///
    /// # Errors
    /// As [`CellRunner::run`], and if it was not done in its time.
    pub(super) fn run_to_end<C: Cell>(&self, cell: &C) -> Result<Option<C::Answer>> {
        self.program.run_to_end(cell, Within::default())
    }
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
