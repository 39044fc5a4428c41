//! The machine's costs where a measurement or a claim needs them: kept ones, or measured now.
use anyhow::Result;
use foregather_host::costs::{self, KeptCosts};
use foregather_host::{clock, interrupt};
use foregather_machine::Costs;
use foregather_results::{NoiseMeter, TrustLevel};
use std::sync::OnceLock;

/// Measurements that confirm each other are this many seconds apart: one disturbance must not spoil them all.
const APART_S: u64 = 60;

/// Those of this process: several experiments in one reckon with the same.
static KNOWN: OnceLock<Costs> = OnceLock::new();

/// The kept costs, or those measured now (a fifth of a second) and kept if that is possible. Kept costs
/// that are unusual and not confirmed are measured again.
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
        Ok(Some(kept)) if !is_to_be_confirmed(&kept, clock::unix_seconds()) => return Ok(kept.costs),
        Ok(_) => {}
        Err(error) => eprintln!("foregather: {error}"),
    }
    let meter = NoiseMeter::start();
    let (_, costs) = foregather_bench::prices::measure()?;
    if let Err(why) = keep(costs, meter.stop(&[]).verdict) {
        eprintln!("foregather: {why}");
    }
    Ok(costs::load().ok().flatten().map_or(costs, |kept| kept.costs))
}

fn is_to_be_confirmed(kept: &KeptCosts, now_unix_s: u64) -> bool {
    !kept.unconfirmed.is_empty() && kept.measured_unix_s.is_none_or(|then| now_unix_s.abs_diff(then) >= APART_S)
}

/// Keeps measured costs, and says where. Costs that were measured while other programs used the machine, or
/// in an interrupted run, are not kept: the policies of every program would use them from then on.
///
/// # Errors
/// Why they are not kept; then those of an earlier run stay.
pub(super) fn keep(costs: Costs, noise: TrustLevel) -> Result<String, String> {
    let not = |why: &str| format!("this machine's costs are not kept: {why}");
    if interrupt::requested() {
        return Err(not("the run was interrupted"));
    }
    if noise == TrustLevel::Unusable {
        return Err(not("other programs used the processors, so the run is unusable; measure again when the machine is idle"));
    }
    match costs::store(costs) {
        Ok((path, kept)) => {
            let unusual = kept.unconfirmed.iter().map(|(name, cost)| format!("{name} is {}", cost.0)).collect::<Vec<_>>();
            let unusual = if unusual.is_empty() {
                String::new()
            } else {
                format!(
                    "; {}: unusual, so the nearest usual value is used until two further runs, a minute apart, confirm it",
                    unusual.join(", ")
                )
            };
            Ok(format!("this machine's costs are kept in {}{unusual}", path.display()))
        }
        Err(error) => Err(not(&error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_of_a_machine_that_others_had_are_not_kept_and_absurd_ones_are_not_either() {
        let why = keep(Costs::TYPICAL, TrustLevel::Unusable).unwrap_err();
        assert!(why.contains("not kept") && why.contains("unusable"), "{why}");
        let absurd = Costs { tick: foregather_machine::Nanos::from_ms(500), ..Costs::TYPICAL };
        let why = keep(absurd, TrustLevel::Quiet).unwrap_err();
        assert!(why.contains("not kept") && why.contains("tick_ns"), "{why}");
    }
}
