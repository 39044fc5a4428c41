//! Those whose cells are compared: ours, in this program, and what the peers' program finds on this machine.
use crate::children::{CellCommand, myself, run_cell};
use crate::peers::{self, Listed};
use anyhow::{Result, bail};
use foregather_machine::Nanos;
use serde::de::DeserializeOwned;
use std::path::PathBuf;

/// Somebody who runs cells.
pub(super) struct Runner {
    /// Its name in results.
    pub(super) name: String,
    program: PathBuf,
    /// The hidden verb of that program.
    verb: &'static str,
    /// What the program's environment must have.
    env: Vec<(String, String)>,
}

/// Who there may be for one kind of cell.
pub(super) struct RunnerSet {
    /// Our own, and the verb that runs them.
    pub(super) own: (&'static [&'static str], &'static str),
    /// The verbs of the peers' program: the one that lists its own, and the one that runs them.
    pub(super) peers: [&'static str; 2],
    /// What there is nothing to compare with where that program was not built.
    pub(super) without: &'static str,
    /// What somebody unknown is.
    pub(super) unknown: &'static str,
}

impl RunnerSet {
    /// All that are here, or those of a list that is separated by commas; the notes say who is missing, and what to do about it.
    ///
    /// # Errors
    /// If one is unknown, which lists the others; or if the peers' program does not say which it has.
    pub(super) fn runners(&self, wanted: Option<&str>, notes: &mut Vec<String>) -> Result<Vec<Runner>> {
        let (own, verb) = self.own;
        let own = own.iter().map(|&name| Runner { name: name.to_owned(), program: myself(), verb, env: vec![] });
        let mut all: Vec<Runner> = own.collect();
        let [lists, runs] = self.peers;
        match peers::program() {
            Some(program) => {
                let Listed { found, missing } = peers::listed(&program, lists)?;
                all.extend(found.into_iter().map(|(name, env)| Runner { name, program: program.clone(), verb: runs, env }));
                notes.extend(missing.iter().map(ToString::to_string));
            }
            None => notes.push(format!("{}: build their program with `{}`", self.without, peers::BUILD)),
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

impl Runner {
    /// Runs one cell in a process of its own, whose environment has that besides. `None` if it was not done within `bound`.
    ///
    /// # Errors
    /// If the process cannot be started, or fails.
    pub(super) fn cell<R: DeserializeOwned>(&self, cell: String, env: &[(String, String)], bound: Nanos) -> Result<Option<R>> {
        let env = [&self.env, env].concat();
        let command = CellCommand { program: &self.program, args: vec![self.verb.to_owned(), cell], env: &env };
        run_cell(&command, None, bound)
    }
}
