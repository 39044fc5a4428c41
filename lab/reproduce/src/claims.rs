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
#[derive(Debug, Deserialize)]
pub struct Paper {
    /// Its short name.
    pub paper: String,
    /// Its claims.
    pub claim: Vec<Claim>,
}

/// One claim.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Claim {
    /// Its name within the paper.
    pub id: String,
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
