//! `[published]`: a factor that others have measured, which the plan's two cases are compared with.
use super::read::{AnyValue, read as read_table, real, table, values};
use super::sweep::SweptParameter;
use super::tree::{Located, ParseResult, mistake};

table! { "[published]" Table { factor: Factor, source: String; } }

values! { Factor(f64) = |value: &AnyValue| real(value, 1e-6..=1e6); }

/// The axis whose first choice is what was found, and whose second is what it was compared with.
const CASE: &str = "case";

/// A published number, and where a plan has what it is about.
pub(crate) struct PublishedFactor {
    /// How many times as large the figure's number was in the first case as in the second.
    pub(crate) factor: f64,
    /// Where it was published.
    pub(crate) source: String,
    /// The number of the axis `case`.
    pub(crate) axis: usize,
}

pub(super) fn read(node: &Located, axes: &[SweptParameter]) -> ParseResult<PublishedFactor> {
    let Table { factor: Factor(factor), source } = read_table(node)?;
    match axes.iter().position(|axis| axis.name == CASE && axis.choices.len() == 2) {
        Some(axis) => Ok(PublishedFactor { factor, source, axis }),
        None => {
            let example = "case = { anomaly = {}, base = { \"job.job.threads\" = 4 } }";
            mistake(node.line, format!("[published] needs two choices to compare: give {example} in [sweep]"))
        }
    }
}
