//! A program is compiled, run on libgomp and on the library under test, and the two runs are compared.
use super::draw::BODIES;
use super::tree::{Language, TestProgram};
use super::write::source;
use crate::bound::DropIn;
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{fmt, fs};

/// Sources of what all programs share.
const SUPPORT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/c/openmp_random");
/// What `peers/c` has not been compiled with stays out of the way of the machine's own settings.
const QUIET: [&str; 2] = ["-w", "-foffload=disable"];
/// libgomp itself is given up after this.
const LIMIT: Duration = Duration::from_secs(30);
/// A run hangs if it takes longer than this, and [`SLOWER`] times as long as on libgomp.
pub(super) const HANG: Duration = Duration::from_secs(10);
/// Instead of [`HANG`] for the small programs that a shrinker tries.
pub(super) const SHORT_HANG: Duration = Duration::from_secs(2);
const SLOWER: u32 = 20;

/// Where programs are compiled and run: a folder that one thread uses.
pub(super) struct Bench<'a> {
    pub(super) folder: PathBuf,
    /// Where [`prepare`] was.
    pub(super) shared: PathBuf,
    pub(super) drop_in: &'a DropIn,
}

/// How a program ended, and what it printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Ended { status: String, printed: String },
    Hung,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended { status, printed } => write!(f, "{status}\n{printed}"),
            Self::Hung => f.write_str("hangs"),
        }
    }
}

/// What the two runs of a program say.
#[derive(Clone, Debug)]
pub(super) enum Judgement {
    Same,
    /// Why the program is of no use: libgomp itself does not print the same each time, hangs or crashes.
    Useless(&'static str),
    Differs {
        theirs: Outcome,
        ours: Outcome,
    },
    /// The loader did not bind the program to the library.
    Unbound,
}

/// Compiles what all programs share into the folder.
pub(super) fn prepare(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    let source = |name| Path::new(SUPPORT).join(name);
    compile(folder, "gcc", &["-c"], &[source("support.c"), "-o".into(), "support.o".into()])?;
    compile(folder, "gfortran", &["-c"], &[source("support.f90"), "-o".into(), "module.o".into()])?;
    Ok(())
}

/// Returns false if the compiler itself fails.
fn compile(folder: &Path, compiler: &str, options: &[&str], files: &[PathBuf]) -> Result<bool> {
    let mut command = Command::new(compiler);
    command.args(["-O1", "-fopenmp"]).args(QUIET).args(options).args(files).arg("-I").arg(SUPPORT).current_dir(folder);
    let done = command.output().with_context(|| format!("{compiler} cannot be started"))?;
    let said = String::from_utf8_lossy(&done.stderr);
    if said.contains("internal compiler error") {
        return Ok(false);
    }
    ensure!(done.status.success(), "{compiler} refuses {}:\n{said}", files[0].display());
    Ok(true)
}

impl Bench<'_> {
    pub(super) fn program(&self) -> PathBuf {
        self.folder.join("program")
    }

    /// Compiles a program. Returns false if the compiler itself fails.
    pub(super) fn build(&self, program: &TestProgram) -> Result<bool> {
        let (compiler, name, objects): (_, _, &[&str]) = match program.language {
            Language::C => ("gcc", "program.c", &["support.o"]),
            Language::Cpp => ("g++", "program.cpp", &["support.o"]),
            Language::Fortran => ("gfortran", "program.f90", &["support.o", "module.o"]),
        };
        let (text, module) = (source(program), format!("-I{}", self.shared.display()));
        fs::write(self.folder.join(name), &text)?;
        let options: &[&str] = if program.language == Language::Fortran { &[&module, "-ffree-line-length-none"] } else { &[] };
        let with = |objects: &[&str], more: &[&str]| -> Vec<PathBuf> {
            let objects = objects.iter().map(|object| self.shared.join(object));
            [PathBuf::from(name)].into_iter().chain(objects).chain(more.iter().map(PathBuf::from)).collect()
        };
        if text.contains("in_plugin") {
            let files = with(&objects[1..], &["-shared", "-fPIC", "-Wl,-Bsymbolic", "-o", "plugin.so"]);
            compile(&self.folder, compiler, options, &files)?;
        }
        compile(&self.folder, compiler, options, &with(objects, &["-rdynamic", "-ldl", "-pthread", "-o", "program"]))
    }

    /// Runs what was built on both, our library up to `times` times, until a run differs.
    pub(super) fn judge(&self, program: &TestProgram, times: usize, hang: Duration) -> Result<Judgement> {
        let (theirs, took, _) = self.run(program, false, LIMIT)?;
        match &theirs {
            Outcome::Hung => return Ok(Judgement::Useless("libgomp hangs")),
            Outcome::Ended { status, .. } if status.contains("SIGSEGV") => return Ok(Judgement::Useless("libgomp crashes")),
            Outcome::Ended { .. } => {}
        }
        let limit = hang.max(took * SLOWER);
        for _ in 0..times {
            let (ours, _, bound) = self.run(program, true, limit)?;
            if !bound && ours != Outcome::Hung {
                return Ok(Judgement::Unbound);
            }
            if ours != theirs {
                for _ in 0..3 {
                    if self.run(program, false, LIMIT)?.0 != theirs {
                        return Ok(Judgement::Useless("libgomp varies"));
                    }
                }
                return Ok(Judgement::Differs { theirs, ours });
            }
        }
        Ok(Judgement::Same)
    }

    fn run(&self, program: &TestProgram, ours: bool, limit: Duration) -> Result<(Outcome, Duration, bool)> {
        let path = self.program();
        let (bindings, printed) = (self.folder.join("bindings"), self.folder.join("printed"));
        let mut run = Command::new(&path);
        run.env("PLUGIN", self.folder.join("plugin.so")).envs(program.environment.iter().map(|(name, value)| (name, value)));
        run.stdin(Stdio::null()).stdout(fs::File::create(&printed)?).stderr(Stdio::null()).current_dir(&self.folder);
        if ours {
            self.drop_in.preload(&mut run, &bindings);
        }
        let began = Instant::now();
        let mut child = run.spawn().with_context(|| path.display().to_string())?;
        let end = loop {
            match child.try_wait()? {
                Some(end) => break Some(end),
                None if began.elapsed() > limit => {
                    child.kill()?;
                    child.wait()?;
                    break None;
                }
                None => std::thread::sleep(Duration::from_millis(2)),
            }
        };
        let took = began.elapsed();
        let mut bound = false;
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?.path();
            if entry.extension().is_some_and(|id| id.to_string_lossy() == child.id().to_string()) {
                bound = self.drop_in.is_bound(&fs::read_to_string(&entry).unwrap_or_default(), &path);
            }
            if entry.file_stem().is_some_and(|stem| stem == "bindings") {
                fs::remove_file(entry)?;
            }
        }
        let printed = String::from_utf8_lossy(&fs::read(&printed)?).into_owned();
        let outcome = end.map_or(Outcome::Hung, |status| Outcome::Ended { status: status.to_string(), printed });
        Ok((outcome, took, bound))
    }
}

/// The numbers of bodies whose line is not the same, as far as both printed one.
pub(super) fn differing(theirs: &Outcome, ours: &Outcome) -> Vec<usize> {
    let (Outcome::Ended { printed: theirs, .. }, Outcome::Ended { printed: ours, .. }) = (theirs, ours) else {
        return Vec::new();
    };
    let number = |line: &str| line.split_once(':').and_then(|(number, _)| number.parse().ok());
    theirs
        .lines()
        .zip(ours.lines())
        .filter(|(theirs, ours)| theirs != ours)
        .filter_map(|(line, _)| number(line))
        .take(BODIES)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_whose_lines_are_not_the_same_differ() {
        let printed = |text: &str| Outcome::Ended { status: "exit status: 0".to_owned(), printed: text.to_owned() };
        let (theirs, ours) = (printed("0: 1\n4: 2\n7: 3\n"), printed("0: 1\n4: 9\n7: 3\n"));
        assert_eq!(differing(&theirs, &ours), [4]);
        assert!(differing(&theirs, &Outcome::Hung).is_empty());
    }
}
