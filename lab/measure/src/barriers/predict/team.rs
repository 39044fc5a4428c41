//! A row of the matrix as a simulation: the same team, grain, hogs and quota; and where its members begin.
use super::super::rows::Row;
use crate::calibration::Calibration;
use anyhow::{Result, anyhow};
use foregather_barrier::Algorithm;
use foregather_bench::WorkDistribution;
use foregather_host::interrupt;
use foregather_machine::{CpuId, Nanos};
use foregather_sim::smp::{Distribution, Job, Record, Stop, Study, run};
use foregather_wait::Policy;

/// Seeds of each simulation; the median of their results counts.
const SEEDS: u64 = 3;
/// Two of the periods over which a quota is kept: whole ones, for the simulated ones begin with the
/// simulation.
const QUOTA_SPAN: Nanos = Nanos::from_ms(200);

/// A team counts as stacked from this share of episodes on.
const STACKED: f64 = 0.5;

foregather_bench::named! {
    /// Where a team begins. A pinned one stays there.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Start {
        /// A member to a processor, in turn, for good.
        Pinned = "pinned",
        /// A member to a processor, in turn.
        Spread = "spread",
        /// All on one.
        Stacked = "stacked",
    }
}

impl Start {
    /// The one that a measured team looks like, by the share of episodes in which all were on one processor.
    pub fn fitting(pinned: bool, stacked: f64) -> Self {
        match (pinned, stacked >= STACKED) {
            (true, _) => Self::Pinned,
            (false, false) => Self::Spread,
            (false, true) => Self::Stacked,
        }
    }

    /// The members' pins and where they begin, on `cpus` processors. A stacked team is on the last one: hogs
    /// fill them from the first on.
    pub(super) fn processors(self, cpus: u32) -> (Vec<CpuId>, Vec<CpuId>) {
        match self {
            Self::Pinned => ((0..cpus).collect(), vec![]),
            Self::Spread => (vec![], (0..cpus).collect()),
            Self::Stacked => (vec![], vec![cpus.max(1) - 1]),
        }
    }
}

/// A team of the matrix and how it waits.
pub(super) struct Team<'a> {
    pub(super) row: &'a Row,
    pub(super) kind: Algorithm,
    pub(super) policy: Policy,
    /// Processors that it may use.
    pub(super) cpus: u32,
    /// For how long, if it has no quota.
    pub(super) span: Nanos,
}

impl Team<'_> {
    /// Microseconds per barrier with each seed; fewer after an interrupt. One that never met has had one
    /// in all its time.
    ///
    /// # Errors
    /// If the simulator refuses the study.
    pub(super) fn simulate(&self, start: Start, likeness: &Calibration) -> Result<Vec<f64>> {
        let mut all = Vec::new();
        for seed in 1..=SEEDS {
            let outcome = run(&self.study(start, likeness, seed), || !interrupt::requested()).map_err(|error| anyhow!(error))?;
            if outcome.interrupted {
                break;
            }
            // The team is the last job.
            let met = outcome.jobs.last().map_or(0, |team| team.met);
            all.push(outcome.time.as_us() / met.max(1) as f64);
        }
        Ok(all)
    }

    fn study(&self, start: Start, likeness: &Calibration, seed: u64) -> Study {
        let row = self.row;
        let quota_ms = row.quota.map(|cpus| (cpus * 100.0).round() as u32);
        let (pins, start) = start.processors(self.cpus);
        let compute = compute(row);
        let team = Job {
            kind: self.kind,
            group: quota_ms.map(|_| 0),
            pins,
            start,
            ..Job::meeting("team", row.threads, u64::MAX, compute, self.policy)
        };
        let hogs = Job { start: (0..self.cpus).collect(), ..Job::load("hogs", row.hogs) };
        Study {
            machine: likeness.machine(self.cpus, false, quota_ms),
            // The hogs are there first, as on the machine.
            jobs: if row.hogs > 0 { vec![hogs, team] } else { vec![team] },
            stop: Stop::Limit,
            limit: if quota_ms.is_some() { self.span.max(QUOTA_SPAN) } else { self.span },
            seed,
            shuffled: false,
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
    use crate::options::Barriers;

    fn row(name: &str) -> Row {
        rows(&Barriers::default()).0.into_iter().find(|row| row.name() == name).unwrap()
    }

    fn study(row: &Row, start: Start) -> Study {
        Team { row, kind: Algorithm::Central, policy: Policy::Block, cpus: 2, span: Nanos::from_ms(1) }.study(start, &LIKENESS, 1)
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
        let hogs = study(&row("2t + 4 hogs, 20 us"), Start::Stacked);
        assert_eq!((hogs.jobs[0].threads, &hogs.jobs[0].start[..], hogs.jobs[0].meets()), (4, &[0, 1][..], false));
        assert_eq!((hogs.jobs[1].threads, &hogs.jobs[1].start[..], hogs.jobs[1].group), (2, &[1][..], None));
        assert_eq!((hogs.limit, hogs.check()), (Nanos::from_ms(1), Ok(())));
        let limited = study(&Row { quota: Some(1.5), ..row("4t, 1 us") }, Start::Spread);
        assert_eq!((limited.jobs.len(), limited.jobs[0].group, limited.limit), (1, Some(0), QUOTA_SPAN));
        assert_eq!(limited.check(), Ok(()));
    }

    #[test]
    fn a_slower_row_takes_longer_and_the_same_team_always_as_long() {
        let us = |row: &Row, start| {
            let team = Team { row, kind: Algorithm::Central, policy: Policy::Spin, cpus: 2, span: Nanos::from_ms(1) };
            team.simulate(start, &LIKENESS).unwrap()
        };
        let (even, none) = (row("2t, 20 us"), row("2t, 0 us"));
        let spread = us(&even, Start::Spread);
        assert_eq!((spread.len(), &spread), (SEEDS as usize, &us(&even, Start::Spread)));
        assert!(spread.iter().all(|&us| (20.0..27.0).contains(&us)), "{spread:?}");
        assert!(us(&none, Start::Spread)[0] < 2.0, "nothing is computed");
        let uneven = us(&Row { shape: WorkDistribution::Imbalanced, ..even }, Start::Spread);
        assert!(uneven.iter().all(|&us| (27.0..35.0).contains(&us)), "{uneven:?}");
    }

    #[test]
    fn half_of_all_episodes_on_one_processor_make_a_team_stacked() {
        let names = [(false, 0.0), (false, 0.49), (false, 0.5), (false, 1.0), (true, 1.0)]
            .map(|(pinned, stacked)| Start::fitting(pinned, stacked).name());
        assert_eq!(names, ["spread", "spread", "stacked", "stacked", "pinned"]);
    }

    #[test]
    fn only_a_pinned_team_has_pins() {
        assert_eq!(Start::Pinned.processors(2), (vec![0, 1], vec![]));
        assert_eq!(Start::Spread.processors(2), (vec![], vec![0, 1]));
        assert_eq!(Start::Stacked.processors(2), (vec![], vec![1]));
    }
}
