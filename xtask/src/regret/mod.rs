//! What a change did to the barrier matrix, row by row: one that helps some rows and breaks another must not
//! pass for a gain.
//!
//! [`baseline`] is what is kept of a run.
mod baseline;

use crate::ChoreError;
use anyhow::{Context, Result, bail, ensure};
use baseline::{Baseline, Row};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub(crate) const HELP: &str = "\
cargo xtask regret BASELINE [NEW] [--repetitions R]
cargo xtask regret --store BASELINE RESULTS [--waiters A,B]

Regret is what a waiter loses to the best peer or fixed policy of a row: 1 less its share of that one's episodes. Prints the
rows in which it grew or shrank by more than noise: the median share by 15 % at least, and each median outside the other
run's quartiles. NEW is what `foregather measure barriers --output` wrote; without it the rows of the baseline are measured,
R (3) times. --store keeps what a baseline needs of such results: of the waiters named, or of all KIND/adaptive.
Exit codes: 0 no row is worse, 1 some row is, 2 wrong usage or unreadable files.";

/// How often rows are measured, if nothing is said.
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
pub(crate) fn run(arguments: &[&str]) -> Result<bool, ChoreError> {
    let usage = || ChoreError::Usage(format!("expected files and options as below, got `{}`", arguments.join(" ")));
    Ok(answer(&Ask::parse(arguments).ok_or_else(usage)?)?)
}

/// Returns whether all is well.
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
            let held = hold(&before, &after);
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

/// A share that fell by less is no news, however little it varies.
const LEAST: f64 = 0.15;

/// What became of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowChange {
    Same,
    Better,
    Worse,
}

/// Both runs.
struct RegretComparison<'a> {
    rows: Vec<(RowChange, &'a Row, &'a Row)>,
    missing: Vec<&'a Row>,
    warnings: Vec<String>,
}

/// Holds a run against the one before.
fn hold<'a>(before: &'a Baseline, after: &'a Baseline) -> RegretComparison<'a> {
    let mut held = RegretComparison { rows: Vec::new(), missing: Vec::new(), warnings: warnings(before, after) };
    for old in &before.rows {
        match after.find(old) {
            Some(new) => held.rows.push((mark(old, new), old, new)),
            None => held.missing.push(old),
        }
    }
    held
}

fn mark(old: &Row, new: &Row) -> RowChange {
    match (is_lower(new, old), is_lower(old, new)) {
        (true, _) => RowChange::Worse,
        (_, true) => RowChange::Better,
        _ => RowChange::Same,
    }
}

/// By more than noise: many rows have two modes, and then a median says little without its quartiles.
fn is_lower(a: &Row, b: &Row) -> bool {
    a.median < b.median * (1.0 - LEAST) && a.median < b.low && a.high < b.median
}

fn warnings(before: &Baseline, after: &Baseline) -> Vec<String> {
    let told = |name: &str, old: &Option<String>, new: &Option<String>| {
        let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".to_owned());
        (old != new).then(|| format!("warning: another machine: {name} {} before, {} now", shown(old), shown(new)))
    };
    let (old, new) = (&before.machine, &after.machine);
    let quota = |quota: Option<f64>| quota.map(|cpus| format!("{cpus} cpus"));
    let all = [
        told("processor", &old.cpu, &new.cpu),
        told("cpus", &Some(old.cpus_allowed.clone()), &Some(new.cpus_allowed.clone())),
        told("quota", &quota(old.quota_cpus), &quota(new.quota_cpus)),
        told("hypervisor", &old.hypervisor, &new.hypervisor),
        told("kernel", &old.kernel, &new.kernel),
    ];
    all.into_iter().flatten().collect()
}

impl RegretComparison<'_> {
    /// How many rows both have.
    pub(super) fn common(&self) -> usize {
        self.rows.len()
    }

    /// Returns whether any row became worse.
    pub(super) fn is_worse(&self) -> bool {
        self.rows.iter().any(|(mark, ..)| *mark == RowChange::Worse)
    }

    /// The rows that changed, those that are missing, and every waiter over the rows that both have.
    pub(super) fn to_text(&self) -> String {
        let mut lines = self.warnings.clone();
        for (wanted, word) in [(RowChange::Worse, "worse"), (RowChange::Better, "better")] {
            lines.extend(self.rows.iter().filter(|(mark, ..)| *mark == wanted).map(|(_, old, new)| changed(word, old, new)));
        }
        lines.extend(self.missing.iter().map(|row| format!("missing  {}, {}", row.waiter, row.row)));
        let mut by_waiter: BTreeMap<&str, Vec<(&Row, &Row)>> = BTreeMap::new();
        self.rows.iter().for_each(|(_, old, new)| by_waiter.entry(&old.waiter).or_default().push((old, new)));
        lines.extend(by_waiter.iter().map(|(waiter, rows)| overall(waiter, rows)));
        lines.join("\n") + "\n"
    }
}

fn changed(word: &str, old: &Row, new: &Row) -> String {
    let regret = |row: &Row| 1.0 - row.median;
    let share = |row: &Row| format!("{:.3} [{:.3}, {:.3}]", row.median, row.low, row.high);
    let (before, after) = (regret(old), regret(new));
    format!("{word:<7}  {}, {}: regret {before:.2} -> {after:.2}; share {} -> {}", old.waiter, old.row, share(old), share(new))
}

/// A waiter over the rows that both runs have.
fn overall(waiter: &str, rows: &[(&Row, &Row)]) -> String {
    let (old, new): (Vec<&Row>, Vec<&Row>) = rows.iter().copied().unzip();
    let told = |run: &[&Row]| {
        let mean = (run.iter().map(|row| row.median.ln()).sum::<f64>() / run.len() as f64).exp();
        let worst = run.iter().min_by(|a, b| a.median.total_cmp(&b.median));
        (mean, worst.map_or_else(String::new, |row| format!("{:.3} ({})", row.median, row.row)))
    };
    let cpu = |run: &[&Row]| {
        let most = run.iter().filter_map(|row| row.cpu_over_oracle).reduce(f64::max);
        most.map_or_else(|| "-".to_owned(), |most| format!("{most:.2}"))
    };
    let (before, after, cpus) = (told(&old), told(&new), (cpu(&old), cpu(&new)));
    format!(
        "{waiter}: {} rows, geometric mean {:.3} -> {:.3}, worst {} -> {}, most processor time {} -> {} of the oracle's",
        rows.len(),
        before.0,
        after.0,
        before.1,
        after.1,
        cpus.0,
        cpus.1
    )
}

#[cfg(test)]
mod tests {
    use super::baseline::tests::of;
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
                assert!(!baseline.rows.is_empty() && !hold(&baseline, &baseline).is_worse());
            }
        }
    }

    #[test]
    fn better_worse_and_missing_rows_are_told_apart() {
        let before = of(&[("a", [0.9, 1.0, 1.1]), ("b", [0.4, 0.5, 0.6]), ("c", [1.0, 1.0, 1.0]), ("d", [0.9, 0.95, 1.0])]);
        let after = of(&[("a", [0.5, 0.6, 0.7]), ("b", [0.8, 0.9, 1.0]), ("d", [0.9, 0.93, 0.99]), ("e", [0.1, 0.1, 0.1])]);
        let held = hold(&before, &after);
        let marks: Vec<_> = held.rows.iter().map(|(mark, old, _)| (*mark, old.row.as_str())).collect();
        assert_eq!(marks, [(RowChange::Worse, "a"), (RowChange::Better, "b"), (RowChange::Same, "d")]);
        assert!(held.is_worse() && held.common() == 3);
        let text = held.to_text();
        for line in [
            "worse    central/adaptive, a: regret 0.00 -> 0.40; share 1.000 [0.900, 1.100] -> 0.600 [0.500, 0.700]",
            "better   central/adaptive, b: regret 0.50 -> 0.10; share 0.500 [0.400, 0.600] -> 0.900 [0.800, 1.000]",
            "missing  central/adaptive, c",
        ] {
            assert!(text.lines().any(|told| told == line), "no `{line}` in {text}");
        }
        assert!(text.contains("3 rows, geometric mean 0.780 -> 0.795, worst 0.500 (b) -> 0.600 (a)"), "{text}");
    }

    #[test]
    fn what_lies_within_the_spread_is_noise_and_so_are_fifteen_percent() {
        let worse = |old, new| hold(&of(&[("a", old)]), &of(&[("a", new)])).is_worse();
        assert!(!worse([0.5, 1.0, 1.1], [0.5, 0.6, 0.9]), "the old run was that slow at times");
        assert!(!worse([0.9, 1.0, 1.1], [0.5, 0.6, 1.05]), "the new run is that fast at times");
        assert!(!worse([1.0, 1.0, 1.0], [0.86, 0.86, 0.86]));
        assert!(worse([1.0, 1.0, 1.0], [0.84, 0.84, 0.84]));
    }

    #[test]
    fn another_machine_is_warned_of() {
        let before = of(&[("a", [1.0; 3])]);
        let mut after = before.clone();
        assert_eq!(hold(&before, &after).warnings, [""; 0]);
        after.machine.cpu = Some("Z80".to_owned());
        assert!(hold(&before, &after).to_text().starts_with("warning: another machine: processor unknown before, Z80 now\n"));
    }
}
