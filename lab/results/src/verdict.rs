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
    pub verdict: Outcome,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Within its tolerance.
    Holds,
    /// Outside its tolerance; the reason says why.
    Differs,
    /// The paper gives no number, or this machine cannot try it.
    #[serde(rename = "not comparable")]
    NotComparable,
    /// Our model was fitted to it, so agreement proves nothing.
    Fitted,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Holds => "holds",
            Self::Differs => "differs",
            Self::NotComparable => "not comparable",
            Self::Fitted => "fitted",
        })
    }
}
