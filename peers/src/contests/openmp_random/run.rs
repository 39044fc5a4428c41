//! A program is compiled, run as it is and with the library under test, and the two runs are compared.
use super::draw::BODIES;
use super::tree::{Language, TestProgram};
use super::write::source;
use crate::trial::{self, LibraryUnderTest};
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{fmt, fs};

/// Sources of what all programs share.
const SUPPORT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/c/openmp_random");
/// What `peers/c` has not been compiled with stays out of the way of the machine's own settings.
const NO_DEVICES: &str = "-foffload=disable";
/// A run without the library under test is given up after this.
const LIMIT: Duration = Duration::from_secs(30);
/// A run hangs if it takes longer than this, and [`SLOWER`] times as long as without the library.
pub(super) const HANG: Duration = Duration::from_secs(10);
/// Instead of [`HANG`] for the small programs that a shrinker tries.
pub(super) const SHORT_HANG: Duration = Duration::from_secs(2);
const SLOWER: u32 = 20;
/// How often a program that differs is run once more without the library: its runtime may be at fault now and
/// then.
const AGAIN: usize = 20;

/// Where programs are compiled and run: a folder that one thread uses.
pub(super) struct BuildFolder<'a> {
    pub(super) folder: PathBuf,
    /// Where [`CompilerFamily::prepare`] compiled what all programs share.
    pub(super) shared: PathBuf,
    pub(super) library: &'a LibraryUnderTest,
    pub(super) compilers: CompilerFamily,
}

/// How a program ended, and what it printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RandomRun {
    Ended { status: String, printed: String },
    Hung,
}

impl fmt::Display for RandomRun {
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
    Same {
        took_part: bool,
    },
    /// Why the program is of no use: its runtime itself does not print the same each time, hangs or crashes.
    Useless(&'static str),
    Differs {
        theirs: RandomRun,
        ours: RandomRun,
    },
    /// The loader did not bind the program to the library.
    Unbound,
}

foregather_machine::named! {
    /// The compilers of programs, which bring a runtime with them.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) enum CompilerFamily {
        Gnu = "gcc",
        /// Clang, with LLVM's runtime. It has no Fortran here.
        Clang = "clang",
    }
}

/// Constructs that came with later versions of Clang than 14.
const UNKNOWN_TO_CLANG: [&str; 2] = ["#pragma omp error", "#pragma omp scope"];

impl CompilerFamily {
    pub(super) fn languages(self) -> &'static [Language] {
        match self {
            Self::Gnu => &Language::ALL,
            Self::Clang => &[Language::C, Language::Cpp],
        }
    }

    pub(super) fn compiler(self, language: Language) -> &'static str {
        match (self, language) {
            (Self::Gnu, Language::C) => "gcc",
            (Self::Gnu, Language::Cpp) => "g++",
            (Self::Clang, Language::C) => "clang",
            (Self::Clang, Language::Cpp) => "clang++",
            (_, Language::Fortran) => "gfortran",
        }
    }

    /// Whether these compilers know all constructs of a source.
    pub(super) fn know(self, source: &str) -> bool {
        self == Self::Gnu || !UNKNOWN_TO_CLANG.iter().any(|construct| source.contains(construct))
    }

    /// Compiles what all programs share into the folder.
    pub(super) fn prepare(self, folder: &Path) -> Result<()> {
        fs::create_dir_all(folder)?;
        let source = |name| Path::new(SUPPORT).join(name);
        self.compile(folder, Language::C, &["-c"], &[source("support.c"), "-o".into(), "support.o".into()])?;
        if self == Self::Gnu {
            self.compile(folder, Language::Fortran, &["-c"], &[source("support.f90"), "-o".into(), "module.o".into()])?;
        }
        Ok(())
    }

    /// Returns false if the compiler itself fails.
    fn compile(self, folder: &Path, language: Language, options: &[&str], files: &[PathBuf]) -> Result<bool> {
        let compiler = self.compiler(language);
        let mut command = Command::new(compiler);
        // Clang calls functions for operations on long numbers that are atomic.
        let more: &[&str] = if self == Self::Gnu { &[NO_DEVICES] } else { &["-Wl,--as-needed", "-latomic"] };
        command.args(["-O1", "-fopenmp", "-w"]).args(options).args(files).args(more).arg("-I").arg(SUPPORT).current_dir(folder);
        let done = command.output().with_context(|| format!("{compiler} cannot be started"))?;
        let said = String::from_utf8_lossy(&done.stderr);
        if said.contains("internal compiler error") || said.contains("PLEASE submit a bug report") {
            return Ok(false);
        }
        ensure!(done.status.success(), "{compiler} refuses {}:\n{said}", files[0].display());
        Ok(true)
    }
}

impl BuildFolder<'_> {
    pub(super) fn program(&self) -> PathBuf {
        self.folder.join("program")
    }

    /// Compiles a program. Returns false if the compiler itself fails.
    pub(super) fn build(&self, program: &TestProgram) -> Result<bool> {
        let (name, objects): (_, &[&str]) = match program.language {
            Language::C => ("program.c", &["support.o"]),
            Language::Cpp => ("program.cpp", &["support.o"]),
            Language::Fortran => ("program.f90", &["support.o", "module.o"]),
        };
        let compile =
            |options: &[&str], files: &[PathBuf]| self.compilers.compile(&self.folder, program.language, options, files);
        let (text, module) = (source(program), format!("-I{}", self.shared.display()));
        fs::write(self.folder.join(name), &text)?;
        let options: &[&str] = if program.language == Language::Fortran { &[&module, "-ffree-line-length-none"] } else { &[] };
        let with = |objects: &[&str], more: &[&str]| -> Vec<PathBuf> {
            let objects = objects.iter().map(|object| self.shared.join(object));
            [PathBuf::from(name)].into_iter().chain(objects).chain(more.iter().map(PathBuf::from)).collect()
        };
        if text.contains("in_plugin") {
            compile(options, &with(&objects[1..], &["-shared", "-fPIC", "-Wl,-Bsymbolic", "-o", "plugin.so"]))?;
        }
        compile(options, &with(objects, &["-rdynamic", "-ldl", "-pthread", "-o", "program"]))
    }

    /// Runs what was built without the library under test, and with it up to `times` times, until a run
    /// differs.
    pub(super) fn judge(&self, program: &TestProgram, times: usize, hang: Duration) -> Result<Judgement> {
        let (theirs, took, _) = self.run(program, false, LIMIT)?;
        match &theirs {
            RandomRun::Hung => return Ok(Judgement::Useless("its runtime hangs")),
            RandomRun::Ended { status, .. } if status.contains("SIGSEGV") => {
                return Ok(Judgement::Useless("its runtime crashes"));
            }
            RandomRun::Ended { .. } => {}
        }
        let (limit, mut took_part_once) = (hang.max(took * SLOWER), false);
        for _ in 0..times {
            let (ours, _, took_part) = self.run(program, true, limit)?;
            if !took_part && ours != RandomRun::Hung && self.library.must_take_part() {
                return Ok(Judgement::Unbound);
            }
            took_part_once |= took_part;
            if ours != theirs {
                for _ in 0..AGAIN {
                    if self.run(program, false, LIMIT)?.0 != theirs {
                        return Ok(Judgement::Useless("its runtime varies"));
                    }
                }
                return Ok(Judgement::Differs { theirs, ours });
            }
        }
        Ok(Judgement::Same { took_part: took_part_once })
    }

    fn run(&self, program: &TestProgram, ours: bool, limit: Duration) -> Result<(RandomRun, Duration, bool)> {
        let mut run = Command::new(self.program());
        run.env("PLUGIN", self.folder.join("plugin.so")).envs(program.environment.iter().map(|(name, value)| (name, value)));
        let trial = trial::run(&mut run, &self.folder, ours.then_some(self.library), limit)?;
        let printed = String::from_utf8_lossy(&trial.printed).into_owned();
        let outcome = trial.end.map_or(RandomRun::Hung, |status| RandomRun::Ended { status: status.to_string(), printed });
        Ok((outcome, trial.took, trial.took_part))
    }
}

/// The numbers of bodies whose line is not the same, as far as both printed one.
pub(super) fn differing(theirs: &RandomRun, ours: &RandomRun) -> Vec<usize> {
    let (RandomRun::Ended { printed: theirs, .. }, RandomRun::Ended { printed: ours, .. }) = (theirs, ours) else {
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
        let printed = |text: &str| RandomRun::Ended { status: "exit status: 0".to_owned(), printed: text.to_owned() };
        let (theirs, ours) = (printed("0: 1\n4: 2\n7: 3\n"), printed("0: 1\n4: 9\n7: 3\n"));
        assert_eq!(differing(&theirs, &ours), [4]);
        assert!(differing(&theirs, &RandomRun::Hung).is_empty());
    }
}
