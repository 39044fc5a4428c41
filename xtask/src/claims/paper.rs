//! One paper's claims, in our own words, with what is expected of them: fixed before the first run.
use crate::violation::Violation;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use std::collections::BTreeSet;
use toml::Spanned;

/// A file of `papers/`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Paper {
    /// The paper's name, which is also the file's.
    pub(super) paper: String,
    title: String,
    authors: String,
    year: u16,
    /// Its figures and what shows them: the experiments' own tests read these.
    #[serde(default, rename = "figure")]
    _figures: Vec<IgnoredAny>,
    #[serde(default)]
    pub(super) claim: Vec<Spanned<Claim>>,
}

/// One thing that the paper says and an experiment can test.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Claim {
    pub(super) id: String,
    section: String,
    text: String,
    kind: ClaimKind,
    expected: Option<Expected>,
    /// Why nothing is expected, where `expected` is "none".
    expected_reason: Option<String>,
    unit: Option<String>,
    /// Relative to what is expected.
    tolerance: Option<f64>,
    /// Absolute thresholds, in its place.
    at_least: Option<f64>,
    at_most: Option<f64>,
    between: Option<[f64; 2]>,
    /// Why the tolerance or the threshold is what it is.
    tolerance_reason: Option<String>,
    /// Why today's machines give another answer, where that is known before the run; a claim that holds after
    /// all is a surprise.
    differs_because: Option<String>,
    /// How the model was fitted to this very claim, so that agreement proves nothing.
    fitted_because: Option<String>,
    /// Which input of the model it is, so that agreement is by construction.
    given_because: Option<String>,
    /// Why no run can decide it.
    not_comparable_because: Option<String>,
    /// What makes it differ.
    pub(super) fails_with: Option<FailsWith>,
    /// The experiment's name, or `plan:` and a file.
    pub(super) check: String,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum ClaimKind {
    /// One thing is less than another.
    Ordering,
    /// A number with a unit.
    Value,
    /// A number that two runs are compared by.
    Ratio,
    /// Something that holds or does not.
    Statement,
    /// A plain fact, in which nothing is counted or measured.
    YesNo,
}

/// What shows that a claim can fail.
#[derive(Deserialize)]
#[serde(untagged, expecting = "fails-with must be a number, or the name of a mutant of papers/mutants.toml")]
pub(super) enum FailsWith {
    /// An answer that differs; that it does is a test of the judge.
    Bound(f64),
    Mutant(String),
}

/// What can come of a claim, by what its file says.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Standing {
    MayHold,
    ExpectedToDiffer,
    Fitted,
    Given,
    NotComparable,
    NoNumber,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected must be a number, or \"none\" with an expected-reason")]
enum Expected {
    Number(f64),
    Word(NoneWord),
}

#[derive(Deserialize)]
enum NoneWord {
    #[serde(rename = "none")]
    Nothing,
}

/// The line on which a claim begins.
pub(super) fn line(text: &str, claim: &Spanned<Claim>) -> usize {
    line_at(text, claim.span().start)
}

pub(super) fn line_at(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// Reads a file, or says where it is malformed.
pub(super) fn parse<T: DeserializeOwned>(path: &str, text: &str) -> Result<T, Violation> {
    toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(1, |span| line_at(text, span.start));
        Violation::new(path, line, "claims", error.message().replace('\n', ", "))
    })
}

impl Paper {
    /// What is wrong with the claims, their experiments left aside.
    pub(super) fn violations(&self, path: &str, text: &str) -> Vec<Violation> {
        let mut violations = Vec::new();
        let mut complain = |line, what: String| violations.push(Violation::new(path, line, "claims", what));
        if path != format!("papers/{}.toml", self.paper) {
            complain(1, format!("`paper = \"{}\"` and the name of the file must agree", self.paper));
        }
        if blank(&self.title) || blank(&self.authors) || !(1900..2100).contains(&self.year) {
            complain(1, "title, authors and year must say which paper this is".to_owned());
        }
        if self.claim.is_empty() {
            complain(1, "there is no claim: write at least one [[claim]]".to_owned());
        }
        let mut seen = BTreeSet::new();
        for claim in &self.claim {
            let (line, claim) = (line(text, claim), claim.get_ref());
            if !seen.insert(&claim.id) {
                complain(line, format!("claim `{}`: the id is taken by another claim of this paper", claim.id));
            }
            claim.problems().into_iter().for_each(|problem| complain(line, format!("claim `{}`: {problem}", claim.id)));
        }
        violations
    }
}

impl Claim {
    /// What can come of it.
    pub(super) fn standing(&self) -> Standing {
        match self {
            _ if self.differs_because.is_some() => Standing::ExpectedToDiffer,
            _ if self.fitted_because.is_some() => Standing::Fitted,
            _ if self.given_because.is_some() => Standing::Given,
            _ if self.not_comparable_because.is_some() => Standing::NotComparable,
            _ if self.expected_reason.is_some() && self.thresholds() == 0 => Standing::NoNumber,
            _ => Standing::MayHold,
        }
    }

    /// Absolute thresholds that it names: one at most.
    fn thresholds(&self) -> usize {
        [self.at_least.is_some(), self.at_most.is_some(), self.between.is_some()].into_iter().filter(|&named| named).count()
    }

    fn problems(&self) -> Vec<&'static str> {
        let counted = matches!(self.kind, ClaimKind::Value | ClaimKind::Ratio);
        let given = |reason: &Option<String>| reason.as_deref().is_some_and(|reason| !blank(reason));
        let expects_none = matches!(self.expected, Some(Expected::Word(_)));
        let finite = !matches!(self.expected, Some(Expected::Number(number)) if !number.is_finite());
        let sound = self.tolerance.is_none_or(|tolerance| tolerance.is_finite() && tolerance >= 0.0);
        let thresholds = self.thresholds();
        let ends = [self.at_least, self.at_most].into_iter().flatten().chain(self.between.into_iter().flatten());
        let ordered = self.between.is_none_or(|[least, most]| least <= most) && ends.into_iter().all(f64::is_finite);
        let because = [&self.differs_because, &self.fitted_because, &self.given_because, &self.not_comparable_because];
        let yes_no = self.kind == ClaimKind::YesNo;
        let wrong = [
            (!is_id(&self.id), "the id must be letters, digits and single dashes"),
            (blank(&self.text), "`text` must say in own words what the paper claims"),
            (blank(&self.section), "`section` must say where the claim stands"),
            (blank(&self.check), "`check` must name an experiment, or a plan as `plan:FILE`"),
            (self.unit.as_deref().is_some_and(blank), "`unit` is empty: name it or leave it out"),
            (
                counted && self.expected.is_none() && thresholds == 0,
                "a value or ratio needs `expected`, a threshold, or \"none\" with an `expected-reason`",
            ),
            (expects_none && !given(&self.expected_reason), "`expected = \"none\"` needs an `expected-reason`"),
            (!expects_none && self.expected_reason.is_some(), "`expected-reason` goes with `expected = \"none\"` only"),
            (self.differs_because.as_deref().is_some_and(blank), "`differs-because` is empty: say why or leave it out"),
            (self.fitted_because.as_deref().is_some_and(blank), "`fitted-because` is empty: say how or leave it out"),
            (self.given_because.as_deref().is_some_and(blank), "`given-because` is empty: say why or leave it out"),
            (
                because.into_iter().flatten().count() > 1,
                "a claim has one standing: name one of `differs-`, `fitted-`, `given-` and `not-comparable-because`",
            ),
            (
                self.not_comparable_because.as_deref().is_some_and(blank),
                "`not-comparable-because` is empty: say why or leave it out",
            ),
            (
                thresholds + usize::from(self.tolerance.is_some()) > 1,
                "name one of `at-least`, `at-most`, `between` and `tolerance`: they are all there is to judge by",
            ),
            (yes_no && (thresholds > 0 || self.tolerance.is_some()), "a yes or no has no threshold: let it count something"),
            (
                !yes_no && !counted && !expects_none && self.tolerance.is_none() && thresholds == 0,
                "nothing to judge by: name a threshold, or `kind = \"yes-no\"`",
            ),
            (
                !counted && self.tolerance.is_some() && !matches!(self.expected, Some(Expected::Number(_))),
                "`tolerance` is relative to an `expected` number: name that, or a threshold",
            ),
            (!ordered, "a threshold must be finite, and `between` go from the least to the most"),
            (
                matches!(self.fails_with, Some(FailsWith::Bound(bound)) if !bound.is_finite()),
                "the number in `fails-with` must be finite",
            ),
            (
                yes_no && matches!(self.fails_with, Some(FailsWith::Bound(_))),
                "a yes or no has no number to fail with: name a mutant",
            ),
            (!finite, "`expected` must be finite"),
            (
                counted && !expects_none && self.tolerance.is_none() && thresholds == 0,
                "a value or ratio needs a `tolerance` or a threshold",
            ),
            (
                (self.tolerance.is_some() || thresholds > 0) && !given(&self.tolerance_reason),
                "`tolerance`, or a threshold, needs a `tolerance-reason`",
            ),
            (!sound, "`tolerance` must be finite and not negative"),
        ];
        wrong.into_iter().filter_map(|(wrong, what)| wrong.then_some(what)).collect()
    }
}

fn blank(text: &str) -> bool {
    text.trim().is_empty()
}

fn is_id(text: &str) -> bool {
    text.split('-').all(|part| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::{Paper, parse};

    const GOOD: &str = r#"paper = "guignon2000"
title = "T"
authors = "A"
year = 2000
[[claim]]
id = "spin-2"
section = "2.1"
text = "Spinning is fastest."
kind = "ratio"
expected = 1.5
unit = "x"
tolerance = 0.10
tolerance-reason = "the paper's own deviation"
check = "ping-pong"
"#;

    /// The lines of the violations and what they say, of the good file with `from` replaced.
    fn spoilt(from: &str, to: &str) -> Vec<(usize, String)> {
        assert!(GOOD.contains(from), "{from}");
        let text = GOOD.replace(from, to);
        let path = "papers/guignon2000.toml";
        let found = parse::<Paper>(path, &text).map_or_else(|violation| vec![violation], |paper| paper.violations(path, &text));
        found.into_iter().map(|violation| (violation.line, violation.what)).collect()
    }

    fn assert_one(from: &str, to: &str, line: usize, says: &str) {
        let found = spoilt(from, to);
        assert!(matches!(&found[..], [(at, what)] if *at == line && what.contains(says)), "{from} -> {to}: {found:?}");
    }

    #[test]
    fn sound_claims_pass() {
        let counted = "expected = 1.5\nunit = \"x\"\ntolerance = 0.10\ntolerance-reason = \"the paper's own deviation\"\n";
        assert_eq!(spoilt("id", "id"), []);
        assert_eq!(spoilt("1.5", "1"), []);
        assert_eq!(spoilt("1.5", "-1.5"), []);
        assert_eq!(spoilt(counted, "expected = \"none\"\nexpected-reason = \"only drawn\"\n"), []);
        for kind in ["ordering", "statement"] {
            assert_one(&format!("ratio\"\n{counted}"), &format!("{kind}\"\n"), 5, "nothing to judge by");
            let without = "tolerance = 0.0\ntolerance-reason = \"as it is\"\n";
            assert_one(&format!("ratio\"\n{counted}"), &format!("{kind}\"\n{without}"), 5, "relative to an `expected`");
            assert_eq!(spoilt("ratio", kind), []);
        }
    }

    #[test]
    fn malformed_files_are_named_with_their_line() {
        assert_one("year = 2000", "year = ", 4, "");
        assert_one("year = 2000\n", "", 1, "year");
        assert_one("unit", "units", 11, "unknown field `units`");
        assert_one("year", "note = 1\nyear", 4, "unknown field `note`");
        assert_one("\"ratio\"", "\"guess\"", 9, "unknown variant `guess`");
        assert_one("1.5", "\"many\"", 10, "expected must be a number");
        assert_one("check = \"ping-pong\"\n", "", 5, "check");
    }

    #[test]
    fn the_paper_is_named_as_its_file() {
        assert_one("guignon2000", "guignon2001", 1, "must agree");
        assert_one("\"T\"", "\" \"", 1, "which paper");
        assert_one("2000\n[", "20\n[", 1, "which paper");
        assert_one(&GOOD[GOOD.find("[[claim]]").unwrap()..], "", 1, "no claim");
    }

    #[test]
    fn ids_are_unique_and_well_shaped() {
        let claim = &GOOD[GOOD.find("[[claim]]").unwrap()..];
        assert_one(claim, &format!("{claim}{claim}"), 15, "taken");
        for bad in ["", "spin_2", "spin 2", "-spin", "spin-", "spin--2", "späte"] {
            assert_one("spin-2", bad, 5, "letters, digits and single dashes");
        }
    }

    #[test]
    fn every_field_says_something() {
        assert_one("Spinning is fastest.", " ", 5, "`text`");
        assert_one("2.1", "", 5, "`section`");
        assert_one("ping-pong", "", 5, "`check`");
        assert_one("\"x\"", "\"\"", 5, "`unit`");
        assert_one("check", "differs-because = \"\"\ncheck", 5, "`differs-because`");
        assert_one("check", "fitted-because = \" \"\ncheck", 5, "`fitted-because`");
        assert_one("check", "fitted-because = \"a\"\ndiffers-because = \"b\"\ncheck", 5, "name one of");
        assert_one("check", "given-because = \"\"\ncheck", 5, "`given-because`");
        assert_one("check", "not-comparable-because = \" \"\ncheck", 5, "`not-comparable-because`");
        assert_one("check", "not-comparable-because = \"a\"\ngiven-because = \"b\"\ncheck", 5, "name one of");
        assert_one("check", "fitted-because = \"a\"\ngiven-because = \"b\"\ncheck", 5, "name one of");
        assert_eq!(spoilt("check", "fitted-because = \"its length was chosen for it\"\ncheck"), []);
    }

    #[test]
    fn numbers_are_given_with_their_reasons() {
        assert_one("expected = 1.5\n", "", 5, "needs `expected`");
        assert_one("1.5", "\"none\"", 5, "needs an `expected-reason`");
        assert_one("unit", "expected-reason = \"why\"\nunit", 5, "goes with");
        assert_one("1.5", "inf", 5, "finite");
        assert_one(
            "tolerance = 0.10\ntolerance-reason = \"the paper's own deviation\"\n",
            "",
            5,
            "needs a `tolerance` or a threshold",
        );
        assert_one("tolerance-reason = \"the paper's own deviation\"\n", "", 5, "needs a `tolerance-reason`");
        assert_one("the paper's own deviation", "", 5, "needs a `tolerance-reason`");
        assert_one("0.10", "-0.10", 5, "not negative");
        assert_one("0.10", "nan", 5, "finite");
    }

    #[test]
    fn one_threshold_takes_the_place_of_a_tolerance() {
        let counted = "expected = 1.5\nunit = \"x\"\ntolerance = 0.10";
        for threshold in ["at-least = 3", "at-most = -1.5", "between = [1, 2]", "between = [1, 1]"] {
            assert_eq!(spoilt(counted, threshold), []);
        }
        assert_one("tolerance =", "at-least = 1\ntolerance =", 5, "name one of");
        assert_one(counted, "at-least = 1\nat-most = 2", 5, "name one of");
        assert_one(counted, "between = [2, 1]", 5, "least to the most");
        assert_one(counted, "at-least = inf", 5, "finite");
        assert_one(counted, "between = [1]", 10, "");
        let reason = format!("{counted}\ntolerance-reason = \"the paper's own deviation\"");
        assert_one(&reason, "at-least = 3", 5, "needs a `tolerance-reason`");
        let yes_no = |rest: &str| format!("yes-no\"\n{rest}");
        let all = format!("ratio\"\n{reason}");
        assert_eq!(spoilt(&all, &yes_no("fails-with = \"a-mutant\"")), []);
        assert_one(&all, &yes_no("fails-with = 1.5"), 5, "no number to fail with");
        assert_one("ratio", "yes-no", 5, "no threshold");
    }
}
