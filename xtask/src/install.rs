//! `cargo xtask install --prefix DIR`: the libraries, headers and the command, as a system has them.
//!
//! All is laid out in `target/install` first: a build that fails leaves the prefix as it was, and `--check`
//! has something to compare with. Nothing in it names the prefix, so it may be moved.
use crate::ChoreError;
use crate::build::{PARTS, Platform, done, root};
use crate::drop_in::{DROP_INS, LIBGOMP, LIBGOMP_FULL, library};
use crate::notices;
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) const HELP: &str = "\
cargo xtask install --prefix DIR [--check]

Builds the C library, the drop-in libraries and the command, and lays them out below DIR:

  lib/libforegather.so, .a        the library for C, C++ and Fortran, with lib/pkgconfig and lib/cmake
  lib/foregather/                 drop-in libraries: OpenMP runtime, barriers of POSIX threads, BLAS
  lib/foregather/gomp/            the OpenMP runtime as libgomp.so.1 and libgomp.so.1.0.0, for a library path
  include/                        foregather.h, foregather.hpp, and the source of the Fortran module
  bin/foregather                  the command, with a manual page for each verb and completions for bash, zsh and fish
  share/foregather/               suppressions for valgrind and ThreadSanitizer
  share/doc/foregather/           the licences, and those of the crates that are linked in

Prints what it has laid out. `--check` writes nothing, and says what DIR has that differs. Needs cc and strip. The first build takes
a few minutes.";

/// Files of the repository, and where they go.
const COPIES: [(&str, &str); 7] = [
    ("faces/c/include/foregather.h", "include/foregather.h"),
    ("faces/c/include/foregather.hpp", "include/foregather.hpp"),
    ("faces/c/include/foregather.f90", "include/foregather.f90"),
    ("LICENSE-MIT", "share/doc/foregather/LICENSE-MIT"),
    ("LICENSE-APACHE", "share/doc/foregather/LICENSE-APACHE"),
    ("packaging/suppressions/valgrind.supp", "share/foregather/valgrind.supp"),
    ("packaging/suppressions/tsan.supp", "share/foregather/tsan.supp"),
];
/// Files in which `@VERSION@` and its numbers are replaced.
const TEMPLATES: [(&str, &str); 3] = [
    ("faces/c/foregather.pc.in", "lib/pkgconfig/foregather.pc"),
    ("faces/c/cmake/foregatherConfig.cmake.in", "lib/cmake/foregather/foregatherConfig.cmake"),
    ("faces/c/cmake/foregatherConfigVersion.cmake.in", "lib/cmake/foregather/foregatherConfigVersion.cmake"),
];
/// What the command prints.
const PRINTED: [(&[&str], &str); 3] = [
    (&["completions", "bash"], "share/bash-completion/completions/foregather"),
    (&["completions", "zsh"], "share/zsh/site-functions/_foregather"),
    (&["completions", "fish"], "share/fish/vendor_completions.d/foregather.fish"),
];
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The number in the SONAME; symbols have versions of their own.
const SO: &str = env!("CARGO_PKG_VERSION_MAJOR");

pub(crate) fn run(words: &[&str]) -> Result<bool, ChoreError> {
    let (prefix, checks) = match words {
        ["--prefix", prefix] => (prefix, false),
        ["--prefix", prefix, "--check"] | ["--check", "--prefix", prefix] => (prefix, true),
        _ => return Err(ChoreError::Usage(format!("expected `--prefix DIR`, got `{}`", words.join(" ")))),
    };
    if prefix.is_empty() {
        return Err(ChoreError::Usage("the prefix is empty".to_owned()));
    }
    let prefix = std::path::absolute(prefix)?;
    if !checks {
        // What cannot be written is known before the work.
        try_place(&prefix)?;
    }
    let stage = lay_out(Platform::Here)?;
    let entries = entries(&stage)?;
    if checks {
        let differing: Vec<_> = entries.iter().filter(|entry| !is_same(&stage.join(entry), &prefix.join(entry))).collect();
        differing.iter().for_each(|entry| println!("{} is missing or differs", prefix.join(entry).display()));
        return Ok(differing.is_empty());
    }
    for entry in &entries {
        put(&stage.join(entry), &prefix.join(entry))
            .with_context(|| format!("{} cannot be written", prefix.join(entry).display()))?;
        println!("{}", prefix.join(entry).display());
    }
    Ok(true)
}

/// Refuses a prefix that cannot be written.
fn try_place(prefix: &Path) -> Result<()> {
    let probe = prefix.join(".foregather-install");
    fs::create_dir_all(prefix)
        .and_then(|()| fs::write(&probe, ""))
        .and_then(|()| fs::remove_file(&probe))
        .with_context(|| format!("{} cannot be written; give another --prefix, or the rights", prefix.display()))
}

/// Builds all for a platform and lays it out beside the other things that are built. Returns where.
pub(crate) fn lay_out(platform: Platform) -> Result<PathBuf> {
    let (root, built) = (root()?, platform.build(&PARTS)?);
    let stage = platform.target()?.join("install");
    if stage.exists() {
        fs::remove_dir_all(&stage)?;
    }
    for (from, to) in COPIES {
        put(&root.join(from), &stage.join(to))?;
    }
    for (from, to) in TEMPLATES {
        write(&stage.join(to), filled(&fs::read_to_string(root.join(from))?).as_bytes())?;
    }
    write(&stage.join("share/doc/foregather").join(notices::FILE), notices::text(platform, &PARTS)?.as_bytes())?;
    c_library(platform, root, &built, &stage.join("lib"))?;
    for (drop_in, _) in DROP_INS {
        let drop_in = library(platform, drop_in, &built)?;
        put(&drop_in, &stage.join("lib/foregather").join(drop_in.file_name().context("a library has a name")?))?;
    }
    for name in [LIBGOMP, LIBGOMP_FULL] {
        put(&built.with_file_name("drop-in").join(name), &stage.join("lib/foregather").join(name))?;
    }
    let command = stage.join("bin/foregather");
    put(&built.join("foregather"), &command)?;
    platform.strip(&command, &["--strip-debug"])?;
    for (words, to) in PRINTED {
        let printed = platform.command(&command)?.args(words).output().context("the command that was built")?;
        ensure!(printed.status.success(), "`foregather {}` exited with {}", words.join(" "), printed.status);
        write(&stage.join(to), &printed.stdout)?;
    }
    manual(platform, &command, &stage)?;
    Ok(stage)
}

/// Writes the command's manual pages, one for each verb, below a prefix.
pub(crate) fn manual(platform: Platform, command: &Path, prefix: &Path) -> Result<()> {
    done(platform.command(command)?.args(["man", "--directory"]).arg(prefix.join("share/man/man1")))
}

/// The shared library, with the versions of its symbols, and the static one.
fn c_library(platform: Platform, root: &Path, built: &Path, place: &Path) -> Result<()> {
    let (archive, library) = (place.join("libforegather.a"), place.join(format!("libforegather.so.{VERSION}")));
    put(&built.join("libforegather_c.a"), &archive)?;
    let (mut cc, unwinder) = platform.linker();
    cc.args(["-shared", "-Wl,--gc-sections", "-Wl,-z,nodelete,-z,defs,-z,now"]);
    cc.arg(format!("-Wl,-soname,libforegather.so.{SO}"));
    cc.arg(format!("-Wl,--version-script={}", root.join("faces/c/foregather.map").display()));
    cc.arg("-Wl,--whole-archive").arg(&archive).arg("-Wl,--no-whole-archive");
    done(cc.args([unwinder, "-lpthread", "-ldl", "-lm", "-o"]).arg(&library))?;
    platform.strip(&library, &["--strip-debug"])?;
    // The standard library's objects have LLVM's bitcode in them, for links that optimise once more.
    platform.strip(&archive, &["--strip-debug", "-R", ".llvmbc", "-R", ".llvmcmd"])?;
    for (to, link) in [
        (format!("libforegather.so.{VERSION}"), format!("libforegather.so.{SO}")),
        (format!("libforegather.so.{SO}"), "libforegather.so".to_owned()),
    ] {
        std::os::unix::fs::symlink(to, place.join(link))?;
    }
    Ok(())
}

/// A template with the version in it.
fn filled(template: &str) -> String {
    let minor = env!("CARGO_PKG_VERSION_MINOR");
    template.replace("@VERSION@", VERSION).replace("@MAJOR@", SO).replace("@SO@", SO).replace("@MINOR@", minor)
}

/// All files and links below a folder, relative to it, in order.
fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(here) = folders.pop() {
        for entry in fs::read_dir(&here)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            } else {
                found.push(entry.path().strip_prefix(folder)?.to_owned());
            }
        }
    }
    found.sort();
    Ok(found)
}

fn is_same(here: &Path, there: &Path) -> bool {
    match (fs::read_link(here), fs::read_link(there)) {
        (Ok(here), Ok(there)) => here == there,
        (Err(_), Err(_)) => matches!((fs::read(here), fs::read(there)), (Ok(here), Ok(there)) if here == there),
        _ => false,
    }
}

/// Copies a file or a link. What was there goes first: a program that runs keeps its own.
pub(crate) fn put(from: &Path, to: &Path) -> Result<()> {
    remove_old(to)?;
    match fs::read_link(from) {
        Ok(link) => std::os::unix::fs::symlink(link, to)?,
        Err(_) => drop(fs::copy(from, to).with_context(|| format!("{} cannot be copied", from.display()))?),
    }
    Ok(())
}

fn write(to: &Path, bytes: &[u8]) -> Result<()> {
    remove_old(to)?;
    Ok(fs::write(to, bytes)?)
}

fn remove_old(to: &Path) -> Result<()> {
    fs::create_dir_all(to.parent().context("a file is in a folder")?)?;
    match fs::remove_file(to) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_is_the_same_until_it_changes() {
        let place = std::env::temp_dir().join(format!("foregather-install-{}", std::process::id()));
        let (here, there) = (place.join("here"), place.join("there"));
        write(&here.join("lib/a.1"), b"a").unwrap();
        std::os::unix::fs::symlink("a.1", here.join("lib/a")).unwrap();
        let all = entries(&here).unwrap();
        assert_eq!(all, [Path::new("lib/a"), Path::new("lib/a.1")]);
        let same = || all.iter().map(|entry| is_same(&here.join(entry), &there.join(entry))).collect::<Vec<_>>();
        assert_eq!(same(), [false, false]);
        // Twice: what was there goes.
        for entry in all.iter().chain(&all) {
            put(&here.join(entry), &there.join(entry)).unwrap();
        }
        assert_eq!(same(), [true, true]);
        write(&there.join("lib/a.1"), b"b").unwrap();
        assert_eq!(same(), [true, false]);
        assert!(try_place(&there.join("lib/a.1")).unwrap_err().to_string().contains("cannot be written"));
        fs::remove_dir_all(place).unwrap();
    }

    #[test]
    fn a_template_has_the_version() {
        assert_eq!(filled("@VERSION@ @MAJOR@ @SO@ @MINOR@"), format!("{VERSION} 0 0 1"));
    }

    #[test]
    fn other_words_are_refused() {
        for words in [&[][..], &["--prefix"], &["--prefix", ""], &["/usr"], &["--prefix", "/x", "--force"]] {
            assert!(matches!(run(words), Err(ChoreError::Usage(_))), "{words:?}");
        }
    }
}
