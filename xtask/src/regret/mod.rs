//! What a change did to the barrier matrix, row by row: one that helps some rows and breaks another must not pass for a gain.
//!
//! [`baseline`] is what is kept of a run, [`held`] one held against another.
mod baseline;
mod held;

use anyhow::{Context, Result, bail, ensure};
use baseline::Baseline;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

pub(crate) const HELP: &str = "\
cargo xtask regret BASELINE [NEW] [--repetitions R]
cargo xtask regret --store BASELINE RESULTS [--waiters A,B]

Regret is what a waiter loses to the best peer or fixed policy of a row: 1 less its share of that one's episodes. Prints the
rows in which it grew or shrank by more than noise: the median share by 15 % at least, and each median outside the other
run's quartiles. NEW is what `foregather measure barriers --output` wrote; without it the rows of the baseline are measured,
R (3) times. --store keeps what a baseline needs of such results: of the waiters named, or of all KIND/adaptive.
Exit codes: 0 no row is worse, 1 some row is, 2 wrong usage or unreadable files.";

/// Measured where nobody says how often.
const REPETITIONS: u32 = 3;

#[derive(Debug, PartialEq)]
enum Ask {
    Hold { baseline: PathBuf, new: Option<PathBuf>, repetitions: u32 },
    Store { baseline: PathBuf, results: PathBuf, waiters: Option<Vec<String>> },
}

impl Ask {
    fn parse(arguments: &[&str]) -> Option<Self> {
        let (mut files, mut waiters, mut repetitions, mut store) = (Vec::new(), None, None, false);
        let mut rest = arguments.iter();
        while let Some(&word) = rest.next() {
            match word {
                "--store" => store = true,
                "--waiters" => waiters = Some(rest.next()?.split(',').map(str::to_owned).collect()),
                "--repetitions" => repetitions = Some(rest.next()?.parse().ok().filter(|&count: &u32| count > 0)?),
                option if option.starts_with('-') => return None,
                file => files.push(PathBuf::from(file)),
            }
        }
        let mut files = files.into_iter();
        let (baseline, other) = (files.next()?, files.next());
        match (files.next(), store, repetitions, waiters, other) {
            (None, true, None, waiters, Some(results)) => Some(Self::Store { baseline, results, waiters }),
            (None, false, repetitions, None, new) => {
                Some(Self::Hold { baseline, new, repetitions: repetitions.unwrap_or(REPETITIONS) })
            }
            _ => None,
        }
    }
}

/// What follows `cargo xtask regret`.
pub(crate) fn run(arguments: &[&str]) -> ExitCode {
    let Some(ask) = Ask::parse(arguments) else {
        eprintln!("xtask regret: expected files and options as below, got `{}`\n\n{HELP}", arguments.join(" "));
        return ExitCode::from(2);
    };
    match answer(&ask) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask regret: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Is all well?
fn answer(ask: &Ask) -> Result<bool> {
    match ask {
        Ask::Store { baseline, results, waiters } => {
            let kept = read(results, waiters.as_deref())?;
            std::fs::write(baseline, kept.to_json()).with_context(|| format!("cannot write {}", baseline.display()))?;
            println!("{}: {} shares kept", baseline.display(), kept.rows.len());
            Ok(true)
        }
        Ask::Hold { baseline, new, repetitions } => {
            let before = read(baseline, None)?;
            let new = match new {
                Some(new) => new.clone(),
                None => measure(&before, *repetitions)?,
            };
            let waiters: Vec<String> = before.rows.iter().map(|row| row.waiter.clone()).collect();
            let after = read(&new, Some(&waiters))?;
            let held = held::hold(&before, &after);
            ensure!(held.common() > 0, "{} has no row of {}", new.display(), baseline.display());
            print!("{}", held.to_text());
            Ok(!held.is_worse())
        }
    }
}

fn read(path: &Path, waiters: Option<&[String]>) -> Result<Baseline> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    Baseline::parse(&text, waiters).with_context(|| path.display().to_string())
}

/// Measures the rows of a baseline with everything that is in its oracles; where the results are.
fn measure(before: &Baseline, repetitions: u32) -> Result<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask must lie in a workspace")?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |place| root.join(place));
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build.args(["build", "--profile", "dist", "--locked", "--package", "foregather-lab", "--package", "foregather-peers"]);
    ended(build.current_dir(root), "cargo build")?;
    let results = target.join("regret.results.json");
    let mut rows: Vec<&str> = before.rows.iter().map(|row| row.row.as_str()).collect();
    rows.dedup();
    let mut foregather = Command::new(target.join("dist/foregather"));
    foregather.args(["measure", "barriers", "--wide", "--rows", &rows.join(";"), "--repetitions", &repetitions.to_string()]);
    ended(foregather.arg("--output").arg(&results).stdout(Stdio::null()).current_dir(root), "foregather measure barriers")?;
    Ok(results)
}

fn ended(command: &mut Command, name: &str) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot run {name}"))?;
    if !status.success() {
        bail!("{name} failed: {status}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_options_come_in_any_order() {
        let hold = |new: Option<&str>, repetitions| Ask::Hold { baseline: "b".into(), new: new.map(PathBuf::from), repetitions };
        assert_eq!(Ask::parse(&["b"]), Some(hold(None, REPETITIONS)));
        assert_eq!(Ask::parse(&["--repetitions", "5", "b", "n"]), Some(hold(Some("n"), 5)));
        let store = Ask::Store { baseline: "b".into(), results: "r".into(), waiters: Some(vec!["x".into(), "y".into()]) };
        assert_eq!(Ask::parse(&["b", "--waiters", "x,y", "r", "--store"]), Some(store));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for wrong in [
            &[][..],
            &["a", "b", "c"],
            &["--store", "a"],
            &["a", "--repetitions", "0"],
            &["a", "--shop"],
            &["a", "--waiters", "x"],
        ] {
            assert_eq!(Ask::parse(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_baseline_that_ships_can_be_read_and_is_no_worse_than_itself() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../baselines");
        for file in std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()) {
            if file.extension().is_some_and(|end| end == "json") {
                assert!(std::fs::metadata(&file).unwrap().len() < 60_000, "{}", file.display());
                let baseline = read(&file, None).unwrap();
                assert!(!baseline.rows.is_empty() && !held::hold(&baseline, &baseline).is_worse());
            }
        }
    }
}
