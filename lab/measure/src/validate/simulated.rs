//! The simulator's side of a case: the same team and policies on a machine that has this one's prices, tick and rules.
use super::compared::{RunFigures, Seen};
use super::rows::{Budget, Case, GRAIN};
use crate::calibration::Calibration;
use anyhow::{Result, anyhow};
use foregather_host::interrupt;
use foregather_machine::{CpuId, Nanos};
use foregather_sim::smp::{Distribution, Job, Outcome, Record, Stop, Study, run};

/// With so many seeds; the median counts.
pub(super) const SEEDS: u64 = 5;
/// For how long: hundreds of ticks, and tens of thousands of barriers where nothing is slow.
const SPAN: Nanos = Nanos::from_ms(1_000);

impl Calibration {
    fn study(&self, case: &Case, budget: &Budget, seed: u64) -> Study {
        let cpus = case.place.cpus();
        // As in the cells: from three quarters to five quarters of the grain.
        let compute = Distribution::Uniform { from: GRAIN.percent(75), to: GRAIN.percent(125) };
        let team = Job {
            group: case.quota_ms.map(|_| 0),
            pins: (0..cpus as CpuId).collect(),
            ..Job::meeting("team", case.threads, u64::MAX, compute, budget.policy)
        };
        let hogs = Job { nice: case.nice, ..Job::load("hogs", case.hogs) };
        Study {
            machine: self.machine(cpus, case.realtime, case.quota_ms),
            // The hogs are there first, as on the machine.
            jobs: if case.hogs > 0 { vec![hogs, team] } else { vec![team] },
            stop: Stop::Limit,
            limit: SPAN,
            seed,
            shuffled: false,
            record: Record::NOTHING,
        }
    }

    /// One budget of a case with all seeds; fewer if somebody interrupts.
    ///
    /// # Errors
    /// If the simulator refuses the study.
    pub(super) fn run(&self, case: &Case, budget: &Budget) -> Result<Seen> {
        let mut seen = Seen::default();
        for seed in 1..=SEEDS {
            let outcome = run(&self.study(case, budget, seed), || !interrupt::requested());
            let outcome = outcome.map_err(|error| anyhow!("{} with {}: {error}", case.name, budget.name))?;
            if outcome.interrupted {
                break;
            }
            seen.sides.push(side(&outcome, case.quota_ms.is_some()));
        }
        Ok(seen)
    }
}

fn side(outcome: &Outcome, limited: bool) -> RunFigures {
    // The team is the last job.
    let team = &outcome.jobs[outcome.jobs.len() - 1];
    let barriers = team.met.max(1) as f64;
    RunFigures {
        us: outcome.time.as_us() / barriers,
        ssr: team.waits.successful_spin_rate(),
        cpus: Some((team.split.compute + team.split.spin).0 as f64 / outcome.time.0.max(1) as f64),
        switches: Some(outcome.counts.switches as f64 / barriers),
        throttled_per_s: limited.then(|| outcome.counts.throttles as f64 / outcome.time.as_secs()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::rows::{Compares, Row};
    use super::*;
    use crate::calibration::tests::LIKENESS;
    use foregather_machine::Costs;

    #[test]
    fn the_simulated_side_is_the_same_every_time() {
        for row in Row::all().iter().filter(|row| row.compares != Compares::RoundTrips) {
            let case = &row.cases[0];
            let budget = &row.budgets(case, &Costs::TYPICAL)[1];
            let once = LIKENESS.run(case, budget).unwrap();
            assert_eq!(once, LIKENESS.run(case, budget).unwrap(), "{}", row.name);
            assert!(once.us().is_some_and(|us| us > 15.0) && once.sides.len() == SEEDS as usize, "{}", row.name);
        }
    }
}
