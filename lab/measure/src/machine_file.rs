//! The machine's costs where a measurement or a claim needs them: kept ones, if they were measured with care.
use anyhow::Result;
use foregather_host::costs::{self, Kept};
use foregather_host::interrupt;
use foregather_machine::Costs;
use foregather_results::{Level, NoiseMeter};
use std::sync::OnceLock;

/// Those of this process: several experiments in one reckon with the same.
static KNOWN: OnceLock<Costs> = OnceLock::new();

/// The kept costs, or those measured now (a fifth of a second) and kept if that is possible. What a program
/// has measured in passing is measured again, and so is what cannot be used.
///
/// # Errors
/// If they cannot be measured.
pub fn load_or_measure() -> Result<Costs> {
    match KNOWN.get() {
        Some(known) => Ok(*known),
        None => {
            let costs = load_or_measure_now()?;
            Ok(*KNOWN.get_or_init(|| costs))
        }
    }
}

fn load_or_measure_now() -> Result<Costs> {
    match costs::load() {
        Ok(Some(Kept { costs, quick: false })) => return Ok(costs),
        Ok(_) => {}
        Err(error) => eprintln!("foregather: {error}"),
    }
    let meter = NoiseMeter::start();
    let (_, costs) = foregather_bench::prices::measure()?;
    if let Err(why) = keep(costs, meter.stop(&[]).verdict) {
        eprintln!("foregather: {why}");
    }
    Ok(costs)
}

/// Keeps costs that were measured with care, and says where. What was measured on a machine that others had,
/// or was interrupted, takes no place: the policies of every program would reckon with it from then on.
///
/// # Errors
/// Why they are not kept; then those of an earlier run stay.
pub(super) fn keep(costs: Costs, noise: Level) -> Result<String, String> {
    let not = |why: &str| format!("this machine's costs are not kept: {why}");
    if interrupt::requested() {
        return Err(not("the run was interrupted"));
    }
    if noise == Level::Unusable {
        return Err(not("others had the machine meanwhile, so the run is unusable; measure again when it is quiet"));
    }
    match costs::store(Kept { costs, quick: false }) {
        Ok(path) => Ok(format!("this machine's costs are kept in {}", path.display())),
        Err(error) => Err(not(&error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_of_a_machine_that_others_had_are_not_kept_and_absurd_ones_are_not_either() {
        let why = keep(Costs::TYPICAL, Level::Unusable).unwrap_err();
        assert!(why.contains("not kept") && why.contains("unusable"), "{why}");
        let absurd = Costs { tick: foregather_machine::Nanos::from_ms(500), ..Costs::TYPICAL };
        let why = keep(absurd, Level::Quiet).unwrap_err();
        assert!(why.contains("not kept") && why.contains("tick_ns"), "{why}");
    }
}
