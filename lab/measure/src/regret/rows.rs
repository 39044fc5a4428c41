//! The rows: a construct of OpenMP or a barrier, a team, its grain, and what runs beside it.
use crate::barriers::rows::{self, LoadClass};
use crate::matrix::Surroundings;
use foregather_bench::openmp::Construct;
use foregather_bench::{Stranger, WorkDistribution};
use foregather_machine::SplitMix;

/// What the members of a row do between two waits, and how they wait.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum EpisodeKind {
    Construct(Construct),
    Barrier(WorkDistribution),
}

/// One row.
#[derive(Clone, Debug)]
pub(super) struct DrawnRow {
    pub(super) name: String,
    pub(super) kind: EpisodeKind,
    pub(super) threads: u32,
    pub(super) grain_us: u32,
    pub(super) hogs: u32,
    pub(super) stranger: Stranger,
}

const GRAINS_US: [u32; 8] = [0, 1, 5, 10, 20, 50, 100, 200];
const BURSTS_MS: [u32; 5] = [1, 2, 5, 10, 20];
const MOST_THREADS: u64 = 16;
const MOST_HOGS: u64 = 4;

impl DrawnRow {
    pub(super) fn surroundings(&self) -> Surroundings {
        Surroundings { hogs: self.hogs, stranger: self.stranger, ..Surroundings::default() }
    }

    /// Rows over which one mean is computed.
    pub(super) fn class(&self, cpus: u32) -> &'static str {
        match (self.hogs > 0, self.threads > cpus) {
            (false, false) => "idle machine, threads fit",
            (false, true) => "idle machine, oversubscribed",
            (true, false) => "background load, threads fit",
            (true, true) => "background load, oversubscribed",
        }
    }
}

/// Draws `count` different rows, the same ones for the same seed.
pub(super) fn draw(seed: u64, count: usize, barriers: bool, cpus: u32) -> Vec<DrawnRow> {
    if barriers {
        return rows::draw(seed, count, cpus).into_iter().map(barrier).collect();
    }
    let mut random = SplitMix(SplitMix::mix(seed));
    let mut rows: Vec<DrawnRow> = Vec::new();
    while rows.len() < count {
        let row = construct(&mut random);
        if rows.iter().all(|other| other.name != row.name) {
            rows.push(row);
        }
    }
    rows
}

fn barrier(row: rows::Row) -> DrawnRow {
    debug_assert!(matches!(row.class(), LoadClass::DrawnAlone | LoadClass::DrawnCrowded | LoadClass::DrawnDisturbed));
    let name = row.name();
    let rows::Row { threads, hogs, stranger, grain_us, shape, .. } = row;
    DrawnRow { name, kind: EpisodeKind::Barrier(shape), threads, grain_us, hogs, stranger }
}

/// A third of the rows have no background load, and a third of the others a load that comes and goes.
fn construct(random: &mut SplitMix) -> DrawnRow {
    let construct = pick(random, &Construct::ALL);
    let most = if construct == Construct::Nested { 8 } else { MOST_THREADS };
    let threads = if random.below(3) == 0 { 2 } else { 2 + random.below(most - 1) as u32 };
    let grain_us = pick(random, &GRAINS_US);
    let hogs = if random.below(3) == 0 { 0 } else { 1 + random.below(MOST_HOGS) as u32 };
    let bursts = hogs > 0 && random.below(3) == 0;
    let stranger = if bursts { Stranger::Bursts(pick(random, &BURSTS_MS)) } else { Stranger::Hog };
    let load = match (hogs, stranger) {
        (0, _) => String::new(),
        (hogs, stranger) => format!(" + {hogs} {stranger}"),
    };
    let name = format!("{}, {threads}t{load}, {grain_us} us", construct.name());
    DrawnRow { name, kind: EpisodeKind::Construct(construct), threads, grain_us, hogs, stranger }
}

fn pick<T: Copy>(random: &mut SplitMix, of: &[T]) -> T {
    of[random.below(of.len() as u64) as usize]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_draw_is_its_seeds_and_reaches_all_of_the_space() {
        let names = |seed| draw(seed, 60, false, 2).into_iter().map(|row| row.name).collect::<Vec<_>>();
        assert_eq!(names(7), names(7));
        assert_ne!(names(7), names(8));
        let rows = draw(1, 1_500, false, 2);
        assert_eq!(rows.iter().map(|row| row.name.as_str()).collect::<BTreeSet<_>>().len(), rows.len());
        let some = |holds: &dyn Fn(&DrawnRow) -> bool| assert!(rows.iter().any(holds));
        Construct::ALL.iter().for_each(|&construct| some(&|row| row.kind == EpisodeKind::Construct(construct)));
        [2, 16].iter().for_each(|&threads| some(&|row| row.threads == threads));
        (0..=4).for_each(|hogs| some(&|row| row.hogs == hogs));
        BURSTS_MS.iter().for_each(|&ms| some(&|row| row.stranger == Stranger::Bursts(ms)));
        assert!(rows.iter().all(|row| row.hogs > 0 || row.stranger == Stranger::Hog));
        assert_eq!(rows.iter().map(|row| row.class(2)).collect::<BTreeSet<_>>().len(), 4);
    }
}
