//! Whole programs that use OpenMP, by this project's runtime and by others, in turn, beside busy processes.
//!
//! The runtime is preloaded, so the program is the same file each time; GNU's as it comes is whatever the
//! program has.
use crate::cells::library;
use crate::matrix::{BackgroundOfRow, CellLoop, Runs, TurnOrder};
use crate::options::{ProgramName, ProgramsOptions};
use crate::team_rows::{or, with_regrets};
use crate::{Experiment, Measured, peers};
use anyhow::{Context, Result, bail, ensure};
use foregather_host::child::Child;
use foregather_host::interrupt;
use foregather_machine::Nanos;
use foregather_results::ids::PROGRAMS;
use foregather_results::number::digits;
use foregather_results::table::Shows::{By, Count, Figure, Label, Median};
use foregather_results::table::{Heading, ResultTable};
use foregather_results::{Distribution, Measurement, Results};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const HGB: &str = include_str!("hgb.py");
const THREADS: [u32; 4] = [2, 3, 4, 8];
const HOGS: [u32; 3] = [0, 1, 2];
/// How long an interpreter may take to load packages.
const LOADS: Nanos = Nanos::from_ms(60_000);
/// Variables that begin so change what OpenMP runtimes do; a column has its own.
const FOREIGN: [&str; 5] = ["OMP_", "GOMP_", "KMP_", "FOREGATHER_WAIT", "LD_PRELOAD"];
const COLUMNS: [Heading; 8] = [
    ("row", Label("row")),
    ("runtime", Label("runner")),
    ("n", Count),
    ("s", Median),
    ("from - to", By(range)),
    ("regret", Figure("regret")),
    ("cpu s", Figure("cpu_s")),
    ("cut off", Figure("collapsed")),
];

/// One column: a runtime, how it is put under the program, and how it is set.
#[derive(Clone, Debug, PartialEq)]
struct RuntimeColumn {
    name: String,
    env: Vec<(&'static str, String)>,
}

/// What a run of the program prints.
#[derive(Clone, Copy, Debug, Deserialize)]
struct Printed {
    seconds: f64,
    cpu_seconds: f64,
}

/// The least and the greatest value.
fn range(m: &Measurement) -> String {
    let ends = m.summary.min.zip(m.summary.max);
    ends.map_or_else(|| "-".to_owned(), |(least, most)| format!("{} - {}", digits(least, 3), digits(most, 3)))
}

#[derive(Clone, Copy)]
struct Row {
    threads: u32,
    hogs: u32,
}

impl Experiment for ProgramsOptions {
    fn measure(&self, quiet: bool) -> Result<Measured> {
        let ProgramName::Hgb = self.program;
        check_python(&self.python, "sklearn", "scikit-learn")?;
        let mut notes = vec![];
        let columns = columns(self, &mut notes)?;
        let rows: Vec<Row> = rows(self);
        let mut matrix =
            CellLoop::new("programs", rows.len() * columns.len(), self.repetitions, TurnOrder::Random(self.seed), quiet);
        for row in rows {
            let name = |column: &RuntimeColumn| format!("{}: {}", row.name(), column.name);
            let beside = BackgroundOfRow { hogs: row.hogs, ..BackgroundOfRow::default() };
            let limit = Nanos::from_ms(1_000 * u64::from(self.limit));
            let runs = matrix.row(beside, &columns, name, |column, _| run(&self.python, column, row.threads, limit))?;
            let measured = columns.iter().zip(&runs).map(|(column, runs)| one(row, column, runs, self.limit));
            matrix.found.measurements.extend(with_regrets(measured.collect()));
        }
        matrix.found.notes.splice(0..0, notes);
        matrix.end()
    }

    fn text(&self, results: &Results) -> String {
        ResultTable::of(&COLUMNS, results.measurements.iter().filter(|m| m.id.starts_with(PROGRAMS))).to_text()
    }
}

impl Row {
    fn name(self) -> String {
        format!("hgb, {}t, {} hogs", self.threads, self.hogs)
    }
}

fn rows(options: &ProgramsOptions) -> Vec<Row> {
    let (threads, hogs) = (or(&options.threads, &THREADS), or(&options.hogs, &HOGS));
    threads.iter().flat_map(|&threads| hogs.iter().map(move |&hogs| Row { threads, hogs })).collect()
}

/// Refuses an interpreter without the package.
fn check_python(python: &Path, module: &str, package: &str) -> Result<()> {
    let mut command = Command::new(python);
    command.args(["-c", &format!("import {module}")]);
    let shown = python.display();
    let run = output(command, LOADS);
    let output = run.with_context(|| format!("--python {shown} cannot be run; name a Python that has {package}"))?;
    ensure!(
        output.status.success(),
        "--python {shown} cannot import {module} ({}); install it there (`{shown} -m pip install {package}`), or name a Python \
         that has {package} by --python",
        complaint(&output)
    );
    Ok(())
}

fn output(mut command: Command, limit: Nanos) -> Result<Output> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Ok(Child::spawn(command, &[])?.output_within(limit)?)
}

/// The last line of what a program complains of.
fn complaint(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("no complaint").trim().to_owned()
}

/// All columns that are here, ours first.
fn columns(options: &ProgramsOptions, notes: &mut Vec<String>) -> Result<Vec<RuntimeColumn>> {
    let column = |name: &str, preload: Option<&Path>, more: Option<(&'static str, &str)>| {
        let preload = preload.map(|path| ("LD_PRELOAD", path.display().to_string()));
        let more = more.map(|(name, value)| (name, value.to_owned()));
        RuntimeColumn { name: name.to_owned(), env: preload.into_iter().chain(more).collect() }
    };
    let whole = |path: &PathBuf, option: &str| {
        path.canonicalize().with_context(|| format!("{option}: {} cannot be found", path.display()))
    };
    let named = options.library.as_ref().map(|path| whole(path, "--library")).transpose()?;
    let found = named.or_else(|| peers::own_runtime()?.canonicalize().ok());
    let ours =
        found.context("our OpenMP runtime is not here; build it by `cargo xtask drop-in libgomp`, or name it by --library")?;
    let ours = Some(ours.as_path());
    let passive = Some(("OMP_WAIT_POLICY", "passive"));
    let mut all = vec![
        column("foregather", ours, None),
        column("foregather-block", ours, Some(("FOREGATHER_WAIT", "block"))),
        column("foregather-spin", ours, Some(("FOREGATHER_WAIT", "spin"))),
        column("gomp", None, None),
        column("gomp-passive", None, passive),
    ];
    if let Some(old) = &options.old {
        all.push(column("old", Some(&whole(old, "--old")?), None));
    }
    match library(&["libomp.so.5", "libomp.so"]) {
        Some(omp) => {
            let omp = Some(Path::new(&omp));
            all.extend([column("omp", omp, None), column("omp-passive", omp, passive)]);
        }
        None => notes.push("no omp, omp-passive: install LLVM's OpenMP runtime (Debian: libomp5)".to_owned()),
    }
    if let Some(wanted) = &options.columns {
        if let Some(name) = wanted.iter().find(|name| all.iter().all(|column| column.name != **name)) {
            let names: Vec<&str> = all.iter().map(|column| column.name.as_str()).collect();
            bail!("--columns: `{name}` is no column; there are {}", names.join(", "));
        }
        all.retain(|column| wanted.contains(&column.name));
    }
    Ok(all)
}

/// Runs the program once; `None` if it took too long.
fn run(python: &Path, column: &RuntimeColumn, threads: u32, limit: Nanos) -> Result<Option<Printed>> {
    let mut command = Command::new(python);
    let foreign = std::env::vars_os().map(|(name, _)| name);
    let foreign = foreign.filter(|name| name.to_str().is_some_and(|name| FOREIGN.iter().any(|start| name.starts_with(start))));
    for name in foreign {
        command.env_remove(name);
    }
    command.args(["-c", HGB]).env("OMP_NUM_THREADS", threads.to_string()).envs(column.env.iter().cloned());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = Child::spawn(command, &[])?;
    let output = match child.output_within(limit) {
        Ok(output) => output,
        Err(_) if !interrupt::requested() => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    ensure!(output.status.success(), "the program failed ({}): {}", output.status, complaint(&output));
    let line = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&line).map(Some).with_context(|| format!("the program printed `{line:.200}`"))
}

/// A run that was cut off counts with its limit: it would have taken longer.
fn one(row: Row, column: &RuntimeColumn, runs: &Runs<Printed>, limit_s: u32) -> Measurement {
    let cut = (0..runs.collapsed).map(|_| f64::from(limit_s));
    let seconds = runs.results.iter().map(|run| run.seconds).chain(cut).collect();
    let id = format!("{PROGRAMS}hgb/{}t/{}h/{}", row.threads, row.hogs, column.name);
    Measurement::from_values(id, "histogram gradient boosting of 5,000 points, 60 rounds", "s", seconds)
        .label("program", "hgb")
        .label("row", row.name())
        .label("threads", row.threads.to_string())
        .label("hogs", row.hogs.to_string())
        .label("runner", column.name.as_str())
        .figure("cpu_s", Distribution::quantile_of(runs.results.iter().map(|run| run.cpu_seconds), 0.5))
        .figure("collapsed", f64::from(runs.collapsed))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> ProgramsOptions {
        ProgramsOptions {
            program: ProgramName::Hgb,
            python: "python3".into(),
            threads: vec![],
            hogs: vec![],
            repetitions: 1,
            limit: 15,
            library: Some("/proc/self/exe".into()),
            old: Some("/proc/self/exe".into()),
            columns: None,
            seed: 1,
        }
    }

    #[test]
    fn rows_are_all_teams_beside_all_hogs() {
        assert_eq!(rows(&options()).len(), 12);
        let few = rows(&ProgramsOptions { threads: vec![5], hogs: vec![0, 1], ..options() });
        assert_eq!(few.iter().map(|row| row.name()).collect::<Vec<_>>(), ["hgb, 5t, 0 hogs", "hgb, 5t, 1 hogs"]);
    }

    #[test]
    fn each_column_has_its_runtime_and_its_setting() {
        let all = columns(&options(), &mut vec![]).unwrap();
        let named = |name: &str| all.iter().find(|column| column.name == name).unwrap();
        assert_eq!((all[0].name.as_str(), named("gomp").env.len()), ("foregather", 0));
        assert_eq!(named("gomp-passive").env, [("OMP_WAIT_POLICY", "passive".to_owned())]);
        let block = &named("foregather-block").env;
        assert!(block[0].0 == "LD_PRELOAD" && block[1] == ("FOREGATHER_WAIT", "block".to_owned()), "{block:?}");
        let some = ProgramsOptions { columns: Some(vec!["old".to_owned()]), ..options() };
        assert_eq!(columns(&some, &mut vec![]).unwrap().len(), 1);
        let none = ProgramsOptions { columns: Some(vec!["gmop".to_owned()]), ..options() };
        assert!(columns(&none, &mut vec![]).unwrap_err().to_string().contains("`gmop` is no column; there are foregather,"));
        let lost = ProgramsOptions { old: Some("/no/such.so".into()), ..options() };
        assert!(columns(&lost, &mut vec![]).unwrap_err().to_string().contains("--old: /no/such.so"));
    }

    #[test]
    fn an_interpreter_without_the_package_is_named_with_the_remedy() {
        let error =
            |python: &str| format!("{:#}", check_python(Path::new(python), "no_such_module", "some-package").unwrap_err());
        assert!(error("/no/such/python").contains("--python /no/such/python cannot be run; name a Python that has some-package"));
        let without = error("false");
        assert!(without.contains("cannot import no_such_module (no complaint)") && without.contains("some-package by --python"));
    }

    #[test]
    fn a_run_that_was_cut_off_counts_with_its_limit() {
        let run = |seconds| Printed { seconds, cpu_seconds: 2.0 * seconds };
        let (row, column) = (Row { threads: 4, hogs: 1 }, RuntimeColumn { name: "gomp".to_owned(), env: vec![] });
        let m = one(row, &column, &Runs { results: vec![run(1.0), run(3.0)], collapsed: 1 }, 15);
        assert_eq!((m.id.as_str(), m.median(), m.summary.max), ("programs/hgb/4t/1h/gomp", 3.0, Some(15.0)));
        assert_eq!((m.number("cpu_s"), m.number("collapsed")), (4.0, 1.0));
    }
}
