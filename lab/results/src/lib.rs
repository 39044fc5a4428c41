//! What an experiment found: one versioned document that carries the numbers, where they come from and how
//! far to trust them.
//!
//! - [`Results`]: the document, schema `foregather.results/1` (`schema/results.schema.json`).
//! - [`Run`]: an experiment that is going on; its end gives the document.
//! - [`Measurement`]: one measured quantity, raw, with its [`Summary`]; [`Distribution`] answers quantiles.
//! - [`claims`]: what the papers claim. [`Verdict`]: what became of one claim. [`Timeline`]: what a few
//!   nodes of a network did.
//! - [`Provenance`]: machine, kernel, build. [`Noise`]: what disturbed the run, in numbers.
//! - [`output`]: documents on disk, and where else results go. [`table`]: the same as text for a terminal, or
//!   CSV.
//! - [`ids`]: what measurements are called. [`row`], [`load`]: the rows of the barrier matrix.
//! - [`apps`]: what results of programs on shared memory are called. [`compare`](mod@compare): two documents,
//!   ratio by ratio.
//! - [`meant`](fn@meant): the name that a user has misspelt. [`Speedup`]: a ratio of times, and its
//!   [`Conclusion`]. [`number`]: numbers as they are read.
//!   [`progress`]: where a long run stands. [`failure`]: how the command ends.
#![forbid(unsafe_code)]
pub mod apps;
mod average;
pub mod claims;
pub mod compare;
pub mod elsewhere;
pub mod failure;
pub mod ids;
mod interval;
pub mod load;
mod meant;
mod measurement;
mod noise;
pub mod number;
pub mod output;
pub mod progress;
pub mod rivals;
pub mod row;
mod run;
mod speedup;
pub mod table;
mod timeline;
mod verdict;

pub use average::{geomean, geomean_and_worst, layers};
pub use interval::interval_of_mean;
pub use meant::{meant, misspelt_policy};
pub use measurement::{Distribution, Measurement, Summary};
pub use noise::{Noise, NoiseMeter, TrustLevel};
pub use run::{Provenance, Run};
use serde::{Deserialize, Serialize};
pub use speedup::{Conclusion, Speedup};
pub use timeline::{Passage, Spell, Timeline};
pub use verdict::{ClaimOutcome, Value, Verdict, counts};

/// The schema this program writes, and the only one it reads.
pub const SCHEMA: &str = "foregather.results/1";

/// All that one run of one experiment found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Results {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Which experiment, as on the command line: `measure waits`.
    pub experiment: String,
    /// The command line.
    pub argv: Vec<String>,
    /// When it began, in seconds since 1970.
    pub started_unix_s: u64,
    /// How long it took.
    pub seconds: f64,
    /// The seed of everything random in it.
    pub seed: Option<u64>,
    /// Whether it was stopped early, so that it only contains what had been measured by then.
    pub interrupted: bool,
    /// Machine, kernel and build.
    pub provenance: Provenance,
    /// What disturbed it.
    pub noise: Noise,
    /// The numbers; their ids are unique.
    pub measurements: Vec<Measurement>,
    /// What happened over time on a few nodes; their names are unique. Results that have none do not mention
    /// them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timelines: Vec<Timeline>,
    /// Claims of papers that it checked.
    pub verdicts: Vec<Verdict>,
    /// What a reader should know, in full sentences.
    pub notes: Vec<String>,
}

impl Results {
    /// The measurement with this id.
    pub fn measurement(&self, id: &str) -> Option<&Measurement> {
        self.measurements.iter().find(|m| m.id == id)
    }

    /// The document as JSON, on one line: `jq .` indents it.
    pub fn to_json(&self) -> String {
        json(self)
    }
}

/// JSON of a value whose keys are strings, which is all that this crate serialises.
pub(crate) fn json(value: &impl Serialize) -> String {
    let mut text = serde_json::to_string(value).expect("plain structs with string keys always serialise");
    text.push('\n');
    text
}
