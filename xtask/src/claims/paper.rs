//! One paper's claims, in our own words, with what is expected of them: fixed before the first run.
use crate::violation::Violation;
use serde::Deserialize;
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
    tolerance_reason: Option<String>,
    /// Why today's machines give another answer, where that is known before the run; a claim that holds after all is a
    /// surprise.
    differs_because: Option<String>,
    /// How the model was fitted to this very claim, so that agreement proves nothing.
    fitted_because: Option<String>,
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

fn line_at(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

impl Paper {
    /// Reads a file, or says where it is malformed.
    pub(super) fn parse(path: &str, text: &str) -> Result<Self, Violation> {
        toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(1, |span| line_at(text, span.start));
            Violation::new(path, line, "claims", error.message().replace('\n', ", "))
        })
    }

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
    fn problems(&self) -> Vec<&'static str> {
        let counted = matches!(self.kind, ClaimKind::Value | ClaimKind::Ratio);
        let given = |reason: &Option<String>| reason.as_deref().is_some_and(|reason| !blank(reason));
        let expects_none = matches!(self.expected, Some(Expected::Word(_)));
        let finite = !matches!(self.expected, Some(Expected::Number(number)) if !number.is_finite());
        let sound = self.tolerance.is_none_or(|tolerance| tolerance.is_finite() && tolerance >= 0.0);
        let wrong = [
            (!is_id(&self.id), "the id must be letters, digits and single dashes"),
            (blank(&self.text), "`text` must say in own words what the paper claims"),
            (blank(&self.section), "`section` must say where the claim stands"),
            (blank(&self.check), "`check` must name an experiment, or a plan as `plan:FILE`"),
            (self.unit.as_deref().is_some_and(blank), "`unit` is empty: name it or leave it out"),
            (counted && self.expected.is_none(), "a value or ratio needs `expected`, or \"none\" with an `expected-reason`"),
            (expects_none && !given(&self.expected_reason), "`expected = \"none\"` needs an `expected-reason`"),
            (!expects_none && self.expected_reason.is_some(), "`expected-reason` goes with `expected = \"none\"` only"),
            (self.differs_because.as_deref().is_some_and(blank), "`differs-because` is empty: say why or leave it out"),
            (self.fitted_because.as_deref().is_some_and(blank), "`fitted-because` is empty: say how or leave it out"),
            (self.fitted_because.is_some() && self.differs_because.is_some(), "what was fitted cannot be expected to differ"),
            (!finite, "`expected` must be finite"),
            (counted && !expects_none && self.tolerance.is_none(), "a value or ratio needs a `tolerance`"),
            (self.tolerance.is_some() && !given(&self.tolerance_reason), "`tolerance` needs a `tolerance-reason`"),
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
