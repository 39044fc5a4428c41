//! A comparison with SimGrid: what was asked for on the command line; its driver is built, and it and ours
//! run in turn, so that what else the machine does meets all of them; what a run prints, and the table of
//! medians and ratios.
use crate::PeerError;
use crate::support::{self, built, keep, middle, number, output_within, root, target, turns, unknown};
use anyhow::{Context, Result, anyhow, ensure};
use foregather_machine::Nanos;
use foregather_results::Run;
use foregather_results::rivals::rival;
use serde::Deserialize;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A comparison with SimGrid.
#[derive(Debug, PartialEq)]
pub(super) struct SimGridPlan {
    pub(super) nodes: Vec<u32>,
    pub(super) skew_us: u64,
    pub(super) rounds: u32,
    /// What is run instead of our own simulator, as words; its arguments follow.
    pub(super) ours: Option<Vec<String>>,
    /// Where the comparisons go, for a report.
    pub(super) output: Option<PathBuf>,
}

const NODES_MAX: u32 = 1 << 24;

impl SimGridPlan {
    pub(super) fn parse(arguments: &[&str]) -> Result<Self, PeerError> {
        let usage = |what: String| Err(PeerError::Usage(what));
        let mut plan = Self { nodes: vec![1024, 16384], skew_us: 100, rounds: 3, ours: None, output: None };
        let ["simgrid", options @ ..] = arguments else {
            return usage("expected what to compare: simgrid or messages".to_owned());
        };
        for (name, value) in support::options(options)? {
            match name {
                "--nodes" => plan.nodes = value.split(',').map(nodes).collect::<Result<_, _>>()?,
                "--skew-us" => plan.skew_us = number(name, value)?,
                "--rounds" => plan.rounds = number(name, value)?,
                "--output" => plan.output = Some(value.into()),
                "--ours" => plan.ours = Some(value.split_whitespace().map(str::to_owned).collect()),
                _ => return unknown(name),
            }
        }
        if plan.rounds == 0 || plan.ours.as_ref().is_some_and(Vec::is_empty) {
            return usage("--rounds must be at least 1, and --ours must name a program".to_owned());
        }
        Ok(plan)
    }
}

fn nodes(value: &str) -> Result<u32, PeerError> {
    let nodes: u32 = number("--nodes", value)?;
    if nodes.is_power_of_two() && (2..=NODES_MAX).contains(&nodes) {
        return Ok(nodes);
    }
    Err(PeerError::Usage(format!("--nodes: a butterfly has a power of two of nodes from 2 to {NODES_MAX}, not {nodes}")))
}

/// Our simulator: Cargo says where it lies. It is not run by way of Cargo, whose own peak of memory it would
/// inherit.
const OURS: [&str; 7] = ["bench", "--no-run", "--message-format=json", "--package", "foregather-sim", "--bench", "network"];
const DRIVER: &str = "peers/simgrid/butterfly.cpp";
const HEADER: &str = "simgrid/s4u.hpp";
/// A run that takes longer is ended, with an error.
const LIMIT: Nanos = Nanos::from_ms(600_000);

/// What takes part: a program, and what follows nodes and skew on its command line.
struct Contestant {
    name: &'static str,
    program: Vec<String>,
    model: Option<&'static str>,
}

/// The whole comparison, printed.
pub(super) fn hold(plan: &SimGridPlan) -> Result<(), PeerError> {
    let root = root()?;
    let driver = build_driver(root, &target()?)?;
    let program = match &plan.ours {
        Some(program) => program.clone(),
        None => vec![built(&OURS)?.display().to_string()],
    };
    let ours = |name, model| Contestant { name, program: program.clone(), model: Some(model) };
    let contestants = [
        Contestant { name: "SimGrid", program: vec![driver.display().to_string()], model: None },
        ours("ours, free", "free"),
        ours("ours, ports", "ports"),
    ];
    let (run, mut compared) = (Run::begin("peers simgrid", None), vec![]);
    println!("{HEAD}");
    for &nodes in &plan.nodes {
        let medians = medians(root, plan, nodes, &contestants)?;
        for (contestant, of_one) in contestants.iter().zip(&medians) {
            println!("{}", row(nodes, plan.skew_us, contestant.name, *of_one, medians[0]));
            if contestant.model.is_some() {
                let words = [medians[0], *of_one].map(|of| format!("{:.0} messages/s, {:.0} MiB", of.messages_per_s, of.rss_mib));
                let slower = medians[0].messages_per_s / of_one.messages_per_s;
                let case = format!("butterfly of {nodes} nodes; {}", contestant.name);
                compared.push(rival("SimGrid", &case, words, (slower, 1.0), "times its time"));
            }
        }
    }
    Ok(keep(plan.output.as_deref(), run, compared)?)
}

/// The median of every contestant.
fn medians(root: &Path, plan: &SimGridPlan, nodes: u32, contestants: &[Contestant]) -> Result<Vec<SimGridResult>> {
    let mut runs = vec![Vec::new(); contestants.len()];
    for round in 0..plan.rounds {
        for at in turns(round, contestants.len()) {
            let who = &contestants[at];
            let (program, given) = who.program.split_first().context("no program")?;
            let mut command = Command::new(program);
            command.args(given).args([nodes.to_string(), plan.skew_us.to_string()]).args(who.model).current_dir(root);
            let printed = output_within(command, LIMIT).with_context(|| format!("{}, {nodes} nodes", who.name))?;
            let line = printed.lines().last().unwrap_or_default();
            runs[at].push(SimGridResult::parse(line, nodes, plan.skew_us).with_context(|| who.name)?);
        }
    }
    runs.iter().map(|runs| median(runs).context("no round was run")).collect()
}

/// Compiles the driver into `target/`.
fn build_driver(root: &Path, target: &Path) -> Result<PathBuf, PeerError> {
    let missing = |what: &str| {
        PeerError::Missing(format!("{what} is not installed: on Debian `apt-get install g++ libsimgrid-dev`, then again"))
    };
    let mut look = Command::new("g++");
    look.args(["-std=c++17", "-E", "-x", "c++", "-include", HEADER, "/dev/null"]).stdout(Stdio::null()).stderr(Stdio::null());
    match look.status() {
        Err(_) => return Err(missing("g++")),
        Ok(status) if !status.success() => return Err(missing("SimGrid (libsimgrid-dev)")),
        Ok(_) => {}
    }
    std::fs::create_dir_all(target).with_context(|| format!("cannot create {}", target.display()))?;
    let driver = target.join("simgrid-butterfly");
    let mut compile = Command::new("g++");
    compile.args(["-O2", "-std=c++17", "-Wall", "-Wextra", "-o"]).arg(&driver).arg(root.join(DRIVER)).arg("-lsimgrid");
    let status = compile.status().context("cannot run g++")?;
    if status.success() { Ok(driver) } else { Err(anyhow!("{DRIVER} does not compile with the SimGrid of this machine").into()) }
}

/// One run: its line of JSON.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
struct SimGridResult {
    messages_per_s: f64,
    rss_mib: f64,
}

impl SimGridResult {
    /// Reads a line, and makes sure that it is about what was asked for.
    fn parse(line: &str, nodes: u32, skew_us: u64) -> Result<Self> {
        let printed: Value = serde_json::from_str(line).with_context(|| format!("not JSON: {line}"))?;
        let asked =
            [("nodes", f64::from(nodes)), ("messages", f64::from(nodes * nodes.trailing_zeros())), ("skew_us", skew_us as f64)];
        for (name, asked) in asked {
            let got = &printed[name];
            ensure!(got.as_f64() == Some(asked), "{name} should be {asked} and is {got}: {line}");
        }
        serde_json::from_value(printed).with_context(|| line.to_owned())
    }
}

/// The median of the runs in either figure.
fn median(runs: &[SimGridResult]) -> Option<SimGridResult> {
    let middle = |figure: fn(&SimGridResult) -> f64| middle(runs.iter().map(figure));
    Some(SimGridResult { messages_per_s: middle(|run| run.messages_per_s)?, rss_mib: middle(|run| run.rss_mib)? })
}

const HEAD: &str = "   nodes  skew us  who              messages/s      MiB  x messages/s  x less memory";

/// A line of the table; ratios against the peer.
fn row(nodes: u32, skew_us: u64, who: &str, ours: SimGridResult, peer: SimGridResult) -> String {
    let (faster, smaller) = (ours.messages_per_s / peer.messages_per_s, peer.rss_mib / ours.rss_mib);
    let SimGridResult { messages_per_s, rss_mib } = ours;
    format!("{nodes:>8} {skew_us:>8}  {who:<14} {messages_per_s:>12.0} {rss_mib:>8.1} {faster:>13.1} {smaller:>14.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_replace_the_defaults() {
        let plan = SimGridPlan::parse(&["simgrid"]).unwrap();
        assert_eq!((&plan.nodes[..], plan.skew_us, plan.rounds), (&[1024, 16384][..], 100, 3));
        assert_eq!(plan.ours, None);
        let arguments = ["simgrid", "--nodes", "8,16", "--skew-us", "0", "--rounds", "5", "--ours", "./a b"];
        let expected = SimGridPlan {
            nodes: vec![8, 16],
            skew_us: 0,
            rounds: 5,
            ours: Some(vec!["./a".to_owned(), "b".to_owned()]),
            output: None,
        };
        assert_eq!(SimGridPlan::parse(&arguments).unwrap(), expected);
    }

    #[test]
    fn wrong_usage_names_the_culprit() {
        for (arguments, culprit) in [
            (&[][..], "simgrid"),
            (&["simgird"], "simgrid"),
            (&["simgrid", "--nodes"], "--nodes"),
            (&["simgrid", "--nodes", "8,12"], "12"),
            (&["simgrid", "--nodes", "1"], "not 1"),
            (&["simgrid", "--nodes", "x"], "`x`"),
            (&["simgrid", "--skew-us", "-1"], "`-1`"),
            (&["simgrid", "--rounds", "0"], "--rounds"),
            (&["simgrid", "--ours", " "], "--ours"),
            (&["simgrid", "--node", "8"], "`--node`"),
        ] {
            match SimGridPlan::parse(arguments) {
                Err(PeerError::Usage(what)) => assert!(what.contains(culprit), "{arguments:?}: {what}"),
                other => panic!("{arguments:?}: {other:?}"),
            }
        }
    }

    #[test]
    fn every_contestant_is_asked_the_same_and_held_to_it() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let plan = SimGridPlan { nodes: vec![4], skew_us: 1, rounds: 3, ours: None, output: None };
        let says = |messages: u32| {
            let line = format!(r#"{{"nodes":%s,"messages":{messages},"messages_per_s":5,"rss_mib":2,"skew_us":%s}}"#);
            let script = format!(r#"printf '{line}\n' "$1" "$2""#);
            let program = ["sh", "-c", &script, "name"].map(str::to_owned).to_vec();
            Contestant { name: "somebody", program, model: None }
        };
        let found = medians(root, &plan, 4, &[says(8), says(8)]).unwrap();
        assert_eq!(found, [SimGridResult { messages_per_s: 5.0, rss_mib: 2.0 }; 2]);
        let error = format!("{:#}", medians(root, &plan, 4, &[says(8), says(9)]).unwrap_err());
        assert!(error.contains("somebody") && error.contains("messages should be 8"), "{error}");
    }

    const LINE: &str = r#"{"nodes":8,"messages":24,"seconds":0.5,"messages_per_s":48,"rss_mib":2.5,"skew_us":100,"trace":"0a"}"#;

    #[test]
    fn a_line_is_read_and_held_against_what_was_asked_for() {
        assert_eq!(SimGridResult::parse(LINE, 8, 100).unwrap(), SimGridResult { messages_per_s: 48.0, rss_mib: 2.5 });
        for (from, to, culprit) in [
            ("\"nodes\":8", "\"nodes\":9", "nodes"),
            ("24", "25", "messages"),
            ("100", "0", "skew_us"),
            ("rss_mib", "rss", "rss_mib"),
            ("48", "fast", "messages_per_s"),
        ] {
            let error = SimGridResult::parse(&LINE.replace(from, to), 8, 100).unwrap_err();
            assert!(format!("{error:#}").contains(culprit), "{error:#}");
        }
    }

    #[test]
    fn medians_and_ratios() {
        let run = |messages_per_s, rss_mib| SimGridResult { messages_per_s, rss_mib };
        let middle = median(&[run(3.0, 1.0), run(1.0, 9.0), run(2.0, 5.0)]).unwrap();
        assert_eq!(middle, run(2.0, 5.0));
        assert_eq!(median(&[]), None);
        let row = row(8, 100, "ours", run(40.0, 2.0), run(2.0, 10.0));
        assert_eq!(row.split_whitespace().collect::<Vec<_>>(), ["8", "100", "ours", "40", "2.0", "20.0", "5.0"]);
        assert_eq!(row.len(), HEAD.len());
    }
}
