//! The rows of the matrix: which team, beside what, where, how fine.
//!
//! [`rows`]: the fixed ones. [`draw`]: rows that no policy can have been tuned to, drawn from all.
use crate::options::BarriersOptions;
use foregather_host::affinity;
use foregather_host::cgroup::QuotaGroup;
use foregather_machine::SplitMix;
use foregather_results::load::{BackgroundLoad, WorkDistribution};
use foregather_results::row::{LoadKey, Row};

/// The loads of the core matrix.
const LOADS: [LoadKey; 8] =
    [(2, 0, true), (2, 0, false), (3, 0, false), (4, 0, false), (8, 0, false), (2, 1, false), (2, 2, false), (2, 4, false)];
/// More members than processors, under load.
const CROWDED: [LoadKey; 2] = [(5, 1, false), (7, 3, false)];
const GRAINS_US: [u32; 4] = [0, 1, 5, 20];

/// The rows that the options ask for, and what is left out on this machine and why.
pub fn rows(options: &BarriersOptions) -> (Vec<Row>, Vec<String>) {
    let mut notes = Vec::new();
    let grains: &[u32] = if options.quick { &[0, 20] } else { &GRAINS_US };
    let loads: &[usize] = if options.quick { &[0, 1, 3, 6] } else { &[0, 1, 2, 3, 4, 5, 6, 7] };
    let core = grains.iter().flat_map(|&grain| loads.iter().map(move |&load| Row::new(LOADS[load], grain)));
    let mut rows: Vec<Row> = match () {
        () if options.ablation => ablation(),
        () if options.draw.is_some() => Vec::new(),
        () => core.collect(),
    };
    if options.wide {
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

/// What the wide matrix has besides the core and the quotas.
fn beyond() -> Vec<Row> {
    use WorkDistribution::{Exponential, Graph, Imbalanced, LogNormal};
    let more = [5, 6].into_iter().flat_map(|threads| [0, 1, 20].map(|grain| Row::free(threads, grain)));
    let shaped = [Exponential, Imbalanced, LogNormal]
        .into_iter()
        .flat_map(|shape| [(2, 1), (4, 1), (2, 20), (4, 20)].map(|(threads, grain)| Row::free(threads, grain).shaped(shape)));
    // Operations of 5 to 60 us in all, which is 22 on average.
    let graph = [(2, 11), (3, 7), (4, 6)]
        .into_iter()
        .flat_map(|(threads, grain)| [0, 1, 2].map(|hogs| Row::new((threads, hogs, false), grain).shaped(Graph)));
    let fork_join = [2, 4, 8].into_iter().flat_map(|threads| [1, 20].map(|grain| Row::free(threads, grain).fork_join()));
    more.chain(shaped)
        .chain(graph)
        .chain(CROWDED.map(|load| Row::new(load, 1).shaped(LogNormal)))
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
        (LOADS[4], 1),
        (LOADS[5], 0),
        (LOADS[6], 1),
        (LOADS[7], 1),
        (LOADS[5], 20),
        (LOADS[6], 20),
    ];
    let crowded = CROWDED.map(|load| Row::new(load, 1).shaped(WorkDistribution::LogNormal));
    let imbalanced = [LOADS[1], LOADS[6]].map(|load| Row::new(load, 20).shaped(WorkDistribution::Imbalanced));
    let plain = plain.map(|(load, grain)| Row::new(load, grain)).into_iter();
    plain
        .chain(imbalanced)
        .chain(crowded)
        .chain([Row::free(2, 20).shaped(WorkDistribution::Exponential), Row::free(4, 1).fork_join()])
        .collect()
}

/// How many rows are drawn unless a number is given.
pub const USUAL: usize = 160;
const MOST_THREADS: u32 = 16;
const MOST_HOGS: u64 = 4;
const DRAWN_GRAINS_US: [u32; 10] = [0, 1, 2, 5, 10, 20, 35, 50, 75, 100];
const DRAWN_SHAPES: [WorkDistribution; 5] = [
    WorkDistribution::Constant,
    WorkDistribution::Exponential,
    WorkDistribution::LogNormal,
    WorkDistribution::Bimodal,
    WorkDistribution::SlowMember,
];
const BURSTS_MS: [u32; 6] = [1, 2, 5, 10, 20, 50];

/// Draws `count` different rows of those that are `wanted`, the same ones for the same seed and number of
/// processors.
pub fn draw(seed: u64, count: usize, cpus: u32, wanted: impl Fn(&Row) -> bool) -> Vec<Row> {
    let mut random = SplitMix(SplitMix::mix(seed));
    let mut rows: Vec<Row> = Vec::new();
    // One that is there already is drawn again.
    while rows.len() < count {
        let row = one(&mut random, rows.len() % 3, cpus);
        if wanted(&row) && rows.iter().all(|other| other.name() != row.name()) {
            rows.push(row);
        }
    }
    rows
}

/// A row of a stratum: 0 more members than processors under load, 1 no more than those under
/// load, 2 any alone.
fn one(random: &mut SplitMix, stratum: usize, cpus: u32) -> Row {
    let most = MOST_THREADS.max(cpus * 2);
    let threads = match stratum {
        0 => within(random, (cpus + 1).max(2), most),
        1 => within(random, 2, cpus.max(2)),
        _ => within(random, 2, most),
    };
    let (hogs, background) = if stratum == 2 { (0, BackgroundLoad::Hog) } else { background(random, cpus) };
    let (grain_us, shape) = (pick(random, &DRAWN_GRAINS_US), pick(random, &DRAWN_SHAPES));
    Row { threads, hogs, background, pinned: false, quota: None, grain_us, shape, fork_join: false, drawn: true }
}

/// Half of them compute without end.
fn background(random: &mut SplitMix, cpus: u32) -> (u32, BackgroundLoad) {
    let hogs = 1 + random.below(MOST_HOGS) as u32;
    match random.below(6) {
        0 => (hogs, BackgroundLoad::Bursts(pick(random, &BURSTS_MS))),
        1 => (1, BackgroundLoad::Team),
        2 => (cpus, BackgroundLoad::Wakes),
        _ => (hogs, BackgroundLoad::Hog),
    }
}

fn within(random: &mut SplitMix, from: u32, to: u32) -> u32 {
    from + random.below(u64::from(to - from + 1)) as u32
}

fn pick<T: Copy>(random: &mut SplitMix, of: &[T]) -> T {
    of[random.below(of.len() as u64) as usize]
}

#[cfg(test)]
mod tests {
    use super::*;
    use foregather_results::row::LoadClass;
    use std::collections::{BTreeMap, BTreeSet};

    #[test]
    fn the_core_matrix_has_32_rows_of_different_names() {
        let (rows, _) = rows(&BarriersOptions::default());
        let names: BTreeSet<_> = rows.iter().map(Row::name).collect();
        assert_eq!(names.len(), rows.len());
        assert_eq!(rows.len(), if affinity::allowed().len() < 2 { 28 } else { 32 });
        assert!(rows.iter().all(|row| row.class().is_core()));
        assert_eq!(Row::new((2, 1, false), 20).name(), "2t + 1 hog, 20 us");
        let quick = super::rows(&BarriersOptions { quick: true, ..BarriersOptions::default() }).0;
        assert!(quick.iter().all(|row| rows.contains(row)) && quick.len() <= 8);
    }

    #[test]
    fn the_wide_matrix_has_the_classes_it_is_known_for() {
        let rows: Vec<Row> = [rows(&BarriersOptions::default()).0, beyond(), quota().to_vec()].concat();
        assert!(rows.iter().all(|row| Row::parse(&row.name()).as_ref() == Some(row)), "a name is its row");
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
        let expected = [("2 free", 4), ("3-8 threads", 12), ("hogs", 12), ("5-6 threads", 6), ("shapes", 9), ("log-normal", 6)];
        for (name, size) in expected.into_iter().chain([("quota", 5), ("fork-join", 8), ("graph", 9)]) {
            assert_eq!(sizes[name], size, "{name}");
        }
        let extended = rows.iter().filter(|row| row.class().is_extended()).count();
        assert_eq!(extended, 43 + pinned);
    }

    #[test]
    fn every_row_of_the_ablation_is_one_of_the_wide_matrix() {
        let all: Vec<Row> = [rows(&BarriersOptions::default()).0, beyond()].concat();
        let rows = ablation();
        assert!(rows.iter().filter(|row| !row.pinned).all(|row| all.contains(row)));
        assert_eq!(rows.iter().map(Row::name).collect::<BTreeSet<_>>().len(), 17);
    }

    #[test]
    fn a_draw_is_its_seeds_and_has_as_many_rows_of_each_stratum() {
        let cpus = affinity::allowed().len() as u32;
        let rows = draw(7, 60, cpus, |_| true);
        assert_eq!(rows, draw(7, 60, cpus, |_| true));
        assert_ne!(rows, draw(8, 60, cpus, |_| true));
        let of = |class: LoadClass| rows.iter().filter(|row| row.class() == class).count();
        assert_eq!([LoadClass::DrawnAlone, LoadClass::DrawnCrowded].map(of), [20, 20 + usize::from(cpus < 2) * 20]);
        assert!(rows.iter().all(|row| Row::parse(&row.name()).map(|parsed| Row { drawn: true, ..parsed }).as_ref() == Some(row)));
    }

    #[test]
    fn everything_of_the_space_is_drawn() {
        let rows = draw(1, 2_000, 2, |_| true);
        let some = |holds: &dyn Fn(&Row) -> bool| assert!(rows.iter().any(holds));
        DRAWN_SHAPES.iter().for_each(|shape| some(&|row| row.shape == *shape));
        DRAWN_GRAINS_US.iter().for_each(|grain| some(&|row| row.grain_us == *grain));
        BURSTS_MS.iter().for_each(|ms| some(&|row| row.background == BackgroundLoad::Bursts(*ms)));
        [2, 16].iter().for_each(|threads| some(&|row| row.threads == *threads));
        (1..=4).for_each(|hogs| some(&|row| row.hogs == hogs && row.background == BackgroundLoad::Hog));
        [BackgroundLoad::Team, BackgroundLoad::Wakes].iter().for_each(|kind| some(&|row| row.background == *kind));
    }
}
