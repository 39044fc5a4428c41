//! V1: two threads that block hand a word to and fro. The prices of single switches go into the simulator, so whole round
//! trips are compared: what a wake costs the waker, and what goes on at the same time, is in them.
use super::compared::{RunFigures, Seen};
use super::rows::{Case, Pinning};
use super::simulated::SEEDS;
use crate::calibration::Calibration;
use crate::waits::{self, Circumstance, Placement};
use anyhow::Result;
use foregather_bench::ping_pong::{self, Method};
use foregather_host::clock;
use foregather_machine::{Clock, Error, Nanos, WaitContext, Words};
use foregather_results::progress::Progress;
use foregather_sim::SimWord;
use foregather_sim::event::Heap;
use foregather_sim::smp::{Smp, SmpCpu};
use foregather_wait::Policy;

/// Round trips of the simulation.
const ROUNDS: u32 = 2_000;

/// Round trips on this machine, part by part; the median of each.
pub(super) fn measured(case: &Case, runs: u32, progress: &mut Progress, notes: &mut Vec<String>) -> Seen {
    let placement = if case.place == Pinning::One { Placement::OneCpu } else { Placement::TwoCpus };
    let circumstance = Circumstance { side: ping_pong::Side::Threads, placement, gap: Nanos::ZERO, runs };
    let all = waits::ping_pongs(circumstance, &[Method::Futex], progress, notes);
    let median = |cycles: &[u64]| {
        let mut sorted = cycles.to_vec();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).map(|&cycles| clock::cycles_to_nanos(cycles).as_us())
    };
    let parts = all.iter().flat_map(|(_, parts)| parts).filter_map(|part| median(&part.cycles));
    Seen { sides: parts.map(|us| RunFigures { us, ..RunFigures::default() }).collect() }
}

/// The same in the simulator, the mean of each seed.
///
/// # Errors
/// If a wait fails there.
pub(super) fn simulated(case: &Case, likeness: &Calibration) -> Result<Seen> {
    let machine = likeness.machine(case.place.cpus(), false, None);
    let mut seen = Seen::default();
    for seed in 1..=SEEDS {
        let smp = Smp::<Heap>::new(&machine, 2, seed);
        let words = [SimWord::default(), SimWord::default()];
        let ends = smp.run(|cpu| to_and_fro(cpu, &words)).into_iter().flatten().collect::<Result<Vec<Nanos>, Error>>()?;
        let end = ends.into_iter().max().unwrap_or_default();
        seen.sides.push(RunFigures { us: end.as_us() / f64::from(ROUNDS), ..RunFigures::default() });
    }
    Ok(seen)
}

/// One thread's part; when it ended.
async fn to_and_fro(cpu: SmpCpu<'_, Heap>, words: &[SimWord; 2]) -> Result<Nanos, Error> {
    let rank = cpu.number();
    let (mine, theirs) = (&words[rank as usize], &words[1 - rank as usize]);
    for round in 1..=ROUNDS {
        if rank == 0 {
            cpu.publish(mine, round);
        }
        let answered = || (cpu.load(theirs) == round).then_some(());
        Policy::Block.wait(&cpu, theirs, WaitContext::new("ping-pong", rank).of(1 - rank), answered).await?;
        if rank == 1 {
            cpu.publish(mine, round);
        }
    }
    Ok(cpu.now())
}

#[cfg(test)]
mod tests {
    use super::super::rows::Row;
    use super::*;
    use crate::calibration::tests::LIKENESS;

    /// Two switches a round trip on one processor; two wakes of an idle one on two.
    #[test]
    fn a_simulated_round_trip_costs_what_its_switches_cost() {
        let row = &Row::all()[0];
        let trips: Vec<Seen> = row.cases.iter().map(|case| simulated(case, &LIKENESS).unwrap()).collect();
        for (trip, price) in trips.iter().zip([LIKENESS.prices.switch, LIKENESS.prices.wake_idle]) {
            let us = trip.us().unwrap();
            assert!((us / (price * 2).as_us() - 1.0).abs() < 0.05, "{us} us of {price}");
        }
    }
}
