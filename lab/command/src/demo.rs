//! A tour of less than a minute: this machine's prices, the papers' claims, barriers under load, and two
//! machines that only exist in simulation: a multiprocessor of 2002 and a cluster.
use crate::doctor;
use crate::finish::finish_with;
use anyhow::Result;
use foregather_cli::failure::Failure;
use foregather_cli::{Barriers, Waits, demo_results};
use foregather_host::interrupt;
use foregather_machine::shown;
use foregather_measure::Experiment;
use foregather_measure::barriers::waiters::CANDIDATE;
use foregather_report as report;
use foregather_reproduce as reproduce;
use foregather_reproduce::{Trial, Tried};
use foregather_results::table::wrapped;
use foregather_results::{Measurement, Results, Run, Timeline, Verdict, output};
use foregather_simulate as simulate;
use foregather_simulate::{Ask, Running, points, shipped};
use std::path::Path;

/// Makes the tour; writes the page to `page_at` and its data beside it.
///
/// # Errors
/// If something cannot be measured, or the page cannot be written.
pub fn run(page_at: &Path, quiet: bool) -> Result<()> {
    // Looked at while nothing is measured yet.
    let diagnosis = doctor::Diagnosis::gather();
    let run = Run::begin("demo", Some(1));
    let mut tour = Tour::default();
    tour.waits(quiet)?;
    tour.claims(quiet)?;
    tour.barriers(quiet)?;
    tour.transition(quiet)?;
    tour.cube(quiet)?;
    let mut results = run.end(interrupt::requested(), tour.measurements, vec![], tour.notes);
    results.timelines = tour.timelines;
    results.verdicts = reproduce::settle(tour.tried, &results.noise).verdicts;
    let page = output::write(page_at, &report::page(std::slice::from_ref(&results)));
    finish_with(&results, Some(&demo_results(page_at)), || said(&results, &diagnosis, page_at))?;
    page?;
    if results.interrupted { Err(Failure::Interrupted.into()) } else { Ok(()) }
}

#[derive(Default)]
struct Tour {
    measurements: Vec<Measurement>,
    timelines: Vec<Timeline>,
    tried: Vec<Tried>,
    notes: Vec<String>,
}

impl Tour {
    fn waits(&mut self, quiet: bool) -> Result<()> {
        let waits = Waits { quick: true, runs: 400 }.measure(quiet)?;
        self.notes.extend(waits.notes);
        self.measurements.extend(waits.measurements);
        Ok(())
    }

    fn claims(&mut self, quiet: bool) -> Result<()> {
        if !interrupt::requested() {
            let found = reproduce::run(Some("guignon2000"), None, &Trial { quiet, full: false })?;
            self.tried.extend(found.tried);
            self.notes.extend(found.notes);
            // The claims' own round trips take the place of the quick ones.
            self.measurements.retain(|old| found.measurements.iter().all(|new| new.id != old.id));
            self.measurements.extend(found.measurements);
        }
        Ok(())
    }

    /// A slice of the simulated machine: peaks at multiples of 16, and how they come about.
    fn transition(&mut self, quiet: bool) -> Result<()> {
        for figure in ["fig3", "fig4"] {
            if !interrupt::requested() {
                let found = reproduce::run(Some("tsafrir-feitelson2002"), Some(figure), &Trial { quiet, full: false })?;
                self.tried.extend(found.tried);
                self.measurements.extend(found.measurements);
            }
        }
        Ok(())
    }

    /// A simulated hypercube: what barriers cost, how often a shift behind them succeeds, and what one
    /// interrupt does.
    fn cube(&mut self, quiet: bool) -> Result<()> {
        self.measurements.extend(simulate::barriers_over_nodes(14)?);
        if !interrupt::requested() {
            let plan = shipped::open("seidel-success-calibrated", &Ask::default())?;
            let points = simulate::run(&plan, Running { workers: 0, quiet })?;
            self.measurements.extend(points::measurements(&plan, &points));
            let found = reproduce::run(Some("seidel-davis1992"), Some("interrupt"), &Trial { quiet, full: false })?;
            self.tried.extend(found.tried);
            self.timelines.extend(found.timelines);
        }
        Ok(())
    }

    fn barriers(&mut self, quiet: bool) -> Result<()> {
        if !interrupt::requested() {
            let matrix = Barriers { quick: true, seed: 1, ..Barriers::default() }.measure(quiet)?;
            self.notes.extend(matrix.notes);
            self.measurements.extend(matrix.measurements);
        }
        Ok(())
    }
}

/// The tour in a few lines: what holds here, how barriers wait, what this machine lacks, and where the page
/// is.
fn said(results: &Results, diagnosis: &doctor::Diagnosis, page_at: &Path) -> String {
    let line = |text: String| wrapped(&shown(&text), 2);
    let mut lines: Vec<String> = results.verdicts.iter().map(|verdict| line(outcome(verdict))).collect();
    let in_core = |m: &&Measurement| m.labels.get("subset").is_some_and(|subset| subset == "core");
    let core: Vec<_> = results.measurements.iter().filter(in_core).filter_map(shares).collect();
    let candidate = core.iter().find(|waiter| waiter.0 == CANDIDATE);
    let best = |kind: &str| {
        let of = core.iter().filter(|waiter| waiter.1 == kind && !waiter.0.contains("adaptive"));
        of.max_by(|a, b| a.2.total_cmp(&b.2))
    };
    for (whose, found) in [("ours", candidate), ("the best fixed policy", best("ours")), ("the best peer", best("peer"))] {
        if let Some((name, _, geomean, worst)) = found {
            lines.push(line(format!(
                "barriers: {whose}, {name}, passes {geomean:.2} times as many as the best peer or fixed policy of each row, {worst:.3} in the worst row"
            )));
        }
    }
    let names = diagnosis.lacking();
    if !names.is_empty() {
        lines.push(line(format!("not here, so left out: {}; `foregather doctor` has the remedies", names.join(", "))));
    }
    lines.push(line(format!("{:.0} s; open {}", results.seconds, page_at.display())));
    lines.join("\n")
}

/// A claim, what became of it, and the number that it came to.
fn outcome(verdict: &Verdict) -> String {
    let got = verdict.got.as_ref().map_or(String::new(), |got| format!(" ({})", format!("{got} {}", verdict.unit).trim_end()));
    format!("{}: {}{got}", verdict.id, verdict.verdict)
}

/// A waiter over all loads: name, kind, and the mean and the worst of its shares.
fn shares(m: &Measurement) -> Option<(&str, &str, f64, f64)> {
    let figure = |name: &str| m.figures.get(name).copied();
    Some((m.labels.get("name")?, m.labels.get("kind")?, figure("oracle_share_geomean")?, figure("oracle_share_worst")?))
}
