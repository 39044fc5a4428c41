//! The machine's costs where a measurement or a claim needs them: kept ones, if they were measured with care.
use anyhow::Result;
use foregather_host::costs::{self, Kept};
use foregather_machine::Costs;

/// The kept costs, or those measured now (a fifth of a second) and kept if that is possible. What a program has measured in
/// passing is measured again.
///
/// # Errors
/// If they cannot be measured.
pub fn load_or_measure() -> Result<Costs> {
    if let Some(Kept { costs, quick: false }) = costs::load() {
        return Ok(costs);
    }
    let (_, costs) = foregather_bench::prices::measure()?;
    if let Err(error) = costs::store(Kept { costs, quick: false }) {
        eprintln!("foregather: the machine's costs are not kept: {error}");
    }
    Ok(costs)
}
