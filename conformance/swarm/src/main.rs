//! The seeded swarm: runs by the thousand, each with a world, a program and faults drawn from one number, and
//! proof of what they reached.
//!
//! `README.md` says what is drawn and checked, how a seed is repeated, and which faults are planted.
#![forbid(unsafe_code)]

mod blame;
mod coverage;
mod demand;
mod draw;
mod plant;
#[deny(clippy::disallowed_methods, clippy::disallowed_types)]
mod subjects;
#[deny(clippy::disallowed_methods, clippy::disallowed_types)]
mod worlds;

use coverage::Reached;
use demand::Demand;
use plant::Plant;
use std::process::ExitCode;
use std::time::Instant;
use subjects::{RunReport, Subject};

/// One run in this many is done twice: the same seed must give the same trace.
const TWICE: u64 = 16;
/// The most failures of a subject that are reported.
const TOLD: usize = 40;
/// Seeds of each subject in a sample.
const SAMPLE: u64 = 1_500;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if matches!(arguments.first().map(String::as_str), Some("help" | "--help" | "-h")) {
        println!("{}", demand::HELP);
        return ExitCode::SUCCESS;
    }
    let demand = match Demand::read(arguments) {
        Ok(demand) => demand,
        Err(error) => {
            eprintln!("swarm: {error}\n\n{}", demand::HELP);
            return ExitCode::from(2);
        }
    };
    // A run that panics is a failure, reported with the others; its trace would stand between them.
    std::panic::set_hook(Box::new(|_| ()));
    let well = match (demand.one, &demand.plant) {
        (Some(seed), _) => one(&demand, seed),
        (None, Some(_)) => planted(&demand),
        (None, None) if demand.sample => sample(&demand),
        (None, None) => swarm(&demand).0,
    };
    if well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Does one run of each named subject, and reports it in full.
fn one(demand: &Demand, seed: u64) -> bool {
    let plant =
        |subject| demand.plants().filter(|_| demand.plant.is_some()).find(|(_, of, _)| *of == subject).map(|found| found.2);
    let mut well = true;
    for &subject in &demand.subjects {
        let run = subject.run(seed, plant(subject));
        println!("{} {seed}: {}\ntrace {:016x}", subject.name(), run.drawn, run.trace);
        println!("reached: {}", coverage::reached_here().join(", "));
        println!("{}\n", run.end.as_ref().err().map_or("well", String::as_str));
        well &= run.end.is_ok();
    }
    well
}

/// Runs all seeds of all subjects; returns whether all went well, and the points that they reached.
fn swarm(demand: &Demand) -> (bool, Reached) {
    let (mut well, mut reached) = (true, Reached::new());
    for &subject in &demand.subjects {
        let (begun, mut failures) = (Instant::now(), Vec::new());
        coverage::reached_here();
        for seed in demand.from..demand.from + demand.seeds {
            let RunReport { trace, end, .. } = subject.run(seed, None);
            for point in coverage::reached_here() {
                reached.entry(point.to_owned()).or_insert((subject, seed));
            }
            let end = end.and_then(|()| same_trace(subject, seed, trace));
            failures.extend(end.err().map(|why| (seed, why)));
        }
        let rate = demand.seeds as f64 / begun.elapsed().as_secs_f64();
        println!("{:10} {:7} runs, {:5} failed, {rate:8.0} a second", subject.name(), demand.seeds, failures.len());
        for (seed, why) in failures.iter().take(TOLD) {
            println!("  --subject {} --seed {seed}: {:.400}", subject.name(), why.lines().next().unwrap_or_default());
        }
        well &= failures.is_empty();
    }
    if demand.write {
        well &= write(demand, &reached);
    }
    (well, reached)
}

/// # Errors
/// If this seed is run twice, and the second run differs.
fn same_trace(subject: Subject, seed: u64, trace: u64) -> Result<(), String> {
    if !seed.is_multiple_of(TWICE) {
        return Ok(());
    }
    let again = subject.run(seed, None).trace;
    coverage::reached_here();
    if again == trace { Ok(()) } else { Err(format!("the same seed gave the traces {trace:016x} and {again:016x}")) }
}

/// Whether each planted fault is found within its bound of seeds.
fn planted(demand: &Demand) -> bool {
    let found = |(name, subject, plant): (&str, Subject, Plant)| {
        let first = (0..plant::WITHIN).find_map(|seed| subject.run(seed, Some(plant)).end.err().map(|why| (seed, why)));
        match first {
            Some((seed, why)) => {
                let why = why.lines().next().unwrap_or_default();
                println!("planted {name} in {}: found by seed {seed}: {why:.110}", subject.name());
                true
            }
            None => {
                println!("planted {name} in {}: NOT FOUND by {} seeds", subject.name(), plant::WITHIN);
                false
            }
        }
    };
    demand.plants().map(found).fold(true, |all, one| all & one)
}

/// Some hundreds of seeds, every planted fault, and the recorded points.
fn sample(demand: &Demand) -> bool {
    let some = Demand { seeds: SAMPLE, write: false, ..demand.clone() };
    let well = swarm(&some).0;
    let well = planted(demand) & well;
    still_reached() & well
}

/// Whether each recorded run still reaches its point.
fn still_reached() -> bool {
    if !cfg!(feature = "probes") {
        println!("points are not counted: build with `--features probes`");
        return true;
    }
    let Ok(text) = std::fs::read_to_string(coverage::file()) else {
        println!("no points are written down: run with `--write` first");
        return false;
    };
    let listed = match coverage::read(&text) {
        Ok(listed) => listed,
        Err(error) => {
            println!("{}: {error}", coverage::file().display());
            return false;
        }
    };
    let mut runs: std::collections::BTreeMap<(Subject, u64), Vec<&str>> = Default::default();
    listed.iter().for_each(|(point, at)| runs.entry(*at).or_default().push(point));
    let mut well = true;
    for (&(subject, seed), points) in &runs {
        coverage::reached_here();
        subject.run(seed, None);
        let here = coverage::reached_here();
        for point in points.iter().filter(|point| !here.contains(point)) {
            println!("{point} is not reached any more by --subject {} --seed {seed}: rewrite the file", subject.name());
            well = false;
        }
    }
    println!("{} points by {} seeds", listed.len(), runs.len());
    well
}

fn write(demand: &Demand, reached: &Reached) -> bool {
    let commit = std::process::Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).output();
    let commit = commit.ok().map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
    let written = std::fs::write(coverage::file(), coverage::written(reached, &commit, demand.seeds));
    match written {
        Ok(()) => println!("{} points written to {}", reached.len(), coverage::file().display()),
        Err(ref error) => println!("{}: {error}", coverage::file().display()),
    }
    written.is_ok()
}
