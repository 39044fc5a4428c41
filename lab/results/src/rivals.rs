//! Comparisons with programs of other projects, as measurements: what they computed, what ours did, and the
//! bar for the difference.
use crate::Measurement;

/// What ids of comparisons begin with.
pub const RIVALS: &str = "rival/";

/// Returns a comparison of `case` with what `program` says: both numbers in words, how far apart they are,
/// and the most that they may be apart, or NaN if no bar is set.
pub fn rival(program: &str, case: &str, [theirs, ours]: [String; 2], (apart, bar): (f64, f64), unit: &str) -> Measurement {
    Measurement::from_values(format!("{RIVALS}{program}/{case}"), "difference from another project's program", unit, vec![apart])
        .label("program", program)
        .label("case", case)
        .label("theirs", theirs)
        .label("ours", ours)
        .figure("bar", bar)
}
