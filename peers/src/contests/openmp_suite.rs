//! GCC's own tests of its OpenMP runtime, on that and on ours, without the harness that they were written
//! for.
//!
//! A case is compiled once and run twice. It passes if it ends well, or, where it says that it should fail,
//! does not. Of its directives those are understood that decide how it is built and run. With the preload
//! layer of `foregather advise` a case must also print the same and exit in the same way.
use super::trial::{self, CaseRun, LibraryUnderTest};
use super::{PeerError, support};
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{env, fs};

const FOLDERS: &str = "libgomp.c,libgomp.c-c++-common,libgomp.c++,libgomp.fortran,libgomp.graphite";

/// What is asked for.
struct ContestOptions {
    sources: PathBuf,
    library: LibraryUnderTest,
    cases: usize,
    limit: Duration,
    folders: Vec<String>,
    /// Cases whose names contain this.
    only: String,
}

/// A test of the suite, as its directives have it.
#[derive(Debug, Default, PartialEq)]
struct SuiteTest {
    folder: String,
    name: String,
    options: Vec<String>,
    /// More files that belong to it.
    files: Vec<String>,
    variables: Vec<(String, String)>,
    should_fail: bool,
    /// It is run, and not only compiled, and needs no device.
    runs: bool,
}

pub(super) fn hold(options: &[&str]) -> Result<(), PeerError> {
    let contest = ContestOptions::parse(options)?;
    let place = env::temp_dir().join(format!("foregather-openmp-suite-{}", std::process::id()));
    fs::create_dir_all(&place)?;
    let held = contest.run(&place);
    // What was built stays only if it could not be removed.
    let _ = fs::remove_dir_all(&place);
    Ok(held?)
}

impl ContestOptions {
    fn parse(options: &[&str]) -> Result<Self, PeerError> {
        let (mut sources, mut library, mut cases, mut limit, mut folders) = (None, None, usize::MAX, 10, FOLDERS);
        let mut only = "";
        for (option, value) in support::options(options)? {
            let number = || {
                value
                    .parse()
                    .ok()
                    .filter(|&n| n > 0)
                    .ok_or_else(|| PeerError::Usage(format!("{option} takes a number from 1 on")))
            };
            match option {
                "--sources" => sources = Some(fs::canonicalize(value).with_context(|| value.to_owned())?),
                "--library" | "--watch" => library = Some(LibraryUnderTest::of(option, value)?),
                "--cases" => cases = number()?,
                "--limit" => limit = number()? as u64,
                "--folders" => folders = value,
                "--only" => only = value,
                _ => return Err(PeerError::Usage(format!("`{option}` is none of its options"))),
            }
        }
        let (Some(sources), Some(library)) = (sources, library) else {
            return Err(PeerError::Usage("it needs --sources and either --library or --watch".to_owned()));
        };
        if !sources.join("libgomp.c").is_dir() {
            return Err(PeerError::Missing(format!(
                "no libgomp.c in {}: take libgomp/testsuite of GCC's sources",
                sources.display()
            )));
        }
        let folders = folders.split(',').map(str::to_owned).collect();
        Ok(Self { sources, library, cases, limit: Duration::from_secs(limit), folders, only: only.to_owned() })
    }

    fn run(&self, place: &Path) -> Result<()> {
        let mut cases = Vec::new();
        for folder in &self.folders {
            cases.extend(self.cases_of(folder)?.into_iter().filter(|case| case.runs && case.name.contains(&self.only)));
        }
        let every = cases.len().div_ceil(self.cases.min(cases.len()).max(1)).max(1);
        let (mut counts, mut worse, mut recorded) = (BTreeMap::<String, [usize; 4]>::new(), Vec::new(), 0);
        for case in cases.iter().step_by(every) {
            let counts = counts.entry(case.folder.clone()).or_default();
            counts[0] += 1;
            let Some(program) = self.build(case, place)? else { continue };
            if !self.library.serves(&program)? {
                continue;
            }
            counts[1] += 1;
            let (theirs, ours) = (self.try_one(case, &program, false)?, self.try_one(case, &program, true)?);
            counts[2] += usize::from(case.passes(&theirs));
            counts[3] += usize::from(case.passes(&ours));
            recorded += usize::from(ours.took_part);
            let why = match self.library.must_take_part() {
                true => verdict(case, &theirs, &ours),
                false => self.difference(case, &program, &theirs, &ours)?,
            };
            worse.extend(why.map(|why| format!("{}/{}: {why}", case.folder, case.name)));
            fs::remove_file(program)?;
        }
        println!("{:<22} {:>6} {:>6} {:>8} {:>6}", "folder", "cases", "served", "libgomp", "ours");
        for (folder, [all, served, theirs, ours]) in &counts {
            println!("{folder:<22} {all:>6} {served:>6} {theirs:>8} {ours:>6}");
        }
        ensure!(counts.values().any(|counts| counts[2] > 0), "no case passes even as it is");
        ensure!(worse.is_empty(), "worse with {}:\n  {}", self.library.path().display(), worse.join("\n  "));
        let served: usize = counts.values().map(|counts| counts[1]).sum();
        println!("{recorded} of {served} cases used the library");
        ensure!(recorded * 2 > served, "{} took part in {recorded} of {served} cases only", self.library.path().display());
        Ok(())
    }

    fn cases_of(&self, folder: &str) -> Result<Vec<SuiteTest>> {
        let root = self.sources.join(folder);
        let (mut folders, mut found) = (vec![root.clone()], Vec::new());
        while let Some(at) = folders.pop() {
            for entry in fs::read_dir(&at).with_context(|| at.display().to_string())? {
                let path = entry?.path();
                if path.is_dir() {
                    folders.push(path);
                } else if compiler(&path).is_some() {
                    let name = path.strip_prefix(&root)?.to_string_lossy().into_owned();
                    found.push(SuiteTest {
                        folder: folder.to_owned(),
                        name,
                        ..SuiteTest::of(&String::from_utf8_lossy(&fs::read(&path)?))
                    });
                }
            }
        }
        found.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    }

    /// The case as a program; `None` if it cannot be built here.
    fn build(&self, case: &SuiteTest, place: &Path) -> Result<Option<PathBuf>> {
        let source = self.sources.join(&case.folder).join(&case.name);
        let (program, beside) = (place.join("case"), source.parent().context("a file of the suite")?);
        let compiler = compiler(&source).context("a source")?;
        let mut build = Command::new(compiler);
        build.args(["-fopenmp", "-w", "-o"]).arg(&program).arg(&source).args(case.files.iter().map(|file| beside.join(file)));
        build.args(&case.options).arg("-I").arg(self.sources.join("..")).arg("-lm").current_dir(place);
        let built = build
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .with_context(|| format!("{compiler} cannot be started"))?;
        Ok(built.success().then_some(program))
    }

    fn try_one(&self, case: &SuiteTest, program: &Path, ours: bool) -> Result<CaseRun> {
        let folder = program.parent().context("a program in a folder")?;
        let mut run = Command::new(program);
        run.envs(case.variables.iter().cloned());
        trial::run(&mut run, folder, ours.then_some(&self.library), self.limit)
    }

    /// What the preload layer changes. Some cases differ from themselves without it, too: what these print is
    /// not compared.
    fn difference(&self, case: &SuiteTest, program: &Path, theirs: &CaseRun, ours: &CaseRun) -> Result<Option<String>> {
        if is_same(theirs, ours) {
            return Ok(None);
        }
        let mut prints_the_same = case.name != UNDEFINED;
        for _ in 0..AGAIN {
            let again = self.try_one(case, program, false)?;
            if is_same(&again, ours) {
                return Ok(None);
            }
            prints_the_same &= again.printed == theirs.printed;
        }
        if !prints_the_same && theirs.end == ours.end && !is_slower(theirs, ours) {
            return Ok(None);
        }
        let shown = |run: &CaseRun| {
            let end = run.end.map_or_else(|| "no end".to_owned(), |end| end.to_string());
            format!("{end} after {:.1} s and {} bytes", run.took.as_secs_f64(), run.printed.len())
        };
        Ok(Some(format!("{} without it, {} with it", shown(theirs), shown(ours))))
    }
}

/// A case that prints variables without a value.
const UNDEFINED: &str = "appendix-a/a.28.3.f90";
/// How often a case that differs is run once more as it is.
const AGAIN: usize = 5;
/// Runs shorter than this are not compared.
const SHORT: Duration = Duration::from_millis(500);

/// Whether both runs printed the same and ended in the same way, the second not much later.
fn is_same(theirs: &CaseRun, ours: &CaseRun) -> bool {
    (theirs.end, &theirs.printed) == (ours.end, &ours.printed) && !is_slower(theirs, ours)
}

fn is_slower(theirs: &CaseRun, ours: &CaseRun) -> bool {
    ours.took > SHORT && ours.took > theirs.took * 10
}

/// What is worse with our runtime than without.
fn verdict(case: &SuiteTest, theirs: &CaseRun, ours: &CaseRun) -> Option<String> {
    if !ours.took_part {
        return Some("the loader did not bind its symbols to the library under test".to_owned());
    }
    if case.passes(theirs) && !case.passes(ours) {
        return Some(format!("passes without it, and fails with it after {:.1} s", ours.took.as_secs_f64()));
    }
    let slow = case.passes(theirs) && is_slower(theirs, ours);
    slow.then(|| format!("takes {:.1} s, and {:.1} s without it", ours.took.as_secs_f64(), theirs.took.as_secs_f64()))
}

fn compiler(source: &Path) -> Option<&'static str> {
    match source.extension()?.to_str()? {
        "c" => Some("gcc"),
        "C" => Some("g++"),
        "f" | "f90" | "F90" | "f95" | "f03" | "F03" => Some("gfortran"),
        _ => None,
    }
}

impl SuiteTest {
    fn passes(&self, trial: &CaseRun) -> bool {
        trial.end.is_some_and(|end| end.success() != self.should_fail)
    }

    /// What the directives of a source say.
    fn of(text: &str) -> Self {
        let mut case = Self { options: vec!["-O2".to_owned()], runs: true, ..Self::default() };
        for line in text.lines() {
            let Some((_, rest)) = line.split_once("{ dg-") else { continue };
            let Some((verb, rest)) = rest.split_once(char::is_whitespace) else { continue };
            let rest = rest.rsplit_once('}').map_or(rest, |(rest, _)| rest).trim();
            if case.obey(verb, rest).is_err() {
                case.runs = false;
            }
        }
        case
    }

    /// An error: the case is of no use here.
    fn obey(&mut self, verb: &str, rest: &str) -> Result<()> {
        // Some hold on other machines only.
        let elsewhere = rest.split_once("{ target ").is_some_and(|(_, target)| !HERE.iter().any(|here| target.starts_with(here)));
        let words = |text: &str| first(text).split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        match verb {
            "do" if first(rest) != "run" => bail!("compiled only"),
            "options" if !elsewhere => self.options = words(rest),
            "additional-options" if !elsewhere => self.options.extend(words(rest)),
            "additional-sources" => self.files.extend(words(rest)),
            "set-target-env-var" => {
                let (name, value) = rest.split_once(char::is_whitespace).context("a name and a value")?;
                self.variables.push((name.to_owned(), first(value).to_owned()));
            }
            "shouldfail" => self.should_fail = true,
            "require-effective-target" if ["offload", "nvptx", "gcn", "cuda"].iter().any(|device| rest.contains(device)) => {
                bail!("needs a device")
            }
            _ => {}
        }
        Ok(())
    }
}

/// What conditions may name to hold here.
const HERE: [&str; 11] = ["x86_64", "{", "i?86", "*-*-*", "lp64", "pthread", "linux", "tls", "vect", "sse", "avx"];

/// The first argument of a directive, in quotes, braces, or neither.
fn first(text: &str) -> &str {
    let text = text.trim_start();
    let quoted = |text: &str, end: char| text.find(end).map(|at| at..);
    match text.chars().next() {
        Some('"') => &text[1..quoted(&text[1..], '"').map_or(text.len(), |at| at.start + 1)],
        Some('{') => text[1..quoted(&text[1..], '}').map_or(text.len(), |at| at.start + 1)].trim().trim_matches('"'),
        _ => text.split_whitespace().next().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    #[test]
    fn directives_say_how_a_case_is_built_and_run() {
        let case = SuiteTest::of(
            "/* { dg-do run } */\n/* { dg-options \"-O3 -g\" } */\n/* { dg-additional-options \"-mavx\" { target avx } } */\n\
             /* { dg-additional-options \"-mfar\" { target sparc*-*-* } } */\n! { dg-set-target-env-var OMP_CANCELLATION \"true\" }\n\
             // { dg-additional-sources a.c }\n/* { dg-shouldfail \"stops\" } */\n",
        );
        let expected = SuiteTest {
            options: ["-O3", "-g", "-mavx"].map(str::to_owned).to_vec(),
            files: vec!["a.c".to_owned()],
            variables: vec![("OMP_CANCELLATION".to_owned(), "true".to_owned())],
            should_fail: true,
            runs: true,
            ..SuiteTest::default()
        };
        assert_eq!(case, expected);
        assert!(
            !SuiteTest::of("/* { dg-do compile } */").runs
                && !SuiteTest::of("/* { dg-require-effective-target offload_device } */").runs
        );
        assert!(SuiteTest::of("int main() {}").runs);
    }

    fn run_of(code: i32, ms: u64, printed: &str, took_part: bool) -> CaseRun {
        let end = Some(ExitStatus::from_raw(code << 8));
        CaseRun { end, printed: printed.into(), took: Duration::from_millis(ms), took_part }
    }

    #[test]
    fn a_case_on_another_library_is_worse() {
        let verdict = |theirs, ours| verdict(&SuiteTest::default(), &theirs, &ours);
        let plain = |code| run_of(code, 100, "", false);
        assert_eq!(verdict(plain(0), run_of(0, 600, "", true)), None);
        assert!(verdict(plain(0), plain(0)).unwrap().contains("bind"));
        assert!(verdict(plain(0), run_of(1, 100, "", true)).unwrap().contains("fails with it"));
        assert!(verdict(plain(0), run_of(0, 2_000, "", true)).unwrap().contains("takes 2.0 s"));
        assert_eq!(verdict(plain(1), run_of(2, 100, "", true)), None, "no worse than it was");
    }

    #[test]
    fn runs_that_print_or_exit_otherwise_differ() {
        let theirs = run_of(3, 100, "a", false);
        assert!(is_same(&theirs, &run_of(3, 600, "a", true)));
        for other in [run_of(4, 100, "a", true), run_of(3, 100, "b", true), run_of(3, 2_000, "a", true)] {
            assert!(!is_same(&theirs, &other), "{other:?}");
        }
        assert!(!is_same(&theirs, &CaseRun { end: None, ..theirs.clone() }));
    }
}
