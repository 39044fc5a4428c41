//! The papers' claims: each is tried by an experiment here, and gets a verdict with its reason.
//!
//! - `judge`: a claim's band, as `papers/` has it, against what was found.
//! - [`guignon`], [`itzkovitz`], [`namyst`], [`seidel`], [`tsafrir`]: the experiments, paper by paper.
//!   `curves`: how they ask what a plan came to. `points`: what was simulated or measured, as figures of the
//!   report.
#![forbid(unsafe_code)]

mod curves;
pub mod guignon;
pub mod itzkovitz;
mod judge;
pub mod namyst;
mod points;
pub mod seidel;
pub mod tsafrir;

use anyhow::{Context, Result, bail};
use foregather_host::{affinity, interrupt};
use foregather_results::claims::{self, Claim, Paper};
use foregather_results::{ClaimOutcome, Measurement, Noise, Timeline, TrustLevel, Verdict, meant};
pub use judge::Answer;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

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
#[derive(Clone, Debug, Default)]
pub struct TrialOptions {
    /// No progress on standard error.
    pub quiet: bool,
    /// With the finer grids and more seeds of the plans.
    pub full: bool,
    /// A file of journals that [`record_journals`] has written, in place of the shipped ones.
    pub journals: Option<PathBuf>,
}

/// The paper whose claims are judged by recorded journals.
const RECORDED: &str = "itzkovitz-schuster1999";

/// Runs the programs of Itzkovitz & Schuster 1999 on this machine and writes their journals to a file, from
/// which the shipped ones are made. If the file is one of journals already, it keeps its latest recordings of
/// the program of which no two runs are alike.
///
/// # Errors
/// If another paper is chosen, a program fails, or the file cannot be written.
pub fn record_journals(paper: Option<&str>, file: &Path, quiet: bool) -> Result<()> {
    if paper != Some(RECORDED) {
        bail!("no journals are recorded for `{}`; choose {RECORDED}", paper.unwrap_or("all papers"));
    }
    let earlier = file.exists().then(|| std::fs::read(file)).transpose();
    let earlier = earlier.with_context(|| format!("cannot read {}", file.display()))?;
    let archive = itzkovitz::record_all(earlier.as_deref(), quiet)?;
    std::fs::write(file, archive).with_context(|| format!("cannot write {}", file.display()))
}

/// An experiment by its name in `papers/`.
pub struct Experiment {
    name: &'static str,
    run: fn(&TrialOptions, &mut Findings) -> Result<()>,
    /// Whether it needs two processors.
    between_processors: bool,
    /// Whether this machine decides what comes out. A simulation gives the same everywhere.
    measured: bool,
    /// Whether it replays recorded journals: shipped ones are the same everywhere, new ones are measured.
    replays_journals: bool,
}

/// Registers an experiment in virtual time.
pub const fn experiment(name: &'static str, run: fn(&TrialOptions, &mut Findings) -> Result<()>) -> Experiment {
    Experiment { name, run, between_processors: false, measured: false, replays_journals: false }
}

impl Experiment {
    /// The same experiment, as one that measures this machine: a disturbed run of it says nothing.
    const fn measured(self) -> Self {
        Self { measured: true, ..self }
    }

    /// The same experiment, as one that replays recorded journals.
    const fn by_journals(self) -> Self {
        Self { replays_journals: true, ..self }
    }

    /// Returns whether this machine decides what comes out in such a trial.
    fn is_measured(&self, trial: &TrialOptions) -> bool {
        self.measured || (self.replays_journals && trial.journals.is_some())
    }

    /// The same experiment, as one that needs two processors.
    const fn between_processors(self) -> Self {
        Self { between_processors: true, ..self }
    }
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
    pub tried: Vec<Tried>,
    /// What was left out, and why.
    pub notes: Vec<String>,
}

/// A claim that was tried, before it is known how quiet the machine was meanwhile.
pub struct Tried {
    verdict: Verdict,
    expected_to_differ: bool,
    measured: bool,
}

impl Tried {
    /// Returns whether this machine decided what came out.
    pub fn is_measured(&self) -> bool {
        self.measured
    }
}

/// What is left of the verdicts once it is known how quiet the machine was.
#[derive(Default)]
pub struct Settled {
    /// One a claim.
    pub verdicts: Vec<Verdict>,
    /// Claims that do not hold here, although nothing says why they should not.
    pub differences: Vec<String>,
    /// Claims that hold, although they were expected to differ.
    pub surprises: Vec<String>,
    /// Claims on which a machine as disturbed as this one has nothing to say.
    pub unusable: Vec<String>,
}

/// The verdicts of a run under this noise: what was measured by an unusable machine is not comparable.
pub fn settle(tried: Vec<Tried>, noise: &Noise) -> Settled {
    let mut settled = Settled::default();
    for Tried { mut verdict, expected_to_differ, measured } in tried {
        if measured && noise.verdict == TrustLevel::Unusable && verdict.verdict != ClaimOutcome::NotComparable {
            // What else ran stands once, in the run's noise.
            verdict.reason =
                format!("machine unusable: its numbers tell of what else ran; by them: {}: {}", verdict.verdict, verdict.reason);
            verdict.verdict = ClaimOutcome::NotComparable;
            settled.unusable.push(verdict.id.clone());
        }
        match verdict.verdict {
            ClaimOutcome::Differs if !expected_to_differ => settled.differences.push(verdict.id.clone()),
            ClaimOutcome::Holds if expected_to_differ => settled.surprises.push(verdict.id.clone()),
            _ => {}
        }
        settled.verdicts.push(verdict);
    }
    settled
}

/// How much a reproduction of all papers is: `5 papers with 87 claims in 30 experiments`.
///
/// # Errors
/// If the claims cannot be read.
pub fn extent() -> Result<String> {
    let papers = claims::papers()?;
    let experiments: usize = papers.iter().map(|paper| experiments_of(&paper.paper).len()).sum();
    let claims: usize = papers.iter().map(|paper| paper.claim.len()).sum();
    Ok(format!("{} papers with {claims} claims in {experiments} experiments, for some minutes", papers.len()))
}

/// Tries the claims of one paper or of all, of one experiment or of all.
///
/// # Errors
/// If there is no such paper or experiment, or one cannot be run.
pub fn run(paper: Option<&str>, figure: Option<&str>, trial: &TrialOptions) -> Result<Reproduction> {
    let papers = claims::papers()?;
    let known: Vec<_> = papers.iter().map(|p| p.paper.clone()).collect();
    let chosen: Vec<Paper> = papers.into_iter().filter(|p| paper.is_none_or(|name| name == p.paper)).collect();
    if chosen.is_empty() {
        let (name, known) = (paper.unwrap_or_default(), known.iter().map(String::as_str).collect::<Vec<_>>());
        bail!("no paper `{name}`{}", meant(name, &known));
    }
    let mut all = Reproduction::default();
    for paper in &chosen {
        let claims: Vec<&Claim> = paper.claim.iter().filter(|c| figure.is_none_or(|name| name == c.check)).collect();
        if claims.is_empty() {
            let mut names: Vec<_> = paper.claim.iter().map(|c| c.check.as_str()).collect();
            names.dedup();
            let figure = figure.unwrap_or_default();
            bail!("no claim of {} is checked by `{figure}`{}", paper.paper, meant(figure, &names));
        }
        for experiment in experiments_of(&paper.paper).iter().filter(|e| claims.iter().any(|c| c.check == e.name)) {
            if interrupt::requested() {
                break;
            }
            let mut findings = Findings::default();
            let possible = !experiment.between_processors || affinity::allowed().len() > 1;
            if possible {
                (experiment.run)(trial, &mut findings)?;
            }
            all.measurements.append(&mut findings.measurements);
            all.timelines.append(&mut findings.timelines);
            all.notes.append(&mut findings.notes);
            for claim in claims.iter().filter(|c| c.check == experiment.name) {
                let answer = findings.answers.get(claim.id.as_str()).cloned();
                let answer = match answer {
                    // What an interrupted simulation gave is a part of what was asked for.
                    _ if interrupt::requested() => Answer::CannotTry("interrupted".into()),
                    Some(answer) => answer,
                    None if !possible => Answer::CannotTry("this process may use only one processor".into()),
                    None => Answer::CannotTry("the experiment gave no answer".into()),
                };
                all.tried.push(Tried {
                    verdict: judge::judge(paper, claim, answer),
                    expected_to_differ: claim.differs_because.is_some(),
                    measured: experiment.is_measured(trial),
                });
            }
        }
    }
    Ok(all)
}

/// Simulations give the same verdicts everywhere: every claim of these experiments is tried, and none comes
/// out otherwise than it is known to.
#[cfg(test)]
fn as_known(paper: &str, experiments: &[(&str, usize)]) {
    for &(experiment, claims) in experiments {
        let found = run(Some(paper), Some(experiment), &TrialOptions { quiet: true, ..TrialOptions::default() }).unwrap();
        let settled = settle(found.tried, &Noise::default());
        assert_eq!(settled.verdicts.len(), claims, "{experiment}");
        assert_eq!((settled.differences, settled.surprises), (vec![], vec![]), "{experiment}");
        let untried = |v: &&Verdict| v.verdict == ClaimOutcome::NotComparable && v.expected.is_some() && v.got.is_none();
        assert_eq!(settled.verdicts.iter().find(untried), None, "{experiment}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(id: &str, outcome: ClaimOutcome, expected_to_differ: bool, measured: bool) -> Tried {
        let verdict = Verdict {
            paper: "p".into(),
            id: id.into(),
            claim: String::new(),
            expected: None,
            got: None,
            unit: String::new(),
            verdict: outcome,
            reason: "seen".into(),
        };
        Tried { verdict, expected_to_differ, measured }
    }

    #[test]
    fn an_unusable_machine_judges_only_what_is_simulated() {
        let all = || {
            vec![
                tried("simulated", ClaimOutcome::Differs, false, false),
                tried("measured", ClaimOutcome::Differs, false, true),
                tried("surprise", ClaimOutcome::Holds, true, true),
                tried("untried", ClaimOutcome::NotComparable, false, true),
            ]
        };
        let unusable = Noise { verdict: TrustLevel::Unusable, facts: vec!["others used all of it".into()], ..Noise::default() };
        let settled = settle(all(), &unusable);
        assert_eq!(
            (settled.differences, settled.unusable),
            (vec!["simulated".into()], vec!["measured".into(), "surprise".into()])
        );
        assert_eq!(settled.surprises, [""; 0]);
        let outcomes: Vec<_> = settled.verdicts.iter().map(|v| v.verdict).collect();
        assert_eq!(
            outcomes,
            [ClaimOutcome::Differs, ClaimOutcome::NotComparable, ClaimOutcome::NotComparable, ClaimOutcome::NotComparable]
        );
        assert_eq!(settled.verdicts[1].reason, "machine unusable: its numbers tell of what else ran; by them: differs: seen");
        let quiet = settle(all(), &Noise { verdict: TrustLevel::Noisy, ..Noise::default() });
        assert_eq!((quiet.differences.len(), quiet.surprises.len(), quiet.unusable.len()), (2, 1, 0));
    }

    #[test]
    fn unknown_papers_and_experiments_are_errors_that_name_the_known_ones() {
        let error = run(Some("nobody1999"), None, &TrialOptions::default()).err().unwrap().to_string();
        assert!(error.contains("guignon2000"), "{error}");
        let error = run(Some("guignon2000"), Some("fig99"), &TrialOptions::default()).err().unwrap().to_string();
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

    #[test]
    fn figures_of_papers_are_about_claims_that_there_are_and_say_something() {
        for paper in claims::papers().unwrap() {
            for figure in &paper.figure {
                let of = |check: &String| paper.claim.iter().any(|claim| claim.check == *check);
                let named = |id: &String| paper.claim.iter().any(|claim| claim.id == *id);
                assert!(figure.checks.iter().all(of) && figure.claims.iter().all(named), "{}: {}", paper.paper, figure.number);
                assert!(!figure.number.is_empty() && !figure.shown.is_empty(), "{}: {figure:?}", paper.paper);
                for said in &figure.published {
                    let sound = said.points.iter().flatten().chain(&said.y).all(|value| value.is_finite());
                    let one = said.y.is_empty() != said.points.is_empty() && said.y.len() <= 2 && said.y.is_sorted();
                    assert!(sound && one && !said.text.is_empty(), "{}: {said:?}", paper.paper);
                }
            }
        }
    }
}
