//! `exec`: a program as it is, on this project's runtimes.
//!
//! The loader puts the libraries before the program's own (`LD_PRELOAD`). Then this process becomes the
//! program, so that signals, exit code and terminal are its own.
use anyhow::{Context, Result, ensure};
use foregather_cli::Exec;
use foregather_cli::failure::Failure;
use foregather_machine::shown;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The OpenMP runtime.
const LIBRARY: &str = "libforegather_gomp.so";
/// The variable that names libraries to load first.
const PRELOAD: &str = "LD_PRELOAD";
/// How much of a program is read to see what it is.
const HEAD: u64 = 64 << 10;
/// A script may name another one as its interpreter, this often.
const SCRIPTS: usize = 4;

/// Becomes the program.
///
/// # Errors
/// Without the library, or if there is no such program.
pub(crate) fn run(options: &Exec, quiet: bool) -> Result<()> {
    let (name, arguments) = options.program.split_first().context("a program")?;
    let Some(program) = find(name) else {
        eprintln!("foregather: {}: no such program in PATH", shown(&name.to_string_lossy()));
        return Err(Failure::Job(NOT_FOUND).into());
    };
    let mut command = Command::new(&program);
    command.arg0(name).args(arguments);
    if std::env::var_os("FOREGATHER").is_none_or(|value| value != "off") {
        match hindrance(&program) {
            Some(_) if quiet => {}
            Some(why) => eprintln!("foregather: nothing of {} can be replaced: {why}", shown(&program.to_string_lossy())),
            None => {
                let library = library(options)?;
                command.env(PRELOAD, first(library.as_os_str(), std::env::var_os(PRELOAD)));
            }
        }
    }
    // Comes back only if the program cannot be started.
    let error = command.exec();
    eprintln!("foregather: {}: {error}", shown(&program.to_string_lossy()));
    Err(Failure::Job(NOT_STARTED).into())
}

/// Exit codes of shells for a program that there is not, and for one that cannot be started.
const NOT_FOUND: u8 = 127;
const NOT_STARTED: u8 = 126;

/// The library before those that the user has named.
fn first(library: &OsStr, named: Option<OsString>) -> OsString {
    let mut list = library.to_owned();
    if let Some(named) = named.filter(|named| !named.is_empty()) {
        list.push(":");
        list.push(named);
    }
    list
}

/// The library that the user has named, else the one beside this command.
fn library(options: &Exec) -> Result<PathBuf> {
    if let Some(library) = &options.library {
        ensure!(library.is_file(), "{}: no such library", shown(&library.to_string_lossy()));
        return Ok(fs::canonicalize(library)?);
    }
    let here = std::env::current_exe().context("where this command is")?;
    let folder = here.parent().unwrap_or(Path::new("/"));
    let places = [folder.to_owned(), folder.join("../lib/foregather"), folder.join("../drop-in")];
    let found = places.iter().map(|place| place.join(LIBRARY)).find(|library| library.is_file());
    let missing = || {
        Failure::Machine(format!(
            "{LIBRARY} is not beside this command: `cargo xtask drop-in libgomp` makes it, --library names it"
        ))
    };
    Ok(fs::canonicalize(found.ok_or_else(missing)?)?)
}

/// The file that a name stands for, as shells find it.
fn find(name: &OsStr) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| fs::metadata(path).is_ok_and(|of| of.is_file() && of.permissions().mode() & 0o111 != 0);
    if name.as_bytes().contains(&b'/') {
        return Some(PathBuf::from(name)).filter(|path| path.exists());
    }
    std::env::split_paths(&std::env::var_os("PATH")?).map(|folder| folder.join(name)).find(is_program)
}

/// Why the loader would not put a library before those of the program. `None`: it would, or nothing is known.
fn hindrance(program: &Path) -> Option<&'static str> {
    let mut program = program.to_owned();
    for _ in 0..SCRIPTS {
        let mode = fs::metadata(&program).ok()?.permissions().mode();
        if mode & 0o6000 != 0 {
            return Some("it runs with the rights of its owner, and the loader preloads nothing then");
        }
        let mut head = Vec::new();
        File::open(&program).ok()?.take(HEAD).read_to_end(&mut head).ok()?;
        match head.strip_prefix(b"#!") {
            None => return hindrance_of(&head),
            Some(line) => program = interpreter(line)?,
        }
    }
    None
}

/// The interpreter of a script, also behind `env`.
fn interpreter(line: &[u8]) -> Option<PathBuf> {
    let line = line.split(|&byte| byte == b'\n').next()?;
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).map(OsStr::from_bytes);
    let first = words.next()?;
    if Path::new(first).file_name() == Some(OsStr::new("env")) {
        return find(words.find(|word| !word.as_bytes().starts_with(b"-") && !word.as_bytes().contains(&b'='))?);
    }
    Some(PathBuf::from(first))
}

/// Why nothing of a program that begins with these bytes can be replaced (the headers of ELF).
fn hindrance_of(head: &[u8]) -> Option<&'static str> {
    const MACHINE: u64 = if cfg!(target_arch = "x86_64") { 62 } else { 183 };
    const INTERPRETER: u64 = 3;
    let number = |at: usize, bytes: usize| {
        let field = head.get(at..at.checked_add(bytes)?)?;
        Some(field.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    };
    if !head.starts_with(b"\x7fELF") {
        return Some("it is no program that the loader knows");
    }
    // 64 bits, the least significant byte first.
    if head.get(4..6) != Some(&[2, 1]) || number(18, 2) != Some(MACHINE) {
        return Some("it is for another kind of processor");
    }
    let (from, size, count) = (number(32, 8)? as usize, number(54, 2)? as usize, number(56, 2)? as usize);
    let kinds = (0..count).map(|at| number(from.checked_add(at * size)?, 4));
    let is_dynamic = kinds.into_iter().any(|kind| kind == Some(INTERPRETER));
    (!is_dynamic).then_some("it is static, and has no loader")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The head of a program of that machine with one program header of that kind.
    fn head(machine: u8, kind: u8) -> Vec<u8> {
        let mut head = vec![0; 120];
        head[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (head[18], head[32], head[54], head[56], head[64]) = (machine, 64, 56, 1, kind);
        head
    }

    #[test]
    fn programs_that_preload_nothing_are_known_by_their_heads() {
        let here = if cfg!(target_arch = "x86_64") { 62 } else { 183 };
        assert_eq!(hindrance_of(&head(here, 3)), None);
        assert!(hindrance_of(&head(here, 1)).unwrap().contains("static"));
        assert!(hindrance_of(&head(8, 3)).unwrap().contains("another kind"));
        assert!(hindrance_of(b"MZ").unwrap().contains("no program"));
        assert!(hindrance_of(b"\x7fELF").unwrap().contains("another kind"), "a head that is cut off");
        let mut far = head(here, 3);
        far[32..40].fill(0xff);
        assert!(hindrance_of(&far).unwrap().contains("static"), "a table beyond the end of all files");
    }

    #[test]
    fn scripts_run_on_their_interpreter() {
        assert_eq!(interpreter(b" /bin/sh -e\nexit"), Some(PathBuf::from("/bin/sh")));
        assert_eq!(interpreter(b"/usr/bin/env -S A=1 sh -c\n"), find(OsStr::new("sh")));
        assert_eq!(interpreter(b"\n"), None);
    }

    #[test]
    fn the_users_own_libraries_stay() {
        let ours = OsStr::new("/ours.so");
        assert_eq!(first(ours, None), "/ours.so");
        assert_eq!(first(ours, Some("".into())), "/ours.so");
        assert_eq!(first(ours, Some("/a.so:/b.so".into())), "/ours.so:/a.so:/b.so");
    }
}
