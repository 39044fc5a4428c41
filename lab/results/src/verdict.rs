//! What became of one claim of a paper.
use serde::{Deserialize, Serialize};
use std::fmt;

/// One claim, what the paper says, and what was found here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// The paper's short name: `guignon2000`.
    pub paper: String,
    /// The claim's number in `papers/`.
    pub id: String,
    /// The claim in our words.
    pub claim: String,
    /// What the paper says; nothing if it gives no number.
    pub expected: Option<Value>,
    /// What was found; nothing if it could not be tried.
    pub got: Option<Value>,
    /// The unit of both.
    pub unit: String,
    /// The verdict.
    pub verdict: ClaimOutcome,
    /// Why, in a sentence.
    pub reason: String,
}

/// A number, or words where a number does not say it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A number, in the verdict's unit.
    Number(f64),
    /// Words.
    Text(String),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => f.write_str(&super::number::digits(*number, 4)),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// What a claim came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClaimOutcome {
    /// Outside its band; the reason says why.
    Differs,
    /// Within its band, with all of its 95 % interval where several seeds gave one.
    Holds,
    /// The mean lies in its band, and its interval reaches over an edge: other seeds may decide otherwise.
    #[serde(rename = "holds within noise")]
    HoldsWithinNoise,
    /// Our model was fitted to it, so agreement proves nothing.
    Fitted,
    /// An input of our model: agreement is by construction.
    Given,
    /// The paper gives no number, or this machine cannot try it.
    #[serde(rename = "not comparable")]
    NotComparable,
}

impl ClaimOutcome {
    /// All of them, what a reader has to look at first.
    pub const ALL: [Self; 6] =
        [Self::Differs, Self::Holds, Self::HoldsWithinNoise, Self::Fitted, Self::Given, Self::NotComparable];
}

impl fmt::Display for ClaimOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Differs => "differs",
            Self::Holds => "holds",
            Self::HoldsWithinNoise => "holds within noise",
            Self::Fitted => "fitted",
            Self::Given => "given",
            Self::NotComparable => "not comparable",
        })
    }
}

/// How many of these came to what: `36 holds, 2 differs`; outcomes that none came to are left out.
pub fn counts<'v>(verdicts: impl IntoIterator<Item = &'v Verdict>) -> String {
    let all: Vec<ClaimOutcome> = verdicts.into_iter().map(|verdict| verdict.verdict).collect();
    let count = |outcome: &ClaimOutcome| all.iter().filter(|&of| of == outcome).count();
    let told = ClaimOutcome::ALL.iter().map(|outcome| (count(outcome), outcome)).filter(|(count, _)| *count > 0);
    told.map(|(count, outcome)| format!("{count} {outcome}")).collect::<Vec<_>>().join(", ")
}
