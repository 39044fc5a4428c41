//! A comparison with LogGOPSim on the same traces: Schedgen's patterns, in end times, and files, in wall
//! time, too.
use crate::PeerError;
use crate::support::{self, built, keep, number, numbers, output_within, unknown};
use anyhow::{Context, Result, ensure};
use foregather_machine::Nanos;
use foregather_results::rivals::rival;
use foregather_results::{Measurement, Run};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// A comparison with LogGOPSim.
#[derive(Debug, PartialEq)]
pub(super) struct GoalPlan {
    ranks: Vec<u32>,
    sizes: Vec<u64>,
    rounds: u32,
    /// Files that are run instead of patterns.
    files: Vec<PathBuf>,
    /// The command that is run as ours.
    ours: Option<PathBuf>,
    /// Where the comparisons go, for a report.
    output: Option<PathBuf>,
}

/// Schedgen's patterns but `trace`, which needs a trace, and `chained_dissem`, which sends to a rank that is
/// not there.
const PATTERNS: [&str; 18] = [
    "binomialtreereduce",
    "binarytreebcast",
    "binomialtreebcast",
    "nwaydissemination",
    "pipelinedring",
    "pipelinedringdep",
    "doublering",
    "gather",
    "scatter",
    "linbarrier",
    "dissemination",
    "random_bisect",
    "random_bisect_fd_sym",
    "linear_alltoall",
    "linear_alltoallv",
    "allreduce_recdoub",
    "allreduce_ring",
    "resnet",
];
/// The programs of that project; their output is all that is used.
const PROGRAMS: [&str; 3] = ["schedgen", "txt2bin", "LogGOPSim"];
/// Values of `S`: every message asks first, the default, none asks.
const LIMITS: [u32; 3] = [0, 65_535, u32::MAX >> 1];
const OURS: [&str; 5] = ["build", "--release", "--message-format=json", "--package", "foregather-lab"];
/// A run that takes longer is ended, with an error.
const LIMIT: Nanos = Nanos::from_ms(3_600_000);

impl GoalPlan {
    pub(super) fn parse(options: &[&str]) -> Result<Self, PeerError> {
        let mut plan = Self {
            ranks: vec![4, 8, 13, 16, 32, 64],
            sizes: vec![1, 1_001, 70_000],
            rounds: 3,
            files: vec![],
            ours: None,
            output: None,
        };
        for (name, value) in support::options(options)? {
            match name {
                "--ranks" => plan.ranks = numbers(name, value)?,
                "--sizes" => plan.sizes = numbers(name, value)?,
                "--rounds" => plan.rounds = number(name, value)?,
                "--files" => plan.files = value.split(',').map(PathBuf::from).collect(),
                "--ours" => plan.ours = Some(value.into()),
                "--output" => plan.output = Some(value.into()),
                _ => return unknown(name),
            }
        }
        if plan.rounds == 0 || plan.ranks.iter().any(|&ranks| ranks < 2) || plan.sizes.contains(&0) {
            return Err(PeerError::Usage("--rounds and --sizes must be at least 1, and --ranks 2".to_owned()));
        }
        Ok(plan)
    }
}

/// The whole comparison, printed.
pub(super) fn hold(options: &[&str]) -> Result<(), PeerError> {
    let plan = GoalPlan::parse(options)?;
    for program in PROGRAMS {
        let found = Command::new(program).arg("--help").stdout(Stdio::null()).stderr(Stdio::null()).status();
        if found.is_err() {
            return Err(PeerError::Missing(format!(
                "`{program}` of LogGOPSim is not in PATH: build it from its sources, then again"
            )));
        }
    }
    let ours = plan.ours.clone().map_or_else(|| built(&OURS), Ok)?;
    let folder = std::env::temp_dir().join(format!("foregather-peers-goal-{}", std::process::id()));
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let run = Run::begin("peers goal", None);
    let mut compared = vec![];
    let held = if plan.files.is_empty() {
        patterns(&plan, &ours, &folder, &mut compared)
    } else {
        files(&plan, &ours, &folder, &mut compared)
    };
    fs::remove_dir_all(&folder).with_context(|| folder.display().to_string())?;
    keep(plan.output.as_deref(), run, compared)?;
    held
}

/// A line for each pattern: how many end times are equal, and how far ours by the authors' rules are away.
fn patterns(plan: &GoalPlan, ours: &Path, folder: &Path, compared: &mut Vec<Measurement>) -> Result<(), PeerError> {
    println!("{:<22} {:>6} {:>6} {:>10}  {:>22}", "pattern", "cells", "equal", "no answer", "loggp, least to most");
    let mut differ = 0;
    for pattern in PATTERNS {
        let (mut cells, mut equal, mut silent, mut away) = (0, 0, 0, vec![]);
        for &ranks in &plan.ranks {
            for &size in &plan.sizes {
                let binary = generate(pattern, ranks, size, folder)?;
                for limit in LIMITS {
                    cells += 1;
                    let Some(theirs) = last_end(&theirs(&binary, limit)?) else {
                        silent += 1;
                        continue;
                    };
                    let exact = our_end(ours, &binary, "loggops:loggopsim", limit)?;
                    equal += u32::from(exact == theirs);
                    let by_authors = our_end(ours, &binary, "loggp:loggopsim", limit)?;
                    away.push((by_authors as f64 / theirs as f64 - 1.0) * 100.0);
                }
            }
        }
        differ += cells - silent - equal;
        away.sort_by(f64::total_cmp);
        let answered = cells - silent;
        let words = [format!("{answered} end times"), format!("{equal} equal")];
        compared.push(rival("LogGOPSim", pattern, words, (f64::from(answered - equal), 0.0), "end times"));
        let most = away.iter().copied().fold(0.0, |most: f64, one| if one.abs() > most.abs() { one } else { most });
        let words = [format!("{answered} end times"), "rules of LogGP's authors".to_owned()];
        compared.push(rival("LogGOPSim", &format!("{pattern}, other rules"), words, (most, f64::NAN), "%"));
        let span = away.first().zip(away.last()).map_or_else(String::new, |(least, most)| format!("{least:+.1} to {most:+.1} %"));
        println!("{pattern:<22} {cells:>6} {equal:>6} {silent:>10}  {span:>22}");
    }
    if differ > 0 { Err(anyhow::anyhow!("{differ} end times differ").into()) } else { Ok(()) }
}

/// Files: end times, and the wall time of both programs, in turn.
fn files(plan: &GoalPlan, ours: &Path, folder: &Path, compared: &mut Vec<Measurement>) -> Result<(), PeerError> {
    println!("{:<24} {:>18} {:>18} {:>10} {:>10} {:>7}", "file", "theirs, ns", "ours, ns", "theirs, s", "ours, s", "ratio");
    for file in &plan.files {
        let text = file.extension().is_some_and(|ending| ending == "goal");
        let binary = if text { to_binary(file, folder)? } else { file.clone() };
        let (mut ends, mut seconds) = ([0; 2], [vec![], vec![]]);
        for round in 0..plan.rounds * 2 {
            // Every other round goes backwards, so that neither always comes first.
            let who = usize::from((round + round / 2) % 2 == 1);
            let began = Instant::now();
            ends[who] = match who {
                0 => last_end(&theirs(&binary, LIMITS[1])?).context("LogGOPSim prints no end time")?,
                _ => our_end(ours, &binary, "loggops:loggopsim", LIMITS[1])?,
            };
            seconds[who].push(began.elapsed().as_secs_f64());
        }
        let [theirs, ours] = seconds.map(|mut seconds| {
            seconds.sort_by(f64::total_cmp);
            seconds[seconds.len() / 2]
        });
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let words = ends.map(|end| format!("{end} ns"));
        let apart = (ends[1] as f64 / ends[0] as f64 - 1.0) * 100.0;
        compared.push(rival("LogGOPSim", &name, words, (apart, 0.0), "%"));
        let words = [theirs, ours].map(|seconds| format!("{seconds:.2} s"));
        compared.push(rival("LogGOPSim", &format!("{name}, wall time"), words, (ours / theirs, 0.5), "times"));
        println!("{name:<24} {:>18} {:>18} {theirs:>10.2} {ours:>10.2} {:>7.2}", ends[0], ends[1], ours / theirs);
    }
    Ok(())
}

fn generate(pattern: &str, ranks: u32, size: u64, folder: &Path) -> Result<PathBuf> {
    let text = folder.join("trace.goal");
    let mut command = Command::new("schedgen");
    command.args(["-p", pattern, "-s", &ranks.to_string(), "-d", &size.to_string(), "-o"]).arg(&text);
    command.args(["--nway", "2", "--segmentsize", &(size / 7).max(1).to_string()]);
    output_within(command, LIMIT)?;
    to_binary(&text, folder)
}

fn to_binary(text: &Path, folder: &Path) -> Result<PathBuf> {
    let binary = folder.join("trace.bin");
    let mut command = Command::new("txt2bin");
    command.arg("-i").arg(text).arg("-o").arg(&binary);
    output_within(command, LIMIT)?;
    Ok(binary)
}

/// What LogGOPSim prints. It may crash on a trace that it does not end; then that is nothing.
fn theirs(binary: &Path, limit: u32) -> Result<String> {
    let mut command = Command::new("LogGOPSim");
    let output = command.arg("-f").arg(binary).args(["-b", "-S", &limit.to_string()]).output().context("cannot run LogGOPSim")?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The end of its last rank.
fn last_end(printed: &str) -> Option<u64> {
    let (_, after) = printed.split_once("Maximum finishing time at host ")?;
    after.split_once(": ")?.1.split_whitespace().next()?.parse().ok()
}

fn our_end(ours: &Path, binary: &Path, network: &str, limit: u32) -> Result<u64> {
    let mut command = Command::new(ours);
    command.args(["--quiet", "--format", "json", "simulate", "--network", network, "--set", &format!("eager-max={limit}")]);
    command.arg(binary);
    let printed = output_within(command, LIMIT)?;
    let results: Value = serde_json::from_str(&printed).context("our results are not JSON")?;
    let end = results["measurements"][0]["labels"]["end_ns"].as_str().and_then(|end| end.parse().ok());
    ensure!(end.is_some(), "our results have no end: {printed}");
    Ok(end.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_read_from_what_that_program_prints() {
        let printed = "size: 64\nMaximum finishing time at host 31: 445500 (0.0004455 s)\n";
        assert_eq!(last_end(printed), Some(445_500));
        assert_eq!(last_end("unexpected queue on host 0 contains 2 elements!\n"), None);
    }

    #[test]
    fn options_are_understood_or_refused() {
        let plan = GoalPlan::parse(&["--ranks", "4,64", "--files", "a.bin,b.goal"]).unwrap();
        assert_eq!((plan.ranks, plan.files.len(), plan.rounds), (vec![4, 64], 2, 3));
        for wrong in [&["--ranks", "1"][..], &["--sizes", "0"], &["--rounds"], &["--file", "a"], &["--ranks", "x"]] {
            assert!(matches!(GoalPlan::parse(wrong), Err(PeerError::Usage(_))), "{wrong:?}");
        }
    }
}
