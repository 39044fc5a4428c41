//! The rows: a construct of OpenMP or a barrier, a team, its grain, and what runs beside it.
use crate::barriers::rows;
use crate::matrix::BackgroundOfRow;
use foregather_bench::openmp::Construct;
use foregather_machine::SplitMix;
use foregather_results::load::{BackgroundLoad, WorkDistribution};
use foregather_results::row::{LoadClass, Row};

/// What the members of a row do between two waits, and how they wait.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum EpisodeKind {
    Construct(Construct),
    Barrier(WorkDistribution),
}

/// Teams that do the same at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Groups {
    One,
    /// In one process.
    TwoTeams,
    TwoProcesses,
}

/// One row.
#[derive(Clone, Debug)]
pub(super) struct DrawnRow {
    pub(super) name: String,
    pub(super) kind: EpisodeKind,
    /// Members of a team.
    pub(super) threads: u32,
    pub(super) groups: Groups,
    pub(super) grain_us: u32,
    pub(super) hogs: u32,
    pub(super) background: BackgroundLoad,
}

/// The class of rows in which a team has the machine for itself.
pub(super) const ALONE: &str = "idle machine, threads fit";
const GRAINS_US: [u32; 8] = [0, 1, 5, 10, 20, 50, 100, 200];
const BURSTS_MS: [u32; 5] = [1, 2, 5, 10, 20];
const MOST_THREADS: u64 = 16;
/// The same of nested regions, and of each of two teams.
const MOST_NESTED: u64 = 8;
const MOST_OF_TWO: u64 = 8;
/// Of one pick, a third are two teams: half of them in one process.
const GROUPS: [Groups; 6] = [Groups::One, Groups::One, Groups::One, Groups::One, Groups::TwoTeams, Groups::TwoProcesses];
const MOST_HOGS: u64 = 4;

impl DrawnRow {
    pub(super) fn surroundings(&self) -> BackgroundOfRow {
        BackgroundOfRow { hogs: self.hogs, background: self.background, ..BackgroundOfRow::default() }
    }

    /// What is measured of it.
    pub(super) fn episodes(&self) -> &'static str {
        match self.kind {
            EpisodeKind::Construct(_) => "constructs of OpenMP",
            EpisodeKind::Barrier(_) => "barriers",
        }
    }

    /// Rows over which one mean is computed.
    pub(super) fn class(&self, cpus: u32) -> &'static str {
        let teams = if self.groups == Groups::One { 1 } else { 2 };
        let is_loaded = self.hogs > 0 || self.groups == Groups::TwoProcesses;
        match (is_loaded, self.threads * teams > cpus) {
            (false, false) => ALONE,
            (false, true) => "idle machine, oversubscribed",
            (true, false) => "background load, threads fit",
            (true, true) => "background load, oversubscribed",
        }
    }
}

/// Draws `count` different rows, the same ones for the same seed.
pub(super) fn draw(seed: u64, count: usize, barriers: bool, cpus: u32) -> Vec<DrawnRow> {
    let mut random = SplitMix(SplitMix::mix(seed));
    if barriers {
        return rows::draw(seed, count, cpus, |_| true).into_iter().map(|row| barrier(&mut random, row)).collect();
    }
    let mut rows: Vec<DrawnRow> = Vec::new();
    while rows.len() < count {
        let row = construct(&mut random);
        if rows.iter().all(|other| other.name != row.name) {
            rows.push(row);
        }
    }
    rows
}

fn barrier(random: &mut SplitMix, row: Row) -> DrawnRow {
    debug_assert!(matches!(row.class(), LoadClass::DrawnAlone | LoadClass::DrawnCrowded | LoadClass::DrawnDisturbed));
    let groups = if u64::from(row.threads) > MOST_OF_TWO { Groups::One } else { pick(random, &GROUPS) };
    let name = format!("{}{}", groups.prefix(), row.name());
    let Row { threads, hogs, background, grain_us, shape, .. } = row;
    DrawnRow { name, kind: EpisodeKind::Barrier(shape), threads, groups, grain_us, hogs, background }
}

impl Groups {
    /// Before the size of a team in names.
    fn prefix(self) -> &'static str {
        match self {
            Self::One => "",
            Self::TwoTeams => "2 teams of ",
            Self::TwoProcesses => "2 processes of ",
        }
    }
}

/// A third of the rows have no background load, and a third of the others a load that comes and goes.
fn construct(random: &mut SplitMix) -> DrawnRow {
    let construct = pick(random, &Construct::ALL);
    let groups = pick(random, &GROUPS);
    let most = match (groups, construct) {
        (Groups::One, Construct::Nested) => MOST_NESTED,
        (Groups::One, _) => MOST_THREADS,
        (_, Construct::Nested) => MOST_NESTED / 2,
        _ => MOST_OF_TWO,
    };
    let threads = if random.below(3) == 0 { 2 } else { 2 + random.below(most - 1) as u32 };
    let grain_us = pick(random, &GRAINS_US);
    let hogs = if random.below(3) == 0 { 0 } else { 1 + random.below(MOST_HOGS) as u32 };
    let bursts = hogs > 0 && random.below(3) == 0;
    let background = if bursts { BackgroundLoad::Bursts(pick(random, &BURSTS_MS)) } else { BackgroundLoad::Hog };
    let load = match (hogs, background) {
        (0, _) => String::new(),
        (1, background) => format!(" + 1 {background}"),
        (hogs, BackgroundLoad::Hog) => format!(" + {hogs} hogs"),
        (hogs, background) => format!(" + {hogs} {background}"),
    };
    let name = format!("{}, {}{threads}t{load}, {grain_us} us", construct.name(), groups.prefix());
    DrawnRow { name, kind: EpisodeKind::Construct(construct), threads, groups, grain_us, hogs, background }
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
        BURSTS_MS.iter().for_each(|&ms| some(&|row| row.background == BackgroundLoad::Bursts(ms)));
        GROUPS.iter().for_each(|&groups| some(&|row| row.groups == groups));
        assert!(rows.iter().all(|row| row.groups == Groups::One || row.threads <= 8));
        assert!(rows.iter().all(|row| row.hogs > 0 || row.background == BackgroundLoad::Hog));
        assert_eq!(rows.iter().map(|row| row.class(2)).collect::<BTreeSet<_>>().len(), 4);
    }

    #[test]
    fn barriers_are_drawn_of_one_team_and_of_two() {
        let rows = draw(3, 300, true, 2);
        GROUPS.iter().for_each(|&groups| assert!(rows.iter().any(|row| row.groups == groups)));
        let two = rows.iter().find(|row| row.groups == Groups::TwoProcesses && row.threads == 2).unwrap();
        assert!(two.name.starts_with("2 processes of 2t"), "{}", two.name);
        assert_eq!(DrawnRow { hogs: 0, ..two.clone() }.class(2), "background load, oversubscribed");
    }
}
