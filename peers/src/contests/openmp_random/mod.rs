//! Random OpenMP programs on libgomp and on our runtime: both must print the same and end the same way.
//!
//! [`draw`] draws a program as a [`tree`], [`write`] prints it in its language, [`run`] compiles it and compares
//! two runs, [`shrink`] makes what differs small, [`reach`] counts what the programs reach.
mod draw;
mod reach;
mod run;
mod shrink;
mod tree;
mod write;

use crate::Trouble;
use crate::bound::DropIn;
use anyhow::{Context, Result, ensure};
use reach::Reach;
use run::{Bench, Outcome, Verdict};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};
use std::{env, fs};
use tree::{Language, Program};

/// Shrinking one program takes no longer.
const SHRINKING: Duration = Duration::from_secs(120);

/// What is asked for.
#[derive(Debug)]
struct Contest {
    library: PathBuf,
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
struct Found {
    bodies: usize,
    programs: usize,
    unsteady: Vec<(u64, &'static str)>,
    differences: usize,
    reach: Reach,
}

pub(super) fn hold(options: &[&str]) -> Result<(), Trouble> {
    let contest = Contest::parse(options)?;
    let place = env::temp_dir().join(format!("foregather-openmp-random-{}", std::process::id()));
    let held = contest.run(&place);
    // What was built stays only if it could not be removed.
    let _ = fs::remove_dir_all(&place);
    Ok(held?)
}

impl Contest {
    fn parse(options: &[&str]) -> Result<Self, Trouble> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let mut contest = Self {
            library: PathBuf::new(),
            bodies: 1_000,
            seed: now.as_nanos() as u64 & 0xffff_ffff,
            languages: Language::ALL.to_vec(),
            jobs: 2,
            keep: env::temp_dir().join("openmp-random"),
            only: String::new(),
        };
        let mut words = options.iter();
        while let Some(option) = words.next() {
            let value = *words.next().ok_or_else(|| Trouble::Usage(format!("`{option}` needs a value")))?;
            let number = |least: u64| {
                value
                    .parse()
                    .ok()
                    .filter(|&n| n >= least)
                    .ok_or_else(|| Trouble::Usage(format!("invalid {option} `{value}`: expected a number from {least} on")))
            };
            match *option {
                "--bodies" => contest.bodies = number(1)? as usize,
                "--seed" => contest.seed = number(0)?,
                "--library" => contest.library = fs::canonicalize(value).with_context(|| value.to_owned())?,
                "--languages" => contest.languages = value.split(',').map(language).collect::<Result<_, _>>()?,
                "--jobs" => contest.jobs = number(1)? as usize,
                "--keep" => contest.keep = PathBuf::from(value),
                "--only" => contest.only = value.to_owned(),
                _ => return Err(Trouble::Usage(format!("`{option}` is none of its options"))),
            }
        }
        if contest.library.as_os_str().is_empty() {
            return Err(Trouble::Usage("it needs --library".to_owned()));
        }
        Ok(contest)
    }

    fn run(&self, place: &Path) -> Result<()> {
        let drop_in = DropIn::of(self.library.clone())?;
        run::prepare(place)?;
        println!("seed {}", self.seed);
        let (next, found) = (AtomicUsize::new(0), Mutex::new(Found::default()));
        let began = Instant::now();
        std::thread::scope(|scope| -> Result<()> {
            let job = |number: usize| {
                let bench = Bench { folder: place.join(number.to_string()), drop_in: &drop_in };
                fs::create_dir_all(&bench.folder)?;
                while found.lock().expect("no job panics").bodies < self.bodies {
                    self.one(&bench, place, self.seed.wrapping_add(next.fetch_add(1, Ordering::Relaxed) as u64), &found)?;
                }
                anyhow::Ok(())
            };
            let jobs: Vec<_> = (0..self.jobs).map(|number| scope.spawn(move || job(number))).collect();
            jobs.into_iter().try_for_each(|job| job.join().expect("no job panics"))
        })?;
        let found = found.into_inner().expect("no job panics");
        print!("{}", reach::table(&found.reach, drop_in.exported.iter().cloned()));
        let Found { bodies, programs, unsteady, differences, .. } = found;
        println!(
            "{bodies} bodies in {programs} programs, {:.0} s: {differences} programs differ, {} are unsteady on libgomp {unsteady:?}",
            began.elapsed().as_secs_f64(),
            unsteady.len()
        );
        ensure!(
            differences == 0,
            "{differences} programs do not do the same with {}; see {}",
            self.library.display(),
            self.keep.display()
        );
        Ok(())
    }

    /// Draws, compiles and judges the program of this seed.
    fn one(&self, bench: &Bench<'_>, shared: &Path, seed: u64, found: &Mutex<Found>) -> Result<()> {
        let is_wanted = |program: &Program| self.only.is_empty() || write::source(program).contains(&self.only);
        let program = draw::program(seed, &self.languages, is_wanted);
        if let Some(p) = env::var_os("DUMP") {
            fs::write(p, write::source(&program))?;
        }
        bench.build(&program, shared).with_context(|| format!("the program of seed {seed}"))?;
        let reach = reach::reached(&bench.program())?;
        let verdict = bench.judge(&program, 1)?;
        {
            let mut found = found.lock().expect("no job panics");
            found.programs += 1;
            found.bodies += program.bodies.len().max(1);
            for (entry, bodies) in reach {
                *found.reach.entry(entry).or_default() += bodies;
            }
            match &verdict {
                Verdict::Same => return Ok(()),
                Verdict::Unsteady(why) => found.unsteady.push((seed, why)),
                Verdict::Unbound | Verdict::Differs { .. } => found.differences += 1,
            }
        }
        match verdict {
            Verdict::Differs { theirs, ours } => self.report(bench, shared, seed, &program, &theirs, &ours),
            Verdict::Unbound => {
                println!("seed {seed}: the loader did not bind the program to {}", self.library.display());
                self.save(&program, seed, "unbound", &[])
            }
            _ => Ok(()),
        }
    }

    /// Shrinks a program that differs, and saves what is left.
    fn report(
        &self,
        bench: &Bench<'_>,
        shared: &Path,
        seed: u64,
        program: &Program,
        theirs: &Outcome,
        ours: &Outcome,
    ) -> Result<()> {
        println!("seed {seed} ({}): differs in bodies {:?}; shrinking", program.language.name(), run::differing(theirs, ours));
        let (began, mut last) = (Instant::now(), (theirs.clone(), ours.clone()));
        let smallest = shrink::shrink(program, |candidate| {
            if began.elapsed() > SHRINKING || bench.build(candidate, shared).is_err() {
                return false;
            }
            match bench.judge(candidate, 5) {
                Ok(Verdict::Differs { theirs, ours }) => {
                    last = (theirs, ours);
                    true
                }
                _ => false,
            }
        });
        self.save(&smallest, seed, "differs", &[("libgomp", &last.0), ("ours", &last.1)])
    }

    /// Writes a program with what there is to know about it at its top.
    fn save(&self, program: &Program, seed: u64, what: &str, outcomes: &[(&str, &Outcome)]) -> Result<()> {
        fs::create_dir_all(&self.keep)?;
        let (comment, ending) = match program.language {
            Language::C => ("//", "c"),
            Language::Cpp => ("//", "cpp"),
            Language::Fortran => ("!", "f90"),
        };
        let languages: Vec<&str> = self.languages.iter().map(|language| language.name()).collect();
        let only = if self.only.is_empty() { String::new() } else { format!(" --only '{}'", self.only) };
        let mut text = format!(
            "{comment} cargo xtask peers openmp-random --library {} --seed {seed} --bodies 1 --languages {}{only}\n",
            self.library.display(),
            languages.join(",")
        );
        for (name, value) in &program.environment {
            text += &format!("{comment} {name}={value}\n");
        }
        for (who, outcome) in outcomes {
            let lines = match outcome {
                Outcome::Hung => "hangs".to_owned(),
                Outcome::Ended { status, printed } => format!("{status}\n{printed}"),
            };
            lines.lines().for_each(|line| text += &format!("{comment} {who}: {line}\n"));
        }
        let path = self.keep.join(format!("{what}-{seed}.{ending}"));
        fs::write(&path, text + &write::source(program))?;
        println!("seed {seed}: see {}", path.display());
        Ok(())
    }
}

fn language(name: &str) -> Result<Language, Trouble> {
    let known = Language::ALL.into_iter().find(|language| language.name() == name);
    known.ok_or_else(|| Trouble::Usage(format!("invalid --languages `{name}`: expected c, c++ or fortran")))
}
