//! The rows of the matrix: which team, beside whom, where, how fine.
use super::class::LoadClass;
use foregather_bench::WorkDistribution;
use foregather_cli::Barriers;
use foregather_host::affinity;
use foregather_host::cgroup::QuotaGroup;

/// One row.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Members of the team.
    pub threads: u32,
    /// CPU-bound processes beside it.
    pub hogs: u32,
    /// One member per processor, instead of where the kernel likes.
    pub pinned: bool,
    /// Processors' worth of time, if limited.
    pub quota: Option<f64>,
    /// Mean computation between two barriers.
    pub grain_us: u32,
    /// Its variation.
    pub shape: WorkDistribution,
    /// Two barriers an episode, as a parallel region has.
    pub fork_join: bool,
}

impl Row {
    const fn new((threads, hogs, pinned): LoadKey, grain_us: u32) -> Self {
        Self { threads, hogs, pinned, quota: None, grain_us, shape: WorkDistribution::Uniform, fork_join: false }
    }

    const fn free(threads: u32, grain_us: u32) -> Self {
        Self::new((threads, 0, false), grain_us)
    }

    const fn shaped(self, shape: WorkDistribution) -> Self {
        Self { shape, ..self }
    }

    const fn within(self, cpus: f64) -> Self {
        Self { quota: Some(cpus), ..self }
    }

    const fn fork_join(self) -> Self {
        Self { fork_join: true, ..self }
    }

    /// Its name in results: load, then grain.
    pub fn name(&self) -> String {
        let hogs = match self.hogs {
            0 => String::new(),
            1 => " + 1 hog".into(),
            n => format!(" + {n} hogs"),
        };
        let quota = self.quota.map_or(String::new(), |cpus| format!(" in {cpus:.1} cpus"));
        let shape = match self.shape {
            WorkDistribution::Uniform => "",
            WorkDistribution::Exponential => " exponential",
            WorkDistribution::LogNormal => " log-normal",
            WorkDistribution::Imbalanced => " imbalanced",
        };
        let (pinned, fork_join) = (if self.pinned { " pinned" } else { "" }, if self.fork_join { " fork-join" } else { "" });
        format!("{}t{pinned}{hogs}{quota}{shape}{fork_join}, {} us", self.threads, self.grain_us)
    }

    /// The class of load that it belongs to.
    pub fn class(&self) -> LoadClass {
        match (self.shape, self.threads) {
            _ if self.fork_join => LoadClass::ForkJoin,
            _ if self.quota.is_some() => LoadClass::Quota,
            (WorkDistribution::LogNormal, _) => LoadClass::LogNormal,
            (WorkDistribution::Exponential | WorkDistribution::Imbalanced, _) => LoadClass::Shapes,
            _ if self.hogs > 0 => LoadClass::Hogs,
            (WorkDistribution::Uniform, 2) => {
                if self.pinned {
                    LoadClass::TwoPinned
                } else {
                    LoadClass::TwoFree
                }
            }
            (WorkDistribution::Uniform, 5 | 6) => LoadClass::FiveSix,
            (WorkDistribution::Uniform, _) => LoadClass::Many,
        }
    }
}

/// Threads, hogs, pinned.
type LoadKey = (u32, u32, bool);
/// The loads of the core matrix.
const LOADS: [LoadKey; 8] =
    [(2, 0, true), (2, 0, false), (3, 0, false), (4, 0, false), (8, 0, false), (2, 1, false), (2, 2, false), (2, 4, false)];
const GRAINS_US: [u32; 4] = [0, 1, 5, 20];

/// The rows that the options ask for, and what is left out on this machine and why.
pub fn rows(options: &Barriers) -> (Vec<Row>, Vec<String>) {
    let mut notes = Vec::new();
    let grains: &[u32] = if options.quick { &[0, 20] } else { &GRAINS_US };
    let loads: &[usize] = if options.quick { &[0, 1, 3, 6] } else { &[0, 1, 2, 3, 4, 5, 6, 7] };
    let core = grains.iter().flat_map(|&grain| loads.iter().map(move |&load| Row::new(LOADS[load], grain)));
    let mut rows: Vec<Row> = if options.ablation { ablation() } else { core.collect() };
    if options.full {
        rows.extend(beyond());
        match QuotaGroup::new(1.0) {
            Ok(_) => rows.extend(quota()),
            Err(error) => notes.push(format!("no rows with a quota: {error}")),
        }
    }
    if affinity::allowed().len() < 2 {
        rows.retain(|row| !row.pinned);
        notes.push("no pinned rows: this process may use only one processor".into());
    }
    (rows, notes)
}

/// What the full matrix has besides the core and the quotas.
fn beyond() -> Vec<Row> {
    use WorkDistribution::{Exponential, Imbalanced, LogNormal};
    let more = [5, 6].into_iter().flat_map(|threads| [0, 1, 20].map(|grain| Row::free(threads, grain)));
    let shaped = [Exponential, Imbalanced, LogNormal]
        .into_iter()
        .flat_map(|shape| [(2, 1), (4, 1), (2, 20), (4, 20)].map(|(threads, grain)| Row::free(threads, grain).shaped(shape)));
    let fork_join = [2, 4, 8].into_iter().flat_map(|threads| [1, 20].map(|grain| Row::free(threads, grain).fork_join()));
    more.chain(shaped)
        .chain([Row::new((2, 2, false), 20).shaped(Imbalanced)])
        .chain(fork_join)
        .chain([1, 4].map(|hogs| Row::new((2, hogs, false), 1).fork_join()))
        .collect()
}

fn quota() -> [Row; 5] {
    [(1.0, 2, 1), (1.0, 4, 1), (1.0, 4, 20), (1.5, 4, 1), (1.5, 2, 20)]
        .map(|(cpus, threads, grain)| Row::free(threads, grain).within(cpus))
}

/// Rows in each of which some rule of the decision table is known to matter.
fn ablation() -> Vec<Row> {
    let plain = [
        (LOADS[0], 0),
        (LOADS[1], 1),
        (LOADS[2], 0),
        (LOADS[3], 1),
        (LOADS[3], 20),
        (LOADS[5], 0),
        (LOADS[6], 1),
        (LOADS[7], 1),
        (LOADS[5], 20),
        (LOADS[6], 20),
    ];
    let imbalanced = [LOADS[1], LOADS[6]].map(|load| Row::new(load, 20).shaped(WorkDistribution::Imbalanced));
    let plain = plain.map(|(load, grain)| Row::new(load, grain)).into_iter();
    plain.chain(imbalanced).chain([Row::free(2, 20).shaped(WorkDistribution::Exponential), Row::free(4, 1).fork_join()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    #[test]
    fn the_core_matrix_has_32_rows_of_different_names() {
        let (rows, _) = rows(&Barriers::default());
        let names: BTreeSet<_> = rows.iter().map(Row::name).collect();
        assert_eq!(names.len(), rows.len());
        assert_eq!(rows.len(), if affinity::allowed().len() < 2 { 28 } else { 32 });
        assert!(rows.iter().all(|row| row.class().is_core()));
        assert_eq!(Row::new((2, 1, false), 20).name(), "2t + 1 hog, 20 us");
        let quick = super::rows(&Barriers { quick: true, ..Barriers::default() }).0;
        assert!(quick.iter().all(|row| rows.contains(row)) && quick.len() <= 8);
    }

    #[test]
    fn the_full_matrix_has_the_classes_it_is_known_for() {
        let rows: Vec<Row> = [rows(&Barriers::default()).0, beyond(), quota().to_vec()].concat();
        let names: BTreeSet<_> = rows.iter().map(Row::name).collect();
        assert_eq!(names.len(), rows.len());
        for name in
            ["2t + 2 hogs imbalanced, 20 us", "4t in 1.5 cpus, 1 us", "2t + 4 hogs fork-join, 1 us", "4t log-normal, 20 us"]
        {
            assert!(names.contains(name), "{name} is not among {names:?}");
        }
        let mut sizes = BTreeMap::new();
        rows.iter().for_each(|row| *sizes.entry(row.class().name()).or_insert(0) += 1);
        let pinned = if affinity::allowed().len() < 2 { 0 } else { 4 };
        let expected = [("2 free", 4), ("3-8 threads", 12), ("hogs", 12), ("5-6 threads", 6), ("shapes", 9), ("log-normal", 4)];
        for (name, size) in expected.into_iter().chain([("quota", 5), ("fork-join", 8)]) {
            assert_eq!(sizes[name], size, "{name}");
        }
        let extended = rows.iter().filter(|row| row.class().is_extended()).count();
        assert_eq!(extended, 43 + pinned);
    }

    #[test]
    fn every_row_of_the_ablation_is_one_of_the_full_matrix() {
        let all: Vec<Row> = [rows(&Barriers::default()).0, beyond()].concat();
        let rows = ablation();
        assert!(rows.iter().filter(|row| !row.pinned).all(|row| all.contains(row)));
        assert_eq!(rows.iter().map(Row::name).collect::<BTreeSet<_>>().len(), 14);
    }
}
