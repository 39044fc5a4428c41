//! What the papers claim, from `papers/`, built into the program.
use anyhow::{Context, Result};
use serde::Deserialize;

/// The files of `papers/`.
const FILES: [(&str, &str); 5] = [
    ("guignon2000", include_str!("../../../papers/guignon2000.toml")),
    ("itzkovitz-schuster1999", include_str!("../../../papers/itzkovitz-schuster1999.toml")),
    ("namyst1999", include_str!("../../../papers/namyst1999.toml")),
    ("seidel-davis1992", include_str!("../../../papers/seidel-davis1992.toml")),
    ("tsafrir-feitelson2002", include_str!("../../../papers/tsafrir-feitelson2002.toml")),
];

/// One paper. `cargo xtask claims` checks the files more strictly than is needed to run them.
#[derive(Debug, Default, Deserialize)]
pub struct Paper {
    /// Its short name.
    pub paper: String,
    /// Its title.
    pub title: String,
    /// Its authors.
    pub authors: String,
    /// When it appeared.
    pub year: u16,
    /// Its figures and tables, and parts of it that a report has figures of.
    #[serde(default)]
    pub figure: Vec<PaperFigure>,
    /// Its claims.
    pub claim: Vec<Claim>,
}

/// A figure, a table or a section of the paper that a report shows.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PaperFigure {
    /// What the paper calls it: `figure 5`, `section 5.1`.
    pub number: String,
    /// What shows it here: the names of plans, timelines and figures of the report.
    pub shown: Vec<String>,
    /// The experiments whose claims are about it.
    #[serde(default)]
    pub checks: Vec<String>,
    /// Further claims about it, by their names.
    #[serde(default)]
    pub claims: Vec<String>,
    /// What the paper says in it.
    #[serde(default)]
    pub published: Vec<Published>,
}

/// A value that the paper gives, in the units of the figure's axes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// What it says, in a few words.
    pub text: String,
    /// A part of the headings of the panels that it belongs to; all panels without it.
    pub panel: Option<String>,
    /// A height, or the least and the largest.
    #[serde(default)]
    pub y: Vec<f64>,
    /// Points of a curve, x and y, in its place.
    #[serde(default)]
    pub points: Vec<[f64; 2]>,
}

impl Paper {
    /// Its authors and year, as papers are cited: `Seidel & Davis 1992`, `Namyst et al. 1999`.
    pub fn cited(&self) -> String {
        let last = |name: &str| name.split_whitespace().last().unwrap_or_default().to_owned();
        let authors: Vec<&str> = self.authors.split([',']).flat_map(|names| names.split(" and ")).map(str::trim).collect();
        let names = match authors[..] {
            [one] => last(one),
            [one, "others"] => format!("{} et al.", last(one)),
            [one, other] => format!("{} & {}", last(one), last(other)),
            _ => format!("{} et al.", authors.first().map_or(String::new(), |one| last(one))),
        };
        format!("{names} {}", self.year)
    }
}

/// One claim.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Claim {
    /// Its name within the paper.
    pub id: String,
    /// Where the paper has it.
    #[serde(default)]
    pub section: String,
    /// In our words.
    pub text: String,
    /// The paper's number, or `none`.
    pub expected: Option<Expected>,
    /// Why the paper gives no number.
    pub expected_reason: Option<String>,
    /// The number's unit.
    pub unit: Option<String>,
    /// How far from the paper's number is still as claimed, relative.
    pub tolerance: Option<f64>,
    /// The least number that is as claimed.
    pub at_least: Option<f64>,
    /// The largest number that is as claimed.
    pub at_most: Option<f64>,
    /// The least and the largest.
    pub between: Option<[f64; 2]>,
    /// Why it is expected not to hold here.
    pub differs_because: Option<String>,
    /// How our model was fitted to it, so that agreement proves nothing.
    pub fitted_because: Option<String>,
    /// Where our model has it from, so that agreement is by construction.
    pub given_because: Option<String>,
    /// Why no run can decide it: the number is shown without a verdict.
    pub not_comparable_because: Option<String>,
    /// What makes it differ.
    pub fails_with: Option<FailsWith>,
    /// The experiment that tries it.
    pub check: String,
}

/// What the paper says.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Expected {
    /// A number.
    Number(f64),
    /// `none`.
    Word(String),
}

/// What shows that a claim can fail.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum FailsWith {
    /// An answer that differs.
    Number(f64),
    /// A change to the code (`papers/mutants.toml`) after which it differs.
    Mutant(String),
}

/// All papers.
///
/// # Errors
/// If a file is malformed.
pub fn papers() -> Result<Vec<Paper>> {
    FILES.iter().map(|(name, text)| toml::from_str(text).with_context(|| format!("papers/{name}.toml"))).collect()
}

#[cfg(test)]
mod tests {
    use super::papers;

    #[test]
    fn papers_are_cited_by_their_authors() {
        let cited: Vec<String> = papers().unwrap().iter().map(super::Paper::cited).collect();
        let as_usual = [
            "Guignon 2000",
            "Itzkovitz & Schuster 1999",
            "Namyst et al. 1999",
            "Seidel & Davis 1992",
            "Tsafrir & Feitelson 2002",
        ];
        assert_eq!(cited, as_usual);
    }
}
