//! Whether a program ran on the library under test: what the loader says that it bound.
use anyhow::{Context, Result};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A drop-in runtime, and the names of OpenMP that it has.
#[derive(Debug)]
pub(super) struct DropIn {
    pub(super) library: PathBuf,
    pub(super) exported: HashSet<String>,
}

impl DropIn {
    pub(super) fn of(library: PathBuf) -> Result<Self> {
        let exported = names(&library, "--defined-only")?.into_iter().collect();
        Ok(Self { library, exported })
    }

    /// Lets a command run on the library. The loader writes what it binds to `bindings.PID`.
    pub(super) fn preload(&self, run: &mut Command, bindings: &Path) {
        // At once: some call nothing of it in the end.
        run.env("LD_BIND_NOW", "1").env("LD_PRELOAD", &self.library).env("LD_DEBUG", "bindings").env("LD_DEBUG_OUTPUT", bindings);
    }

    /// Whether the program imports something of the runtime, and nothing that the library lacks.
    pub(super) fn serves(&self, program: &Path) -> Result<bool> {
        let names = names(program, "--undefined-only")?;
        Ok(!names.is_empty() && names.iter().all(|name| self.exported.contains(name)))
    }

    /// Whether the loader bound a symbol of the program to the library, and each one that the library has.
    pub(super) fn is_bound(&self, said: &str, program: &Path) -> bool {
        let from = format!("binding file {} ", program.display());
        let to = format!(" to {} ", self.library.display());
        let name = |line: &str| line.split_once('`')?.1.split_once('\'').map(|(name, _)| name.to_owned());
        let of_ours = |line: &&str| line.contains(&from) && name(line).is_some_and(|name| self.exported.contains(&name));
        let mut bound = said.lines().filter(of_ours).peekable();
        bound.peek().is_some() && bound.all(|line| line.contains(&to))
    }
}

/// Names of the kind that the runtime has, as `nm` lists them.
pub(super) fn names(file: &Path, kind: &str) -> Result<Vec<String>> {
    let listed = Command::new("nm").args(["-D", kind]).arg(file).output().context("nm cannot be started")?;
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let names =
        listed.split_whitespace().filter(|name| ["GOMP_", "omp_", "GOACC_", "acc_"].iter().any(|start| name.starts_with(start)));
    Ok(names.map(|name| name.split_once('@').map_or(name, |(name, _)| name).to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_symbol_that_the_library_has_must_be_bound_to_it() {
        let (program, library) = (Path::new("/t/case"), PathBuf::from("/t/ours.so"));
        let exported = HashSet::from(["GOMP_parallel".to_owned()]);
        let drop_in = DropIn { library, exported };
        let line =
            |name: &str, to: &str| format!("  7:\tbinding file /t/case [0] to {to} [0]: normal symbol `{name}' [GOMP_4.0]\n");
        let (ours, theirs) = (line("GOMP_parallel", "/t/ours.so"), line("GOMP_parallel", "/lib/libgomp.so.1"));
        let lacking = line("omp_alloc", "/lib/libgomp.so.1");
        assert!(drop_in.is_bound(&ours, program) && drop_in.is_bound(&(ours.clone() + &lacking), program));
        assert!(!drop_in.is_bound(&theirs, program) && !drop_in.is_bound("", program) && !drop_in.is_bound(&lacking, program));
        assert!(!drop_in.is_bound(&(ours + &theirs), program));
    }
}
