//! The chores of this repository. `cargo xtask tidy` checks its style, and `cargo xtask claims` that each
//! claim of a paper has an experiment; the others run programs, and `HELP` has a line about each.
//!
//! The first two are functions from a [`Tree`](tree::Tree) of files to [`Violation`](violation::Violation)s,
//! so every rule is tested on a few lines in memory; only this file chooses the exit code.
#![forbid(unsafe_code)]

mod build;
mod ci;
mod claims;
mod dist;
mod drop_in;
mod elf;
mod examples;
mod install;
mod kill;
mod mutants;
mod notices;
mod regret;
mod rehearsal;
mod semver;
mod source;
mod tidy;
mod tree;
mod violation;
mod wheel;

use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitCode};

const HELP: &str = "\
The chores of this repository.

  cargo xtask tidy        style of the house: lengths, arrows, unsafe, names of types, races; of some folders if they are named
  cargo xtask ci          the steps of CI, for `.ci/run`
  cargo xtask claims      papers/*.toml are well formed and every claim has an experiment; prints the coverage
  cargo xtask peers       other people's work beside ours, in the same run; `cargo xtask peers help` says how
  cargo xtask examples    the programs of foregather/examples/, each with exactly the features that it names
  cargo xtask drop-in     a library that is loaded before others: libgomp, pthread, blas, watch, mpi; or all
  cargo xtask dist        what a release consists of: a tarball, the wheel, its sources, checksums; for other machines, too
  cargo xtask wheel       the wheel for Python, with the command and the libraries in it
  cargo xtask install     libraries, headers, the command, its manual and completions below a prefix
  cargo xtask release-rehearsal  a release published to folders, installed from there, and README's lines run
  cargo xtask regret      a run of the barrier matrix against a stored one; `cargo xtask regret help` says how
  cargo xtask semver      the library's public items against those of a revision
  cargo xtask mutants     do the verdicts notice a changed constant? `cargo xtask mutants help` says how
  cargo xtask kill        ranks and launchers killed and stopped at random moments; `cargo xtask kill help` says how
  cargo xtask swarm       seeds of all protocols in virtual time, planted faults among them; `cargo xtask swarm help` says how
  cargo xtask help        this text

Exit codes: 0 all is well, 1 there are violations (one a line on stdout) or worse rows, 2 wrong usage or unreadable files,
3 (peers) something is not installed.";

/// Why a chore was not done.
#[derive(Debug)]
enum ChoreError {
    /// Its arguments mean nothing to it.
    Usage(String),
    /// It could not be finished.
    Failed(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for ChoreError {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// Does a chore with these arguments. Returns whether all is well.
type Chore = fn(&[&str]) -> Result<bool, ChoreError>;

/// All chores: name, help, and the function that does it. A chore without help here is a program of its own.
const CHORES: [(&str, &str, Chore); 15] = [
    ("tidy", HELP, |rooms| report(tidy::run, rooms)),
    ("ci", ci::HELP, ci::run),
    ("claims", HELP, |_| report(claims::run, &[])),
    // Beside the command, because its dependencies are compiled for that already.
    ("peers", "", |rest| run_apart("foregather-contests", &["-p", "foregather-peers", "-p", "foregather-lab"], rest)),
    ("examples", examples::HELP, examples::run),
    ("drop-in", drop_in::HELP, drop_in::run),
    ("dist", dist::HELP, dist::run),
    ("wheel", wheel::HELP, wheel::run),
    ("install", install::HELP, install::run),
    ("release-rehearsal", rehearsal::HELP, rehearsal::run),
    ("regret", regret::HELP, regret::run),
    ("semver", semver::HELP, semver::run),
    ("mutants", mutants::HELP, mutants::run),
    ("kill", kill::HELP, kill::run),
    ("swarm", "", |rest| run_apart("foregather-swarm", &["-p", "foregather-swarm", "--features", "probes"], rest)),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let is_help = |word: &str| ["help", "--help", "-h"].contains(&word);
    let (name, rest) = words.split_first().map_or(("", &[][..]), |(name, rest)| (*name, rest));
    let chore = CHORES.iter().find(|(known, ..)| *known == name);
    let (help, end) = match (chore, rest) {
        (None, _) if is_help(name) => (HELP, Err(None)),
        (None, _) => (HELP, Err(Some(ChoreError::Usage(format!("expected one chore, got `{}`", words.join(" ")))))),
        // A chore that is a program of its own prints its help itself.
        (Some((_, help, _)), [word]) if !help.is_empty() && is_help(word) => (*help, Err(None)),
        (Some((_, help, run)), rest) => (*help, run(rest).map_err(Some)),
    };
    let (words, code) = match end {
        Ok(true) => return ExitCode::SUCCESS,
        Ok(false) => return ExitCode::FAILURE,
        Err(None) => {
            println!("{help}");
            return ExitCode::SUCCESS;
        }
        Err(Some(ChoreError::Usage(what))) => (format!("{what}\n\n{help}"), 2),
        Err(Some(ChoreError::Failed(error))) => (format!("{error:#}"), 2),
    };
    eprintln!("xtask {name}: {words}");
    ExitCode::from(code)
}

/// Prints the violations of the whole tree, or of those folders, and a line about the whole.
fn report(check: fn(&tree::Tree) -> (Vec<violation::Violation>, String), folders: &[&str]) -> Result<bool, ChoreError> {
    let (mut violations, mut summary) = check(&tree::Tree::of_workspace()?);
    if !folders.is_empty() {
        violations.retain(|violation| folders.iter().any(|folder| Path::new(&violation.path).starts_with(folder)));
        summary = format!("{}: {} violations", folders.join(", "), violations.len());
    }
    let lines: String = violations.iter().map(|violation| format!("{violation}\n")).collect();
    // A reader that has seen enough, like `head`, closes the pipe: that is no error of ours.
    std::io::stdout().write_all(format!("{lines}{summary}\n").as_bytes()).ok();
    Ok(violations.is_empty())
}

/// Runs a program of this workspace, built with optimisation. It explains its arguments itself, and an exit
/// code of 2 or more becomes ours.
fn run_apart(program: &str, packages: &[&str], arguments: &[&str]) -> Result<bool, ChoreError> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    build::done(cargo.args(["build", "--release", "--quiet", "--bin", program]).args(packages))?;
    let mut program = Command::new(build::target()?.join("release").join(program));
    match program.args(arguments).status()?.code() {
        Some(code @ 2..) => std::process::exit(code),
        code => Ok(code == Some(0)),
    }
}
