//! Random OpenMP programs as they are and with a library under test, our runtime or the preload layer of
//! `foregather advise`: both must print the same and end the same way.
//!
//! [`draw`] draws a program as a [`tree`], [`mod@write`] prints it in its language, [`run`] compiles it and
//! compares two runs, [`shrink`] makes what differs small, [`reach`] counts the runtime's entries that the
//! programs call.
mod draw;
mod reach;
mod run;
mod shrink;
mod tree;
mod write;

use crate::trial::LibraryUnderTest;
use crate::{PeerError, support};
use anyhow::{Context, Result, ensure};
use reach::Reach;
use run::{BuildFolder, CompilerFamily, Judgement, RandomRun};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};
use std::{env, fs};
use tree::{Language, TestProgram};

/// Shrinking one program takes no longer.
const SHRINKING: Duration = Duration::from_secs(120);

/// What is asked for.
#[derive(Debug)]
struct ContestOptions {
    library: LibraryUnderTest,
    compilers: CompilerFamily,
    bodies: usize,
    seed: u64,
    languages: Vec<Language>,
    jobs: usize,
    keep: PathBuf,
    /// Bodies whose text contains this.
    only: String,
}

/// What has been found so far.
#[derive(Default)]
struct Totals {
    bodies: usize,
    programs: usize,
    /// Programs that behave the same and used the library under test.
    took_part: usize,
    /// Seeds of programs that say nothing, by the reason.
    useless: BTreeMap<&'static str, Vec<u64>>,
    differences: usize,
    reach: Reach,
}

pub(super) fn hold(options: &[&str]) -> Result<(), PeerError> {
    let contest = ContestOptions::parse(options)?;
    let place = env::temp_dir().join(format!("foregather-openmp-random-{}", std::process::id()));
    let held = contest.run(&place);
    // What was built stays only if it could not be removed.
    let _ = fs::remove_dir_all(&place);
    Ok(held?)
}

impl ContestOptions {
    fn parse(options: &[&str]) -> Result<Self, PeerError> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let (mut library, mut bodies, mut seed) = (None, 1_000, now.as_nanos() as u64 & 0xffff_ffff);
        let (mut compilers, mut languages, mut jobs) = (CompilerFamily::Gnu, None, 2);
        let (mut keep, mut only) = (env::temp_dir().join("openmp-random"), String::new());
        for (option, value) in support::options(options)? {
            let number = |least: u64| {
                value
                    .parse()
                    .ok()
                    .filter(|&n| n >= least)
                    .ok_or_else(|| PeerError::Usage(format!("invalid {option} `{value}`: expected a number from {least} on")))
            };
            match option {
                "--bodies" => bodies = number(1)? as usize,
                "--seed" => seed = number(0)?,
                "--library" | "--watch" => library = Some(LibraryUnderTest::of(option, value)?),
                "--compilers" => compilers = family(value)?,
                "--languages" => languages = Some(value.split(',').map(language).collect::<Result<Vec<_>, _>>()?),
                "--jobs" => jobs = number(1)? as usize,
                "--keep" => keep = PathBuf::from(value),
                "--only" => only = value.to_owned(),
                _ => return Err(PeerError::Usage(format!("`{option}` is none of its options"))),
            }
        }
        let Some(library) = library else { return Err(PeerError::Usage("it needs --library or --watch".to_owned())) };
        if compilers == CompilerFamily::Clang && library.must_take_part() {
            return Err(PeerError::Usage(
                "--compilers clang needs --watch: --library takes the place of GCC's runtime".to_owned(),
            ));
        }
        let languages = languages.unwrap_or_else(|| compilers.languages().to_vec());
        if let Some(other) = languages.iter().find(|language| !compilers.languages().contains(language)) {
            return Err(PeerError::Usage(format!("--compilers {} have no {}", compilers.name(), other.name())));
        }
        Ok(Self { library, bodies, seed, compilers, languages, jobs, keep, only })
    }

    fn run(&self, place: &Path) -> Result<()> {
        self.compilers.prepare(place)?;
        println!("seed {}", self.seed);
        let (next, found, began) = (AtomicU64::new(self.seed), Mutex::new(Totals::default()), Instant::now());
        std::thread::scope(|scope| -> Result<()> {
            let job = |number: usize| {
                let (folder, shared) = (place.join(number.to_string()), place.to_owned());
                let bench = BuildFolder { folder, shared, library: &self.library, compilers: self.compilers };
                fs::create_dir_all(&bench.folder)?;
                while found.lock().expect("no job panics").bodies < self.bodies {
                    self.one(&bench, next.fetch_add(1, Ordering::Relaxed), &found)?;
                }
                anyhow::Ok(())
            };
            let jobs: Vec<_> = (0..self.jobs).map(|number| scope.spawn(move || job(number))).collect();
            jobs.into_iter().try_for_each(|job| job.join().expect("no job panics"))
        })?;
        let Totals { bodies, programs, took_part, useless, differences, reach } = found.into_inner().expect("no job panics");
        if self.compilers == CompilerFamily::Gnu {
            print!("{}", reach::table(&reach, self.library.exported()));
        }
        println!("{bodies} bodies in {programs} programs, {} s", began.elapsed().as_secs());
        for (why, seeds) in &useless {
            println!("{} useless programs, {why}: seeds {seeds:?}", seeds.len());
        }
        let (library, keep) = (self.library.path().display(), self.keep.display());
        println!("{took_part} programs behave the same and used the library");
        ensure!(took_part > 0 || !useless.is_empty(), "no program used {library}");
        ensure!(differences == 0, "{differences} programs behave differently with {library}; see the files in {keep}");
        println!("no program behaves differently with {library}");
        Ok(())
    }

    /// Draws, compiles and judges the program of this seed.
    fn one(&self, bench: &BuildFolder<'_>, seed: u64, found: &Mutex<Totals>) -> Result<()> {
        let is_wanted = |program: &TestProgram| {
            let source = write::source(program);
            self.compilers.know(&source) && source.contains(&self.only)
        };
        let program = draw::program(seed, &self.languages, is_wanted);
        ensure!(!program.bodies.is_empty(), "no body of seed {seed} contains `{}`; correct --only", self.only);
        let is_built = bench.build(&program).with_context(|| format!("the program of seed {seed}"))?;
        let reach = if is_built { reach::reached(&bench.program())? } else { Reach::new() };
        let comparison = if is_built { bench.judge(&program, 1, run::HANG)? } else { Judgement::Useless("the compiler fails") };
        {
            let mut found = found.lock().expect("no job panics");
            found.programs += 1;
            found.bodies += program.bodies.len();
            if found.bodies % 1_000 < program.bodies.len() {
                println!("{} bodies", found.bodies);
            }
            reach.into_iter().for_each(|(entry, bodies)| *found.reach.entry(entry).or_default() += bodies);
            found.differences += usize::from(matches!(comparison, Judgement::Unbound | Judgement::Differs { .. }));
            found.took_part += usize::from(matches!(comparison, Judgement::Same { took_part: true }));
            if let Judgement::Useless(why) = comparison {
                found.useless.entry(why).or_default().push(seed);
            }
        }
        match comparison {
            Judgement::Same { .. } => Ok(()),
            Judgement::Useless(_) => self.save(&program, seed, "useless", None),
            Judgement::Unbound => self.save(&program, seed, "unbound", None),
            Judgement::Differs { theirs, ours } => self.report(bench, seed, &program, theirs, ours),
        }
    }

    /// Shrinks a program that differs, and saves what is left.
    fn report(
        &self,
        bench: &BuildFolder<'_>,
        seed: u64,
        program: &TestProgram,
        theirs: RandomRun,
        ours: RandomRun,
    ) -> Result<()> {
        let bodies = run::differing(&theirs, &ours);
        println!("seed {seed} ({}): differs in bodies {bodies:?}; shrinking", program.language.name());
        let (began, mut last) = (Instant::now(), [theirs, ours]);
        let smallest = shrink::shrink(program, |candidate| {
            if began.elapsed() > SHRINKING || !bench.build(candidate).unwrap_or(false) {
                return false;
            }
            let Ok(Judgement::Differs { theirs, ours }) = bench.judge(candidate, 5, run::SHORT_HANG) else { return false };
            last = [theirs, ours];
            true
        });
        self.save(&smallest, seed, "differs", Some(&last))
    }

    /// Writes a program with how it ended without the library and with it, if that differs, and how to
    /// repeat it.
    fn save(&self, program: &TestProgram, seed: u64, what: &str, outcomes: Option<&[RandomRun; 2]>) -> Result<()> {
        fs::create_dir_all(&self.keep)?;
        let (comment, ending) = match program.language {
            Language::C => ("//", "c"),
            Language::Cpp => ("//", "cpp"),
            Language::Fortran => ("!", "f90"),
        };
        let languages: Vec<&str> = self.languages.iter().map(|language| language.name()).collect();
        let only = if self.only.is_empty() { String::new() } else { format!(" --only '{}'", self.only) };
        let (option, library, languages) = (self.library.option(), self.library.path().display(), languages.join(","));
        let compilers = self.compilers.name();
        let mut about = format!(
            "cargo xtask peers openmp-random {option} {library} --seed {seed} --bodies 1 --compilers {compilers} --languages {languages}{only}\n"
        );
        program.environment.iter().for_each(|(name, value)| about += &format!("{name}={value}\n"));
        for (who, outcome) in ["without", "with"].iter().zip(outcomes.into_iter().flatten()) {
            outcome.to_string().lines().for_each(|line| about += &format!("{who}: {line}\n"));
        }
        let about: String = about.lines().map(|line| format!("{comment} {line}\n")).collect();
        let path = self.keep.join(format!("{what}-{seed}.{ending}"));
        fs::write(&path, about + &write::source(program))?;
        println!("seed {seed}: {what}; see {}", path.display());
        Ok(())
    }
}

fn family(name: &str) -> Result<CompilerFamily, PeerError> {
    CompilerFamily::named(name).ok_or_else(|| PeerError::Usage(format!("invalid --compilers `{name}`: expected gcc or clang")))
}

fn language(name: &str) -> Result<Language, PeerError> {
    Language::named(name).ok_or_else(|| PeerError::Usage(format!("invalid --languages `{name}`: expected c, c++ or fortran")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_usage_names_the_culprit() {
        for (options, culprit) in [
            (&["--bodies", "0"][..], "invalid --bodies `0`"),
            (&["--seed", "x"], "invalid --seed `x`"),
            (&["--languages", "c,ada"], "invalid --languages `ada`"),
            (&["--compilers", "icc"], "invalid --compilers `icc`"),
            (&["--body", "1"], "`--body`"),
            (&["--only"], "`--only` needs a value"),
            (&[], "--library"),
        ] {
            match ContestOptions::parse(options) {
                Err(PeerError::Usage(what)) => assert!(what.contains(culprit), "{options:?}: {what}"),
                other => panic!("{options:?}: {other:?}"),
            }
        }
    }
}
