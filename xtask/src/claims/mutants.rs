//! `papers/mutants.toml`: changes to the code, each of which some verdicts must notice; so a claim that holds
//! could have failed.
use super::paper::{line_at, parse};
use crate::tree::Tree;
use crate::violation::Violation;
use serde::Deserialize;
use std::collections::BTreeSet;
use toml::Spanned;

pub(crate) const FILE: &str = "papers/mutants.toml";

/// The file.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mutants {
    #[serde(default)]
    mutant: Vec<Spanned<Mutant>>,
}

/// One change.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mutant {
    /// What claims call it by.
    pub(crate) name: String,
    /// From the root of the repository.
    pub(crate) file: String,
    /// The text that is replaced: it occurs once.
    pub(crate) from: String,
    pub(crate) to: String,
    /// The paper whose experiments have to notice.
    pub(crate) paper: String,
    pub(crate) experiments: Vec<String>,
    /// The claims whose verdict changes.
    pub(crate) reacts: Vec<String>,
    /// What the change means.
    pub(crate) why: String,
}

impl Mutants {
    /// Those of a tree, none if it has no such file.
    pub(crate) fn of(tree: &Tree) -> Result<Self, Violation> {
        tree.text(FILE).map_or_else(|| Ok(Self::default()), |text| parse(FILE, text))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Mutant> {
        self.mutant.iter().map(Spanned::get_ref)
    }

    /// Returns whether this mutant says that this claim notices it.
    pub(super) fn touches(&self, name: &str, paper: &str, claim: &str) -> bool {
        self.iter().any(|mutant| mutant.name == name && mutant.paper == paper && mutant.reacts.iter().any(|id| id == claim))
    }

    /// What is wrong with them; `claims` are all papers' claims, by paper, id and experiment.
    pub(super) fn violations(&self, tree: &Tree, claims: &BTreeSet<(String, String, String)>) -> Vec<Violation> {
        let (mut violations, mut names) = (Vec::new(), BTreeSet::new());
        let text = tree.text(FILE).unwrap_or_default();
        for spanned in &self.mutant {
            let mutant = spanned.get_ref();
            let mut complain = |what: String| {
                let what = format!("mutant `{}`: {what}", mutant.name);
                violations.push(Violation::new(FILE, line_at(text, spanned.span().start), "mutant", what));
            };
            if !names.insert(&mutant.name) {
                complain("the name is taken by another one".to_owned());
            }
            match tree.text(&mutant.file).map(|code| code.matches(&mutant.from).count()) {
                Some(1) => {}
                Some(count) => complain(format!("its `from` occurs {count} times in {}, not once", mutant.file)),
                None => complain(format!("there is no file `{}`", mutant.file)),
            }
            if mutant.from == mutant.to || mutant.why.trim().is_empty() {
                complain("it must change something, and say in `why` what that means".to_owned());
            }
            if mutant.reacts.is_empty() {
                complain("no claim reacts: name at least one".to_owned());
            }
            for id in &mutant.reacts {
                let known = |experiment: &String| claims.contains(&(mutant.paper.clone(), id.clone(), experiment.clone()));
                if !mutant.experiments.iter().any(known) {
                    complain(format!("`{id}` is no claim of {} that its `experiments` try", mutant.paper));
                }
            }
        }
        violations
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "[[mutant]]\nname = \"m\"\nfile = \"a.rs\"\nfrom = \"75\"\nto = \"76\"\npaper = \"p\"\nexperiments = [\"e\"]\n\
                        reacts = [\"c\"]\nwhy = \"a dearer null message\"\n";

    fn found(mutants: &str) -> Vec<String> {
        let tree = Tree::of([(FILE, mutants), ("a.rs", "//! A.\nconst NULL: u32 = 75;\nconst TWICE: (u32, u32) = (9, 9);\n")]);
        let claims = BTreeSet::from([("p".to_owned(), "c".to_owned(), "e".to_owned())]);
        match Mutants::of(&tree) {
            Ok(mutants) => mutants.violations(&tree, &claims).into_iter().map(|violation| violation.what).collect(),
            Err(violation) => vec![violation.what],
        }
    }

    #[test]
    fn a_mutant_changes_one_place_and_names_claims_that_are_there() {
        assert_eq!(found(GOOD), [""; 0]);
        let cases = [
            ("\"75\"", "\"77\"", "occurs 0 times"),
            ("\"75\"", "\"9\"", "occurs 2 times"),
            ("a.rs", "b.rs", "no file"),
            ("\"76\"", "\"75\"", "must change something"),
            ("a dearer null message", " ", "must change something"),
            ("[\"c\"]", "[]", "no claim reacts"),
            ("[\"c\"]", "[\"d\"]", "`d` is no claim of p"),
            ("[\"e\"]", "[\"f\"]", "`c` is no claim of p"),
            ("why", "because", "unknown field"),
        ];
        for (from, to, says) in cases {
            let found = found(&GOOD.replace(from, to));
            assert!(matches!(&found[..], [one] if one.contains(says)), "{from} -> {to}: {found:?}");
        }
        assert!(found(&format!("{GOOD}{GOOD}")).iter().any(|what| what.contains("taken")));
    }

    #[test]
    fn a_claim_is_touched_by_the_mutant_that_names_it() {
        let mutants = Mutants::of(&Tree::of([(FILE, GOOD)])).ok().unwrap();
        assert!(mutants.touches("m", "p", "c"));
        assert!(!mutants.touches("m", "p", "d") && !mutants.touches("n", "p", "c") && !mutants.touches("m", "q", "c"));
    }
}
