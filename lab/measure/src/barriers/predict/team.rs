//! A row of the matrix as a simulation: the same team, grain, hogs and quota.
use super::places::places;
use crate::calibration::{Calibration, background};
use anyhow::{Result, anyhow};
use foregather_barrier::Algorithm;
use foregather_bench::WorkDistribution;
use foregather_host::interrupt;
use foregather_machine::Nanos;
use foregather_results::row::Row;
use foregather_sim::smp::{Distribution, Job, Record, Stop, Study, run};
use foregather_wait::Policy;

/// Two of the periods over which a quota is kept: whole ones, for the simulated ones begin with the
/// simulation.
const QUOTA_SPAN: Nanos = Nanos::from_ms(200);

/// A team in a row.
pub(crate) struct PredictedTeam<'a> {
    pub(crate) row: &'a Row,
    /// What it does and how it waits. Where its members are, and its group, come from the row.
    pub(crate) job: Job,
    /// Processors that it may use.
    pub(crate) cpus: u32,
    /// For how long, if it has no quota.
    pub(crate) span: Nanos,
}

impl<'a> PredictedTeam<'a> {
    /// One that computes as the cells of the matrix do, and meets at a barrier.
    pub(super) fn meeting(row: &'a Row, kind: Algorithm, policy: Policy, (cpus, span): (u32, Nanos)) -> Self {
        let job = Job { kind, ..Job::meeting("team", row.threads, u64::MAX, compute(row), policy) };
        Self { row, job, cpus, span }
    }

    /// Microseconds per barrier of each start; fewer after an interrupt. One that never met has had one in
    /// all its time.
    ///
    /// # Errors
    /// If the simulator refuses the study.
    pub(crate) fn simulate(&self, likeness: &Calibration, starts: u64) -> Result<Vec<f64>> {
        let mut all = Vec::new();
        for seed in 1..=starts {
            let outcome = run(&self.study(likeness, seed), || !interrupt::requested()).map_err(|error| anyhow!(error))?;
            if outcome.interrupted {
                break;
            }
            // The team is the last job.
            let met = outcome.jobs.last().map_or(0, |team| team.met);
            all.push(outcome.time.as_us() / met.max(1) as f64);
        }
        Ok(all)
    }

    fn study(&self, likeness: &Calibration, seed: u64) -> Study {
        let row = self.row;
        let quota_ms = row.quota.map(|cpus| (cpus * 100.0).round() as u32);
        let (hogs, members) = places(row.hogs, row.threads, self.job.gap.is_some(), self.cpus, seed);
        let (pins, start) = if row.pinned { ((0..self.cpus).map(|cpu| vec![cpu]).collect(), vec![]) } else { (vec![], members) };
        let team = Job { group: quota_ms.map(|_| 0), pins, start, ..self.job.clone() };
        let hogs = Job { start: hogs, ..Job::load("hogs", row.hogs) };
        Study {
            machine: likeness.machine(self.cpus, false, quota_ms),
            jobs: background(likeness.background_hz).into_iter().chain((row.hogs > 0).then_some(hogs)).chain([team]).collect(),
            stop: Stop::Limit,
            limit: if quota_ms.is_some() { self.span.max(QUOTA_SPAN) } else { self.span },
            seed,
            shuffled: true,
            record: Record::NOTHING,
        }
    }
}

/// How long members compute between two barriers, as in the cells of the machine. Nothing at all is the least
/// that there is.
fn compute(row: &Row) -> Distribution {
    let grain = Nanos::from_us(u64::from(row.grain_us));
    if grain == Nanos::ZERO {
        return Distribution::Constant(Nanos(1));
    }
    let (mean_ns, uniform) = (grain.0 as f64, |of: Nanos| Distribution::Uniform { from: of.percent(75), to: of.percent(125) });
    match row.shape {
        WorkDistribution::Uniform => uniform(grain),
        WorkDistribution::Exponential => Distribution::Exponential { mean_ns },
        WorkDistribution::LogNormal => Distribution::LogNormal { mean_ns, variation: 1.0 },
        // Operations of a graph differ; members of one do not.
        WorkDistribution::Constant | WorkDistribution::Graph => Distribution::Constant(grain),
        WorkDistribution::Bimodal => Distribution::bimodal(grain),
        WorkDistribution::SlowMember => Distribution::slow_member(grain, row.threads),
        // Odd ranks have three times the work of even ones.
        WorkDistribution::Imbalanced => Distribution::ByRank([50, 150].map(|part| uniform(grain.percent(part))).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::rows::rows;
    use super::*;
    use crate::calibration::tests::LIKENESS;
    use crate::options::BarriersOptions;

    fn row(name: &str) -> Row {
        rows(&BarriersOptions::default()).0.into_iter().find(|row| row.name() == name).unwrap()
    }

    fn team(row: &Row, policy: Policy) -> PredictedTeam<'_> {
        PredictedTeam::meeting(row, Algorithm::Central, policy, (2, Nanos::from_ms(1)))
    }

    fn compute(grain_us: u32, shape: WorkDistribution) -> Distribution {
        super::compute(&Row { shape, grain_us, ..row("2t, 1 us") })
    }

    #[test]
    fn every_shape_is_the_distribution_that_the_cells_draw_from() {
        let ns = |from, to| Distribution::Uniform { from: Nanos(from), to: Nanos(to) };
        assert_eq!(compute(20, WorkDistribution::Uniform), ns(15_000, 25_000));
        assert_eq!(compute(1, WorkDistribution::Exponential), Distribution::Exponential { mean_ns: 1e3 });
        assert_eq!(compute(1, WorkDistribution::LogNormal), Distribution::LogNormal { mean_ns: 1e3, variation: 1.0 });
        let imbalanced = compute(20, WorkDistribution::Imbalanced);
        assert_eq!(imbalanced, Distribution::ByRank([ns(7_500, 12_500), ns(22_500, 37_500)].into()));
        assert_eq!(compute(20, WorkDistribution::SlowMember).mean_ns(), 40e3, "of two members, one with 60 us");
        for shape in [
            WorkDistribution::Uniform,
            WorkDistribution::Exponential,
            WorkDistribution::LogNormal,
            WorkDistribution::Imbalanced,
            WorkDistribution::Constant,
            WorkDistribution::Bimodal,
        ] {
            assert!((compute(20, shape).mean_ns() - 20e3).abs() < 1e-6, "{shape:?}");
            assert_eq!(compute(0, shape), Distribution::Constant(Nanos(1)), "{shape:?}");
        }
    }

    #[test]
    fn a_row_is_simulated_with_its_hogs_and_its_quota() {
        let beside = row("2t + 4 hogs, 20 us");
        let hogs = team(&beside, Policy::Block).study(&LIKENESS, 1);
        assert_eq!((hogs.jobs[0].threads, hogs.jobs[0].start.len(), hogs.jobs[0].meets()), (4, 4, false));
        assert_eq!((hogs.jobs[1].threads, hogs.jobs[1].start.len(), hogs.jobs[1].group), (2, 2, None));
        assert_eq!((hogs.limit, hogs.check()), (Nanos::from_ms(1), Ok(())));
        let limited = Row { quota: Some(1.5), ..row("4t, 1 us") };
        let limited = team(&limited, Policy::Block).study(&LIKENESS, 1);
        assert_eq!((limited.jobs.len(), limited.jobs[0].group, limited.limit), (1, Some(0), QUOTA_SPAN));
        assert_eq!(limited.check(), Ok(()));
        let pinned = row("2t pinned, 1 us");
        let pinned = team(&pinned, Policy::Block).study(&LIKENESS, 1);
        assert_eq!((&pinned.jobs[0].pins[..], pinned.jobs[0].start.len()), (&[vec![0], vec![1]][..], 0));
    }

    #[test]
    fn a_slower_row_takes_longer_and_the_same_team_always_as_long() {
        let us = |row: &Row| team(row, Policy::Spin).simulate(&LIKENESS, 3).unwrap();
        let (even, none) = (row("2t, 20 us"), row("2t, 0 us"));
        let spread = us(&even);
        assert_eq!((spread.len(), &spread), (3, &us(&even)));
        assert!(spread.iter().all(|&us| (20.0..27.0).contains(&us)), "{spread:?}");
        assert!(us(&none)[0] < 2.0, "nothing is computed");
        let uneven = us(&Row { shape: WorkDistribution::Imbalanced, ..even });
        assert!(uneven.iter().all(|&us| (27.0..35.0).contains(&us)), "{uneven:?}");
    }
}
