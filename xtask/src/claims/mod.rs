//! Faith to the papers: every claim is well formed, fixed before it is measured, and has an experiment that
//! tests it.
pub(crate) mod mutants;
mod paper;

use crate::source::{Source, each_level};
use crate::tree::Tree;
use crate::violation::Violation;
use mutants::Mutants;
use paper::{Claim, FailsWith, Paper, Standing, parse};
use proc_macro2::{Delimiter, TokenTree};
use std::collections::BTreeSet;

const PLAN: &str = "plan:";

/// All violations, and the coverage: a line per paper.
pub(crate) fn run(tree: &Tree) -> (Vec<Violation>, String) {
    let experiments = experiments(tree);
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
        (Standing::NotComparable, "cannot be compared"),
        (Standing::NoNumber, "have no number"),
    ];
    let told = words.map(|(standing, words)| (count(standing), words)).into_iter().filter(|(count, _)| *count > 0);
    let told: Vec<_> = told.map(|(count, words)| format!("{count} {words}")).collect();
    format!("{}: {all} claims, {} with an experiment, {without} without; {}", paper.paper, all - without, told.join(", "))
}

/// Says of a claim that may hold that nothing makes it fail: it names neither a number nor a mutant that is
/// there.
fn infallible(path: &str, text: &str, paper: &Paper, claim: &toml::Spanned<Claim>, mutants: &Mutants) -> Option<Violation> {
    let (line, claim) = (paper::line(text, claim), claim.get_ref());
    let what = match &claim.fails_with {
        Some(FailsWith::Mutant(name)) if !mutants.touches(name, &paper.paper, &claim.id) => {
            format!("no mutant `{name}` of {} names it among those that react ({})", paper.paper, mutants::FILE)
        }
        None if claim.standing() == Standing::MayHold => {
            "nothing makes it fail: name a number in `fails-with`, or a mutant".to_owned()
        }
        _ => return None,
    };
    Some(Violation::new(path, line, "mutant", format!("claim `{}`: {what}", claim.id)))
}

fn missing(path: &str, text: &str, claim: &toml::Spanned<Claim>) -> Violation {
    let (id, check) = (&claim.get_ref().id, &claim.get_ref().check);
    let what = match check.strip_prefix(PLAN) {
        Some(file) => format!("claim `{id}`: there is no plan `{file}` (paths are relative to the repository)"),
        None => format!("claim `{id}`: nothing under {} says `experiment(\"{check}\"`", HOME),
    };
    Violation::new(path, paper::line(text, claim), "experiment", what)
}

/// Where experiments live.
const HOME: &str = "lab/reproduce/src/";

/// Every first argument of `experiment(..)` that is a string, tests left out.
fn experiments(tree: &Tree) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    // A file that does not parse is the business of `tidy` and of the compiler.
    let (sources, _) = Source::all(tree);
    for source in sources.into_iter().filter(|source| source.path.starts_with(HOME) && !source.test) {
        each_level(source.tokens, &mut |level| {
            for pair in level.windows(2) {
                if let [TokenTree::Ident(word), TokenTree::Group(arguments)] = pair
                    && word == "experiment"
                    && arguments.delimiter() == Delimiter::Parenthesis
                    && let Some(TokenTree::Literal(first)) = arguments.stream().into_iter().next()
                    && let syn::Lit::Str(name) = syn::Lit::new(first)
                {
                    names.insert(name.value());
                }
            }
        });
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::violation::lines_of;

    const HEAD: &str = "paper = \"p\"\ntitle = \"T\"\nauthors = \"A\"\nyear = 2000\n";
    const CODE: &str = "//! E.\npub(super) fn all() { experiment(\"ping-pong\", run) }\n";

    fn claim(id: &str, check: &str) -> String {
        format!(
            "[[claim]]\nid = \"{id}\"\nsection = \"2.1\"\ntext = \"t\"\nkind = \"ordering\"\nat-least = 1\n\
             tolerance-reason = \"r\"\nfails-with = 0\ncheck = \"{check}\"\n"
        )
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
        assert_eq!(lines_of(&violations), [(14, "experiment"), (23, "experiment")]);
        assert!(violations[0].what.contains("`b`") && violations[0].what.contains("experiment(\"gone\""));
        assert!(coverage.starts_with("p: 3 claims, 1 with an experiment, 2 without; 3 may hold\n"), "{coverage}");
    }

    #[test]
    fn a_claim_that_may_hold_names_what_makes_it_fail() {
        let mutant = "[[mutant]]\nname = \"m\"\nfile = \"lab/reproduce/src/a.rs\"\nfrom = \"run\"\nto = \"ran\"\npaper = \"p\"\n\
                      experiments = [\"ping-pong\"]\nreacts = [\"a\"]\nwhy = \"w\"\n";
        let found = |from: &str, to: &str| {
            let paper = format!("{HEAD}{}", claim("a", "ping-pong").replace(from, to));
            let files = [("papers/p.toml", paper.as_str()), ("lab/reproduce/src/a.rs", CODE), (mutants::FILE, mutant)];
            let (violations, _) = run(&Tree::of(files));
            violations.into_iter().map(|violation| violation.what).collect::<Vec<_>>()
        };
        assert_eq!(found("", ""), [""; 0]);
        assert_eq!(found("fails-with = 0", "fails-with = \"m\""), [""; 0]);
        assert!(matches!(&found("fails-with = 0\n", "")[..], [one] if one.contains("nothing makes it fail")));
        assert!(matches!(&found("fails-with = 0", "fails-with = \"n\"")[..], [one] if one.contains("no mutant `n`")));
        for because in ["differs-because", "fitted-because", "given-because", "not-comparable-because"] {
            assert_eq!(found("fails-with = 0", &format!("{because} = \"b\"")), [""; 0]);
        }
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

    #[test]
    fn registered_names_count_and_other_strings_do_not() {
        let code = "//! E.\n// experiment(\"comment\")\nfn all() {\n vec![experiment(\"a-b\", f), x::experiment(r\"c\")];\n \
                    say(\"experiment(\\\"string\\\")\"); experiment(name); other(\"d\"); }\n";
        let elsewhere = "//! E.\nfn f() { experiment(\"elsewhere\") }\n";
        let tree = Tree::of([
            ("lab/reproduce/src/a.rs", code),
            ("lab/reproduce/src/tests.rs", elsewhere),
            ("lab/measure/src/a.rs", elsewhere),
        ]);
        assert_eq!(experiments(&tree).into_iter().collect::<Vec<_>>(), ["a-b", "c"]);
    }
}
