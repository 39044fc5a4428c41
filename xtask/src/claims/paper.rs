//! One paper's claims, in our own words, with what is expected of them: fixed before the first run.
use crate::violation::Violation;
use serde::Deserialize;
use serde::de::DeserializeOwned;
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
    /// Why today's machines give another answer, where that is known before the run; a claim that holds after all is a
    /// surprise.
    differs_because: Option<String>,
    /// How the model was fitted to this very claim, so that agreement proves nothing.
    fitted_because: Option<String>,
    /// Which input of the model it is, so that agreement is by construction.
    given_because: Option<String>,
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
    NoNumber,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected must be a number, or \"none\" with an expected-reason")]
enum Expected {
    Number(f64),
    Word(Nothing),
}

#[derive(Deserialize)]
enum Nothing {
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
        let because = [&self.differs_because, &self.fitted_because, &self.given_because];
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
                "what was fitted or given cannot be expected to differ: name one of `differs-`, `fitted-` and `given-because`",
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
mod tests;
