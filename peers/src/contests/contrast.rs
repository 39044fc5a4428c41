//! What `foregather measure` says of ours and of others, as ratios in one table: small calls of a BLAS, fork
//! and join, constructs of OpenMP.
//!
//! It measures all of them in turn within a row; here are the libraries that it does not find without help,
//! and the rounds.
use super::support::{self, built, number, output_within, unknown};
use crate::PeerError;
use anyhow::{Context, Result, ensure};
use foregather_machine::Nanos;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Stdio};

pub(super) const OURS: [&str; 6] = ["build", "--profile", "dist", "--message-format=json", "--package", "foregather-lab"];
const PEERS: [&str; 10] = [
    "build",
    "--profile",
    "dist",
    "--message-format=json",
    "--package",
    "foregather-peers",
    "--bin",
    "foregather-peers",
    "--features",
    "fork-union",
];
/// Debian has this one as an archive.
const LIBXSMM: [&str; 3] = ["libxsmm.a", "libxsmmnoblas.a", "/usr/lib"];
const LIMIT: Nanos = Nanos::from_ms(1_800_000);

/// What is compared, and how it is read.
struct ComparedVerb {
    /// What follows `foregather measure`.
    verb: &'static str,
    fixed: &'static [&'static str],
    /// Options that are handed on, and what they are if they are not given.
    options: &'static [(&'static str, &'static str)],
    ours: &'static str,
    /// One of ours that is another thing only with more threads.
    not: &'static str,
    /// The figure of a measurement, in microseconds.
    figure: &'static str,
}

const SUBJECTS: [(&str, ComparedVerb); 3] = [
    (
        "blas",
        ComparedVerb {
            verb: "blas",
            fixed: &["--only", "sizes", "--threads", "1"],
            options: &[
                ("--sizes", "2,4,8,16,32,64"),
                ("--routines", "ddot,daxpy,dgemv,dgemm,dsymv,dsymm,dsyrk,dtrmm,dtrsm"),
                ("--runners", ""),
                ("--ms", "10"),
            ],
            ours: "foregather",
            not: "foregather-always",
            // Both sides of a pair have one thread; this is the side that a program calls.
            figure: "p50",
        },
    ),
    (
        "teams",
        ComparedVerb {
            verb: "teams",
            fixed: &["--repetitions", "1"],
            options: &[("--threads", "2,4,8"), ("--runners", ""), ("--ms", "200")],
            ours: "team",
            not: "",
            figure: "p50",
        },
    ),
    (
        "openmp",
        ComparedVerb {
            verb: "openmp",
            fixed: &["--repetitions", "1"],
            options: &[("--threads", "2,4,8"), ("--runners", ""), ("--ms", "100")],
            ours: "foregather",
            not: "",
            figure: "p50",
        },
    ),
];

/// The whole comparison, printed.
pub(super) fn hold(name: &str, arguments: &[&str]) -> Result<(), PeerError> {
    let Some((_, subject)) = SUBJECTS.iter().find(|(known, _)| *known == name) else {
        return Err(PeerError::Usage(format!(
            "expected what to compare: simgrid, messages, blas, teams or openmp, not `{name}`"
        )));
    };
    let (mut rounds, mut options) = (3_u32, BTreeMap::from_iter(subject.options.iter().copied()));
    for (name, value) in support::options(arguments)? {
        match name {
            "--rounds" => rounds = number(name, value)?,
            name if options.contains_key(name) => drop(options.insert(name, value)),
            _ => return unknown(name),
        }
    }
    let (ours, peers) = (built(&OURS)?, built(&PEERS)?);
    let beside = peers.parent().context("a program lies in a folder")?;
    if name == "blas"
        && let Err(what) = shared_libxsmm(beside)
    {
        eprintln!("left out: libxsmm: {what:#}");
    }
    let mut found = BTreeMap::new();
    for round in 0..rounds.max(1) {
        let mut command = Command::new(&ours);
        command.args(["--quiet", "measure", subject.verb, "--format", "json", "--seed", &(round + 1).to_string()]);
        command
            .args(subject.fixed)
            .args(options.iter().filter(|(_, value)| !value.is_empty()).flat_map(|(name, value)| [name, value]));
        let libraries = std::env::var("LD_LIBRARY_PATH").into_iter().chain([beside.display().to_string()]);
        command.env("LD_LIBRARY_PATH", libraries.collect::<Vec<_>>().join(":")).env("FOREGATHER_PEERS", &peers);
        command.stderr(Stdio::null());
        read(&output_within(command, LIMIT)?, subject, &mut found)?;
    }
    print!("{}", table(subject, &found));
    Ok(())
}

/// Makes a shared library of Debian's archive, as a program of ours links with no library of peers.
fn shared_libxsmm(folder: &Path) -> Result<()> {
    let [library, without_blas, place] = LIBXSMM;
    let [library, without_blas] = [library, without_blas].map(|name| Path::new(place).join(name));
    ensure!(library.is_file(), "{} is not there: on Debian `apt-get install libxsmm-dev`", library.display());
    let mut link = Command::new("cc");
    link.args(["-shared", "-Wl,-u,libxsmm_dgemm", "-o"]).arg(folder.join("libxsmm.so"));
    let linked = link.args([library, without_blas]).args(["-lm", "-ldl", "-lpthread"]).output().context("cannot run `cc`")?;
    ensure!(linked.status.success(), "{}", String::from_utf8_lossy(&linked.stderr).lines().next().unwrap_or("cc failed"));
    Ok(())
}

/// How many microseconds each came to, by row.
type TimesByRow = BTreeMap<(String, u64, String), BTreeMap<String, Vec<f64>>>;

/// Adds a document of `measure`.
fn read(printed: &str, subject: &ComparedVerb, found: &mut TimesByRow) -> Result<()> {
    let document: Value = serde_json::from_str(printed).context("ours printed no document")?;
    let all = document["measurements"].as_array().filter(|all| !all.is_empty());
    for m in all.with_context(|| format!("nothing was measured: {}", document["notes"]))? {
        let label = |name: &str| m["labels"][name].as_str().unwrap_or_default().to_owned();
        if label("runner") == subject.not {
            continue;
        }
        let us = m["figures"][subject.figure].as_f64().or_else(|| m["summary"][subject.figure].as_f64());
        // By routine and order, or by members and what they compute.
        let row = match label("row") {
            row if row.is_empty() => (label("routine"), label("n").parse().unwrap_or(0), String::new()),
            row => (String::new(), label("threads").parse().unwrap_or(0), row),
        };
        if us.is_none() && m["figures"]["collapsed"].as_f64().is_some_and(|times| times > 0.0) {
            eprintln!("collapsed: {}: {}", row.2, label("runner"));
            continue;
        }
        let us = us.with_context(|| format!("no `{}` in {m}", subject.figure))?;
        found.entry(row).or_default().entry(label("runner")).or_default().push(us);
    }
    Ok(())
}

/// Medians of the rounds, and ours to each other's: below 1 ours is faster.
fn table(subject: &ComparedVerb, found: &TimesByRow) -> String {
    let mut text = format!("{:<24} {:<20} {:>12} {:>10}\n", "row", "who", "ns", "ours/who");
    let mut ratios: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for ((routine, n, row), runners) in found {
        let row = if row.is_empty() { format!("{routine} {n}") } else { row.clone() };
        let ours = runners.get(subject.ours).map(|runs| middle(runs));
        for (who, runs) in runners {
            let ratio = ours.map(|ours| ours / middle(runs));
            ratios.entry(who).or_default().extend(ratio);
            let ratio = ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}"));
            let _ = writeln!(text, "{row:<24} {who:<20} {:>12.1} {ratio:>10}", middle(runs) * 1e3);
        }
    }
    let _ = writeln!(text, "\n{:<24} {:>6} {:>10} {:>10}", "ours/who", "rows", "geomean", "worst");
    for (who, ratios) in ratios.iter().filter(|(who, ratios)| **who != subject.ours && !ratios.is_empty()) {
        let geomean = (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
        let worst = ratios.iter().copied().fold(0.0, f64::max);
        let _ = writeln!(text, "{who:<24} {:>6} {geomean:>10.2} {worst:>10.2}", ratios.len());
    }
    text
}

fn middle(runs: &[f64]) -> f64 {
    support::middle(runs.iter().copied()).unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_medians_of_the_rounds_and_ratios_of_ours_to_theirs() {
        let subject = &SUBJECTS[0].1;
        let one = |runner: &str, us: f64| {
            format!(r#"{{"labels":{{"routine":"ddot","n":"4","runner":"{runner}"}},"summary":{{"p50":{us}}},"figures":{{}}}}"#)
        };
        let mut found = TimesByRow::new();
        for us in [0.5, 0.1, 0.2] {
            let all = [one("foregather", us), one("openblas", 0.4)].join(",");
            read(&format!(r#"{{"measurements":[{all}]}}"#), subject, &mut found).unwrap();
        }
        let text = table(subject, &found);
        let words: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(words[1], ["ddot", "4", "foregather", "200.0", "1.00"]);
        assert_eq!(words[2], ["ddot", "4", "openblas", "400.0", "0.50"]);
        assert_eq!(words.last().unwrap(), &["openblas", "1", "0.50", "0.50"]);
        let error = read(r#"{"measurements":[],"notes":["none here"]}"#, subject, &mut found).unwrap_err().to_string();
        assert!(error.contains("none here"), "{error}");
    }

    #[test]
    fn wrong_usage_names_the_culprit() {
        for (name, options, culprit) in
            [("bras", &[][..], "bras"), ("blas", &["--size", "2"], "--size"), ("teams", &["--ms"], "--ms")]
        {
            match hold(name, options) {
                Err(PeerError::Usage(what)) => assert!(what.contains(culprit), "{what}"),
                other => panic!("{other:?}"),
            }
        }
    }
}
