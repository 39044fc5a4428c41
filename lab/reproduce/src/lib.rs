//! The papers' claims: each is tried by an experiment here, and gets a verdict with its reason.
//!
//! - [`claims`](mod@claims): what `papers/` says. [`guignon`], [`itzkovitz`], [`namyst`], [`seidel`], [`tsafrir`]: the experiments, paper by paper. `curves`: how they
//!   ask what a plan came to.
#![forbid(unsafe_code)]

pub mod claims;
mod curves;
pub mod guignon;
pub mod itzkovitz;
pub mod namyst;
pub mod seidel;
pub mod tsafrir;

use anyhow::{Result, bail};
use claims::{Claim, Expected, Paper};
use foregather_host::interrupt;
use foregather_results::{Measurement, Outcome, Timeline, Value, Verdict};
use std::collections::BTreeMap;

/// What an experiment found out about one claim.
#[derive(Clone, Debug)]
pub enum Answer {
    /// A number, to be held against the paper's.
    Number(f64, String),
    /// Whether the claim holds, what was found, and why.
    Holds(bool, String, String),
    /// It cannot be tried here; why.
    CannotTry(String),
}

/// What an experiment gave.
#[derive(Default)]
pub struct Findings {
    /// All that was measured.
    pub measurements: Vec<Measurement>,
    /// What happened over time.
    pub timelines: Vec<Timeline>,
    /// What was left out, and why.
    pub notes: Vec<String>,
    /// By claim.
    pub answers: BTreeMap<&'static str, Answer>,
}

impl Findings {
    /// What was found out about one claim.
    pub fn answer(&mut self, claim: &'static str, answer: Answer) {
        self.answers.insert(claim, answer);
    }
}

/// How experiments are run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Trial {
    /// No progress on standard error.
    pub quiet: bool,
    /// With the finer grids and more seeds of the plans.
    pub full: bool,
}

/// An experiment by its name in `papers/`.
pub struct Experiment {
    name: &'static str,
    run: fn(&Trial) -> Result<Findings>,
}

/// Registers an experiment.
pub const fn experiment(name: &'static str, run: fn(&Trial) -> Result<Findings>) -> Experiment {
    Experiment { name, run }
}

/// The experiments of a paper.
fn experiments_of(paper: &str) -> &'static [Experiment] {
    match paper {
        "guignon2000" => &guignon::EXPERIMENTS,
        "itzkovitz-schuster1999" => &itzkovitz::EXPERIMENTS,
        "namyst1999" => &namyst::EXPERIMENTS,
        "seidel-davis1992" => &seidel::EXPERIMENTS,
        "tsafrir-feitelson2002" => &tsafrir::EXPERIMENTS,
        _ => &[],
    }
}

/// What a reproduction gave.
#[derive(Default)]
pub struct Reproduction {
    /// All that was measured.
    pub measurements: Vec<Measurement>,
    /// What happened over time.
    pub timelines: Vec<Timeline>,
    /// One a claim.
    pub verdicts: Vec<Verdict>,
    /// What was left out, and why.
    pub notes: Vec<String>,
    /// Claims that do not hold here, although nobody knew why they should not.
    pub differences: Vec<String>,
    /// Claims that hold, although they were expected to differ.
    pub surprises: Vec<String>,
}

/// Tries the claims of one paper or of all, of one experiment or of all.
///
/// # Errors
/// If there is no such paper or experiment, or one cannot be run.
pub fn run(paper: Option<&str>, figure: Option<&str>, trial: &Trial) -> Result<Reproduction> {
    let papers = claims::papers()?;
    let known: Vec<_> = papers.iter().map(|p| p.paper.clone()).collect();
    let chosen: Vec<Paper> = papers.into_iter().filter(|p| paper.is_none_or(|name| name == p.paper)).collect();
    if chosen.is_empty() {
        bail!("no paper `{}`; there are {}", paper.unwrap_or_default(), known.join(", "));
    }
    let mut all = Reproduction::default();
    for paper in &chosen {
        let claims: Vec<&Claim> = paper.claim.iter().filter(|c| figure.is_none_or(|name| name == c.check)).collect();
        if claims.is_empty() {
            let mut names: Vec<_> = paper.claim.iter().map(|c| c.check.as_str()).collect();
            names.dedup();
            bail!("no claim of {} is checked by `{}`; there are {}", paper.paper, figure.unwrap_or_default(), names.join(", "));
        }
        for experiment in experiments_of(&paper.paper).iter().filter(|e| claims.iter().any(|c| c.check == e.name)) {
            if interrupt::requested() {
                break;
            }
            let mut findings = (experiment.run)(trial)?;
            all.measurements.append(&mut findings.measurements);
            all.timelines.append(&mut findings.timelines);
            all.notes.append(&mut findings.notes);
            for claim in claims.iter().filter(|c| c.check == experiment.name) {
                let answer = findings.answers.get(claim.id.as_str()).cloned();
                let answer = match answer {
                    // What an interrupted simulation gave is a part of what was asked for.
                    _ if interrupt::requested() => Answer::CannotTry("interrupted".into()),
                    Some(answer) => answer,
                    None => Answer::CannotTry("the experiment gave no answer".into()),
                };
                let verdict = judge(paper, claim, answer);
                let expected_to_differ = claim.differs_because.is_some();
                match verdict.verdict {
                    Outcome::Differs if !expected_to_differ => all.differences.push(claim.id.clone()),
                    Outcome::Holds if expected_to_differ => all.surprises.push(claim.id.clone()),
                    _ => {}
                }
                all.verdicts.push(verdict);
            }
        }
    }
    Ok(all)
}

/// Holds what was found against what the paper says. The verdict comes from the numbers alone.
fn judge(paper: &Paper, claim: &Claim, answer: Answer) -> Verdict {
    let number = match claim.expected {
        Some(Expected::Number(number)) => Some(number),
        _ => None,
    };
    let (got, verdict, found) = match answer {
        Answer::CannotTry(why) => (None, Outcome::NotComparable, why),
        Answer::Holds(true, got, why) => (Some(Value::Text(got)), Outcome::Holds, why),
        Answer::Holds(false, got, why) => (Some(Value::Text(got)), Outcome::Differs, why),
        Answer::Number(got, why) => {
            let tolerance = claim.tolerance.unwrap_or(0.1);
            let verdict = match number {
                None => Outcome::NotComparable,
                Some(expected) if (got - expected).abs() <= tolerance * expected.abs() => Outcome::Holds,
                Some(_) => Outcome::Differs,
            };
            (Some(Value::Number(got)), verdict, why)
        }
    };
    let verdict = match claim.fitted_because {
        Some(_) if verdict == Outcome::Holds => Outcome::Fitted,
        _ => verdict,
    };
    let fitted = claim.fitted_because.as_deref().filter(|_| verdict == Outcome::Fitted);
    let known = claim.differs_because.as_deref().filter(|_| verdict == Outcome::Differs);
    let none = claim.expected_reason.as_deref().filter(|_| number.is_none());
    let reason = [Some(found.as_str()), known, fitted, none].into_iter().flatten().collect::<Vec<_>>().join("; ");
    Verdict {
        paper: paper.paper.clone(),
        id: claim.id.clone(),
        claim: claim.text.clone(),
        expected: number.map(Value::Number),
        got,
        unit: claim.unit.clone().unwrap_or_default(),
        verdict,
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(id: &str, answer: Answer) -> Outcome {
        let paper = claims::papers().unwrap().remove(0);
        let claim = paper.claim.iter().find(|c| c.id == id).unwrap();
        judge(&paper, claim, answer).verdict
    }

    #[test]
    fn the_verdict_comes_from_the_number_and_the_tolerance() {
        let placed = |share| verdict("scheduler-places-apart", Answer::Number(share, String::new()));
        assert_eq!(placed(0.95), Outcome::Holds);
        assert_eq!(placed(0.85), Outcome::Differs);
        assert_eq!(verdict("min-average-max", Answer::Number(1.0, String::new())), Outcome::NotComparable);
        assert_eq!(verdict("counters-agree", Answer::Holds(false, String::new(), String::new())), Outcome::Differs);
        assert_eq!(verdict("counters-agree", Answer::CannotTry("one cpu".into())), Outcome::NotComparable);
    }

    #[test]
    fn unknown_papers_and_experiments_are_errors_that_name_the_known_ones() {
        let error = run(Some("nobody1999"), None, &Trial::default()).err().unwrap().to_string();
        assert!(error.contains("guignon2000"), "{error}");
        let error = run(Some("guignon2000"), Some("fig99"), &Trial::default()).err().unwrap().to_string();
        assert!(error.contains("ping-pong"), "{error}");
    }

    #[test]
    fn every_check_of_every_paper_is_an_experiment() {
        for paper in claims::papers().unwrap() {
            for claim in paper.claim {
                assert!(experiments_of(&paper.paper).iter().any(|e| e.name == claim.check), "{}: {}", claim.id, claim.check);
            }
        }
    }
}
