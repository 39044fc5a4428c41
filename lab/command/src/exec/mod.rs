//! `exec`: a program as it is, on this project's runtimes.
//!
//! The loader puts the libraries before the program's own (`LD_PRELOAD`). Then this process becomes the
//! program, so that signals, exit code and terminal are its own. [`auto`] runs it as it is, or with the cure
//! that [`kept_cure`] keeps for it.
mod auto;
mod compare;
mod kept_cure;
pub(crate) mod places;
pub(crate) mod program;

use crate::advise;
use crate::cli::{Cli, Exec};
use crate::finish::finish;
use anyhow::{Context, Result, ensure};
use foregather_host::interrupt;
use foregather_machine::{Nanos, shown};
use foregather_results::Run;
use foregather_results::failure::Failure;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

/// The OpenMP runtime, the barriers of POSIX threads, and the BLAS.
pub(crate) const OPENMP: &str = "libforegather_gomp.so";
const BARRIERS: &str = "libforegather_pthread.so";
const BLAS: &str = "libforegather_blas.so";
/// The variable that names libraries to load first.
const PRELOAD: &str = "LD_PRELOAD";
/// Settings of AddressSanitizer, whose runtime refuses to start if a preloaded library comes before it. That
/// holds for libraries that replace the allocator, which these do not.
const SANITIZER: (&str, &str) = ("ASAN_OPTIONS", "verify_asan_link_order=0");

/// Becomes the program, watches it, or compares it with itself.
///
/// # Errors
/// Without the libraries, or if there is no such program.
pub(crate) fn run(cli: &Cli, options: &Exec) -> Result<()> {
    if options.auto || options.forget {
        return auto::run(cli, options);
    }
    let (program, _) = command_of(&options.program)?;
    let is_off = std::env::var_os("FOREGATHER").is_some_and(|value| value == "off");
    let libraries = if is_off { Vec::new() } else { libraries_for(&program, options, cli.quiet)? };
    let command = |libraries: &[PathBuf]| {
        let mut command = command(&program, &options.program);
        preload(&mut command, libraries);
        command
    };
    if let Some(pairs) = options.compare {
        ensure!(!libraries.is_empty(), "there is nothing to compare: no library is put before those of the program");
        return compare(cli, options, pairs, &|with| command(if with { &libraries } else { &[] }));
    }
    if options.stats {
        return advise::run_with(cli, &libraries, options);
    }
    become_it(command(&libraries))
}

/// The file of the program that a user names, and the command that starts it with its arguments.
///
/// # Errors
/// The exit code of shells if there is none, after a line that says so.
pub(crate) fn command_of(words: &[OsString]) -> Result<(PathBuf, Command)> {
    let name = words.first().context("a program")?;
    let program = program::find(name).ok_or_else(|| {
        let (name, is_path) = (name.to_string_lossy(), name.as_bytes().contains(&b'/'));
        eprintln!("foregather: {}: no such {}", shown(&name), if is_path { "file" } else { "program in PATH" });
        Failure::Job(NOT_FOUND)
    })?;
    let command = command(&program, words);
    Ok((program, command))
}

fn command(program: &Path, words: &[OsString]) -> Command {
    let mut command = Command::new(program);
    command.arg0(&words[0]).args(&words[1..]);
    command
}

/// Becomes the program; comes back only if it cannot be started.
fn become_it(mut command: Command) -> Result<()> {
    let error = command.exec();
    eprintln!("foregather: {}: {error}", shown(&command.get_program().to_string_lossy()));
    Err(Failure::Job(NOT_STARTED).into())
}

/// The exit code that a shell gives a program which ended so.
pub(crate) fn exit_code(status: ExitStatus) -> u8 {
    status.code().map_or_else(|| 128 + status.signal().unwrap_or(0) as u8, |code| code as u8)
}

/// Ends this command as the program has ended.
///
/// # Errors
/// The exit code, if it is not 0.
pub(crate) fn ended(exit_code: u8) -> Result<()> {
    if exit_code == 0 { Ok(()) } else { Err(Failure::Program(exit_code).into()) }
}

fn compare(cli: &Cli, options: &Exec, pairs: u32, command: &dyn Fn(bool) -> Command) -> Result<()> {
    interrupt::install()?;
    let line = || options.program.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
    let asked = compare::ProgramPair {
        name: options.name.clone().unwrap_or_else(line),
        pairs,
        same_output: options.same_output,
        limit: Nanos::from_ms(u64::from(options.limit) * 1_000),
        quiet: cli.quiet,
    };
    let run = Run::begin("exec", None);
    let found = compare::run(&asked, command)?;
    let results = run.end(interrupt::requested(), found.measurements, vec![], vec![found.verdict]);
    finish(cli, &results, options.output.as_deref(), || compare::text(&results))?;
    found.failure.map_or(Ok(()), |failure| Err(failure.into()))
}

/// Exit codes of shells for a program that there is not, and for one that cannot be started.
const NOT_FOUND: u8 = 127;
const NOT_STARTED: u8 = 126;

/// A variable's list with entries before those that the user has named.
fn first<P: AsRef<OsStr>>(entries: &[P], named: Option<OsString>) -> OsString {
    let named = named.filter(|named| !named.is_empty());
    let all: Vec<&OsStr> = entries.iter().map(AsRef::as_ref).chain(named.as_deref()).collect();
    all.join(OsStr::new(":"))
}

/// Lets a command load libraries before its own.
pub(crate) fn preload(command: &mut Command, libraries: &[PathBuf]) {
    if !libraries.is_empty() {
        command.env(PRELOAD, first(libraries, std::env::var_os(PRELOAD)));
        command.env(SANITIZER.0, first(&[SANITIZER.1], std::env::var_os(SANITIZER.0)));
    }
}

/// A library of this project that a program can load before its own, which the chore `chore` builds; the one
/// that is named, else the one that is installed with this command.
///
/// # Errors
/// Why there is none, or why the program would not load it.
pub(crate) fn library(program: &Path, name: &str, chore: &str, named: Option<&Path>) -> Result<PathBuf, String> {
    program::what(program).map_err(str::to_owned)?;
    let library = match named {
        Some(library) if library.is_file() => library.to_owned(),
        Some(library) => return Err(format!("{}: no such library", shown(&library.to_string_lossy()))),
        None => {
            let here = std::env::current_exe().map_err(|error| error.to_string())?;
            let folder = here.parent().unwrap_or(Path::new("/"));
            places::find(folder, name).ok_or_else(|| places::remedy(folder, name, chore))?
        }
    };
    let library = fs::canonicalize(library).map_err(|error| error.to_string())?;
    Ok(if program::has_musl() { program::for_glibc_alone(&library) } else { library })
}

/// The libraries that fit the program. A line says which do not, unless the user wants it quiet.
fn libraries_for(program: &Path, options: &Exec, quiet: bool) -> Result<Vec<PathBuf>> {
    let say = |why: &str| {
        if !quiet {
            eprintln!("foregather: {why}");
        }
    };
    let name = shown(&program.to_string_lossy()).to_string();
    let program = match program::what(program) {
        Ok(program) => program,
        Err(why) => {
            say(&format!("nothing of {name} can be replaced: {why}"));
            return Ok(Vec::new());
        }
    };
    let mut libraries = libraries(options)?;
    if let Some(at) = libraries.iter().position(|library| library.file_name() == Some(OsStr::new(OPENMP)))
        && let Some(lacking) = program.and_then(|program| program::lacks(&program, &libraries[at]))
    {
        say(&format!("{name} keeps its own OpenMP runtime: it needs {lacking}, which {OPENMP} does not have"));
        libraries.remove(at);
    }
    if program::has_musl() {
        libraries = libraries.iter().map(|library| program::for_glibc_alone(library)).collect();
    }
    Ok(libraries)
}

/// The library that the user has named, else those that are installed with this command.
fn libraries(options: &Exec) -> Result<Vec<PathBuf>> {
    if let Some(library) = &options.library {
        ensure!(library.is_file(), "{}: no such library", shown(&library.to_string_lossy()));
        return Ok(vec![fs::canonicalize(library)?]);
    }
    let here = std::env::current_exe().context("where this command is")?;
    let folder = here.parent().unwrap_or(Path::new("/"));
    let find = |name: &str| places::find(folder, name);
    let needed = |name: &str, chore: &str| find(name).ok_or_else(|| Failure::Machine(places::remedy(folder, name, chore)));
    let mut found = vec![needed(OPENMP, "libgomp")?];
    found.extend(find(BARRIERS));
    if options.blas {
        found.push(needed(BLAS, "blas")?);
    }
    Ok(found.into_iter().map(fs::canonicalize).collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_own_libraries_stay() {
        let ours = ["/a.so", "/b.so"].map(PathBuf::from);
        assert_eq!(first(&ours, None), "/a.so:/b.so");
        assert_eq!(first(&ours[..1], Some("".into())), "/a.so");
        assert_eq!(first(&ours, Some("/c.so:/d.so".into())), "/a.so:/b.so:/c.so:/d.so");
    }
}
