//! What waiting costs: the prices of the kernel's verbs, and the ping-pong of Guignon 2000 by every method.
use crate::matrix::{BackgroundOfRow, CellLoop, TurnOrder};
use crate::options::WaitsOptions;
use crate::{Experiment, Measured, machine_file};
use anyhow::Result;
use foregather_bench::ping_pong::{self, Method, PartyKind, PingPong, Setup};
use foregather_bench::prices;
use foregather_host::{affinity, clock};
use foregather_machine::{Costs, Nanos};
use foregather_results::{Measurement, NoiseMeter};
use std::collections::BTreeMap;

/// Parts in which every circumstance is measured, method after method, so that a disturbance hits all
/// methods.
const PARTS: u32 = 4;
/// No part takes longer: on one processor a spinner costs a tick a hand-over. Fewer runs are said, not
/// hidden.
const PART_BOUND: Nanos = Nanos::from_ms(250);

/// Where master and slave run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Each on a processor of its own.
    TwoCpus,
    /// Both on one.
    OneCpu,
}

/// One circumstance of the ping-pong, for all methods.
#[derive(Clone, Copy, Debug)]
pub struct Circumstance {
    /// Threads or processes.
    pub side: PartyKind,
    /// Where.
    pub placement: Placement,
    /// Idling before each ping.
    pub gap: Nanos,
    /// Round trips.
    pub runs: u32,
}

impl Circumstance {
    /// As the ids of measurements have it: `process/two-cpus`.
    fn names(&self) -> (&'static str, &'static str, String) {
        let side = if self.side == PartyKind::Processes { "process" } else { "thread" };
        let placement = if self.placement == Placement::TwoCpus { "two-cpus" } else { "one-cpu" };
        let gap = match self.gap.0 {
            ns if ns >= 1_000_000 => format!("{}ms", ns / 1_000_000),
            ns => format!("{}us", ns / 1_000),
        };
        (side, placement, gap)
    }

    pub(super) fn setup(&self, method: Method, runs: u32) -> Setup {
        let cpus = affinity::allowed();
        let slave = if self.placement == Placement::TwoCpus { cpus[1 % cpus.len()] } else { cpus[0] };
        let at_most = PART_BOUND.max(self.gap * (u64::from(runs) + 20) * 2);
        Setup { method, side: self.side, master: Some(cpus[0]), slave: Some(slave), gap: self.gap, runs, at_most }
    }
}

impl Experiment for WaitsOptions {
    /// Keeps the machine's costs, too, if nothing has spoilt them.
    fn measure(&self, quiet: bool) -> Result<Measured> {
        let meter = NoiseMeter::start();
        let (mut all, costs) = prices()?;
        let runs = if self.quick { self.runs.min(400) } else { self.runs };
        let mut circumstances = Vec::new();
        for side in [PartyKind::Processes, PartyKind::Threads] {
            for placement in [Placement::TwoCpus, Placement::OneCpu] {
                circumstances.push(Circumstance { side, placement, gap: Nanos::ZERO, runs });
            }
        }
        for gap in [Nanos::from_us(200), Nanos::from_ms(10)] {
            let runs = (runs / if self.quick { 40 } else { 10 }).max(8);
            circumstances.push(Circumstance { side: PartyKind::Processes, placement: Placement::TwoCpus, gap, runs });
        }
        if affinity::allowed().len() < 2 {
            circumstances.retain(|c| c.placement == Placement::OneCpu);
            all.notes.push("nothing between two processors: this process may use only one".into());
        }
        let mut matrix = matrix(circumstances.len() * Method::ALL.len(), quiet);
        for circumstance in circumstances {
            let methods = ping_pongs(circumstance, &Method::ALL, &mut matrix)?;
            all.measurements.extend(methods.iter().map(|(method, round_trips)| measurement(circumstance, *method, round_trips)));
        }
        all.notes.append(&mut matrix.found.notes);
        let noise = meter.stop(&all.measurements).verdict;
        all.notes.push(machine_file::keep(costs, noise).unwrap_or_else(|why| why));
        Ok(all)
    }
}

/// The prices, and what policies and simulators reckon with.
fn prices() -> Result<(Measured, Costs)> {
    let (prices, costs) = prices::measure()?;
    let measurement = |price: prices::Price| {
        let id = format!("price/{}", price.name.trim_end_matches("_ns"));
        Measurement::from_values(id, price.what, "ns", price.samples_ns)
    };
    Ok((Measured { measurements: prices.into_iter().map(measurement).collect(), ..Measured::default() }, costs))
}

/// The loop over `methods` methods in all circumstances.
pub fn matrix(methods: usize, quiet: bool) -> CellLoop {
    CellLoop::new("ping-pong", methods, PARTS, TurnOrder::Alternating, quiet)
}

/// All methods in one circumstance, in alternating parts; what each gave, put together. A method that cannot
/// be played to its end is noted.
///
/// # Errors
/// Never, as nothing is beside the two sides.
pub fn ping_pongs(circumstance: Circumstance, methods: &[Method], matrix: &mut CellLoop) -> Result<Vec<(Method, Vec<PingPong>)>> {
    let (side, placement, gap) = circumstance.names();
    let name = |method: &Method| format!("{side} {placement} {} {gap}", method.name());
    let runs = matrix.row(BackgroundOfRow::default(), methods, name, |method, turn| {
        let runs = circumstance.runs / PARTS + u32::from(turn.repetition < circumstance.runs % PARTS);
        Ok(Some(ping_pong::run(&circumstance.setup(*method, runs.max(1)))?))
    })?;
    let all = methods.iter().copied().zip(runs.into_iter().map(|runs| runs.results));
    Ok(all.filter(|(_, parts)| !parts.is_empty()).collect())
}

/// All cycles of a method.
pub fn cycles(parts: &[PingPong]) -> Vec<u64> {
    parts.iter().flat_map(|part| part.cycles.iter().copied()).collect()
}

/// The mean of them.
pub fn mean_cycles(parts: &[PingPong]) -> f64 {
    let all = cycles(parts);
    all.iter().sum::<u64>() as f64 / all.len().max(1) as f64
}

/// One method in one circumstance, as a measurement.
pub fn measurement(circumstance: Circumstance, method: Method, parts: &[PingPong]) -> Measurement {
    let (side, placement, gap) = circumstance.names();
    let all = cycles(parts);
    let round_trips = all.len().max(1) as f64;
    let cpu_ns: u64 = parts.iter().map(|part| part.cpu_time.0).sum();
    let mut counts = BTreeMap::new();
    for &cycles in &all {
        *counts.entry(three_digits(cycles)).or_insert(0) += 1;
    }
    let id = format!("ping-pong/{side}/{placement}/{}/{gap}", method.name());
    Measurement::from_histogram(id, "one round trip between master and slave", "cycles", counts.into_iter().collect())
        .label("method", method.name())
        .label("side", side)
        .label("placement", placement)
        .label("gap", gap)
        .figure("mean_us", clock::cycles_to_nanos(mean_cycles(parts) as u64).as_us())
        .figure("cpu_us_per_round_trip", cpu_ns as f64 / 1e3 / round_trips)
        .figure("runs_asked", f64::from(circumstance.runs))
}

/// Rounded to three digits: finer than any of these times is.
fn three_digits(n: u64) -> u64 {
    let unit = 10u64.pow(n.max(1).ilog10().saturating_sub(2));
    (n + unit / 2) / unit * unit
}

#[cfg(test)]
mod tests {
    use super::three_digits;

    #[test]
    fn three_digits_are_kept() {
        assert_eq!([0, 999, 12_345, 1_234_567].map(three_digits), [0, 999, 12_300, 1_230_000]);
    }
}
