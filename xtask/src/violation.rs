//! What a chore finds wrong, in a form that editors can follow: `path:line: rule: what to do`.
use std::fmt;

/// One breach of one rule. Sorts by place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Violation {
    pub(crate) path: String,
    pub(crate) line: usize,
    pub(crate) rule: &'static str,
    /// What is wrong, and the remedy.
    pub(crate) what: String,
}

impl Violation {
    pub(crate) fn new(path: &str, line: usize, rule: &'static str, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, rule, what: what.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}: {}", self.path, self.line, self.rule, self.what)
    }
}

/// Lines and rules alone: what most tests want to see.
#[cfg(test)]
pub(crate) fn lines_of(violations: &[Violation]) -> Vec<(usize, &'static str)> {
    violations.iter().map(|violation| (violation.line, violation.rule)).collect()
}

#[cfg(test)]
mod tests {
    use super::Violation;

    #[test]
    fn reads_as_editors_expect() {
        let violation = Violation::new("core/a.rs", 3, "word", "say it in an issue");
        assert_eq!(violation.to_string(), "core/a.rs:3: word: say it in an issue");
    }
}
