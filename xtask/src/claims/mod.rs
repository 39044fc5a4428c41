//! Faith to the papers: every claim is well formed, fixed before it is measured, and has an experiment that tests it.
mod experiments;
pub(crate) mod mutants;
mod paper;

use crate::tree::Tree;
use crate::violation::Violation;
use mutants::Mutants;
use paper::{Claim, FailsWith, Paper, Standing, parse};
use std::collections::BTreeSet;

const PLAN: &str = "plan:";

/// All violations, and the coverage: a line per paper.
pub(crate) fn run(tree: &Tree) -> (Vec<Violation>, String) {
    let experiments = experiments::all(tree);
    let (mut violations, mut coverage, mut known) = (Vec::new(), Vec::new(), BTreeSet::new());
    let mutants = Mutants::of(tree).unwrap_or_else(|violation| {
        violations.push(violation);
        Mutants::default()
    });
    let is_paper = |path: &str| path != mutants::FILE && path.strip_prefix("papers/").is_some_and(|name| !name.contains('/'));
    for (path, text) in tree.ending(".toml").filter(|(path, _)| is_paper(path)) {
        match parse::<Paper>(path, text) {
            Ok(paper) => {
                violations.extend(paper.violations(path, text));
                let exists = |check: &str| match check.strip_prefix(PLAN) {
                    Some(file) => tree.text(file).is_some(),
                    None => experiments.contains(check),
                };
                let lacking = paper.claim.iter().filter(|claim| !exists(&claim.get_ref().check));
                let lacking: Vec<_> = lacking.map(|claim| missing(path, text, claim)).collect();
                coverage.push(covered(&paper, lacking.len()));
                violations.extend(lacking);
                violations.extend(paper.claim.iter().filter_map(|claim| infallible(path, text, &paper, claim, &mutants)));
                known.extend(paper.claim.iter().map(|claim| {
                    let claim = claim.get_ref();
                    (paper.paper.clone(), claim.id.clone(), claim.check.clone())
                }));
            }
            Err(violation) => {
                coverage.push(format!("{path}: unreadable"));
                violations.push(violation);
            }
        }
    }
    if coverage.is_empty() {
        let what = "there is no papers/*.toml: write down the claims that the experiments are to test";
        violations.push(Violation::new("papers", 1, "claims", what));
        coverage.push("no papers".to_owned());
    }
    violations.extend(mutants.violations(tree, &known));
    violations.sort();
    let mutants = mutants.iter().count();
    coverage.push(format!("{} experiments, {mutants} mutants, {} violations", experiments.len(), violations.len()));
    (violations, coverage.join("\n"))
}

/// The line of one paper: how many of its claims are tried, and what can come of them.
fn covered(paper: &Paper, without: usize) -> String {
    let all = paper.claim.len();
    let count = |standing| paper.claim.iter().filter(|claim| claim.get_ref().standing() == standing).count();
    let words = [
        (Standing::MayHold, "may hold"),
        (Standing::ExpectedToDiffer, "are expected to differ"),
        (Standing::Fitted, "are fitted"),
        (Standing::Given, "are given"),
        (Standing::NoNumber, "have no number"),
    ];
    let told = words.map(|(standing, words)| (count(standing), words)).into_iter().filter(|(count, _)| *count > 0);
    let told: Vec<_> = told.map(|(count, words)| format!("{count} {words}")).collect();
    format!("{}: {all} claims, {} with an experiment, {without} without; {}", paper.paper, all - without, told.join(", "))
}

/// Says of a claim that names what makes it fail that there is no such thing.
fn infallible(path: &str, text: &str, paper: &Paper, claim: &toml::Spanned<Claim>, mutants: &Mutants) -> Option<Violation> {
    let (line, claim) = (paper::line(text, claim), claim.get_ref());
    let what = match &claim.fails_with {
        Some(FailsWith::Mutant(name)) if !mutants.touches(name, &paper.paper, &claim.id) => {
            format!("no mutant `{name}` of {} names it among those that react ({})", paper.paper, mutants::FILE)
        }
        _ => return None,
    };
    Some(Violation::new(path, line, "mutant", format!("claim `{}`: {what}", claim.id)))
}

fn missing(path: &str, text: &str, claim: &toml::Spanned<Claim>) -> Violation {
    let (id, check) = (&claim.get_ref().id, &claim.get_ref().check);
    let what = match check.strip_prefix(PLAN) {
        Some(file) => format!("claim `{id}`: there is no plan `{file}` (paths are relative to the repository)"),
        None => format!("claim `{id}`: nothing under {} says `experiment(\"{check}\"`", experiments::HOME),
    };
    Violation::new(path, paper::line(text, claim), "experiment", what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::violation::lines_of;

    const HEAD: &str = "paper = \"p\"\ntitle = \"T\"\nauthors = \"A\"\nyear = 2000\n";
    const CODE: &str = "//! E.\npub(super) fn all() { experiment(\"ping-pong\", run) }\n";

    fn claim(id: &str, check: &str) -> String {
        format!("[[claim]]\nid = \"{id}\"\nsection = \"2.1\"\ntext = \"t\"\nkind = \"ordering\"\ncheck = \"{check}\"\n")
    }

    #[test]
    fn covered_papers_pass_and_are_counted() {
        let paper = format!("{HEAD}{}{}", claim("a", "ping-pong"), claim("b", "plan:lab/plans/one.toml"));
        let tree = [("papers/p.toml", paper.as_str()), ("lab/reproduce/src/a.rs", CODE), ("lab/plans/one.toml", "")];
        let (violations, coverage) = run(&Tree::of(tree));
        assert_eq!(violations, []);
        assert_eq!(coverage, "p: 2 claims, 2 with an experiment, 0 without; 2 may hold\n1 experiments, 0 mutants, 0 violations");
    }

    #[test]
    fn a_claim_without_experiment_is_a_violation_at_its_line() {
        let paper = format!("{HEAD}{}{}{}", claim("a", "ping-pong"), claim("b", "gone"), claim("c", "plan:gone.toml"));
        let (violations, coverage) = run(&Tree::of([("papers/p.toml", &paper), ("lab/reproduce/src/a.rs", CODE)]));
        assert_eq!(lines_of(&violations), [(11, "experiment"), (17, "experiment")]);
        assert!(violations[0].what.contains("`b`") && violations[0].what.contains("experiment(\"gone\""));
        assert!(coverage.starts_with("p: 3 claims, 1 with an experiment, 2 without; 3 may hold\n"), "{coverage}");
    }

    #[test]
    fn no_papers_and_unreadable_papers_are_violations() {
        let (violations, _) = run(&Tree::of([("lab/reproduce/src/a.rs", CODE), ("papers/README.md", "")]));
        assert_eq!(lines_of(&violations), [(1, "claims")]);
        let paper = format!("{HEAD}yaer = 1\n");
        let (violations, coverage) = run(&Tree::of([("papers/p.toml", paper.as_str())]));
        assert_eq!(lines_of(&violations), [(5, "claims")]);
        assert!(coverage.starts_with("papers/p.toml: unreadable\n"));
    }
}
