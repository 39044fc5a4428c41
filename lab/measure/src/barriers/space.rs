//! The space of rows, from which rows are drawn that nobody can have tuned to: as many crowded ones as disturbed ones and ones left alone.
use super::rows::Row;
use foregather_bench::{Stranger, WorkDistribution};
use foregather_machine::SplitMix;

/// How many rows are drawn unless a number is given.
pub const USUAL: usize = 160;
const MOST_THREADS: u32 = 16;
const MOST_HOGS: u64 = 4;
const GRAINS_US: [u32; 10] = [0, 1, 2, 5, 10, 20, 35, 50, 75, 100];
const SHAPES: [WorkDistribution; 5] = [
    WorkDistribution::Constant,
    WorkDistribution::Exponential,
    WorkDistribution::LogNormal,
    WorkDistribution::Bimodal,
    WorkDistribution::SlowMember,
];
const BURSTS_MS: [u32; 6] = [1, 2, 5, 10, 20, 50];

/// So many different rows, the same ones for the same seed and number of processors.
pub fn draw(seed: u64, count: usize, cpus: u32) -> Vec<Row> {
    let mut random = SplitMix(SplitMix::mix(seed));
    let mut rows: Vec<Row> = Vec::new();
    // One that is there already is drawn anew.
    while rows.len() < count {
        let row = one(&mut random, rows.len() % 3, cpus);
        if rows.iter().all(|other| other.name() != row.name()) {
            rows.push(row);
        }
    }
    rows
}

/// A row of a stratum: 0 more members than processors beside strangers, 1 no more than those beside strangers, 2 any alone.
fn one(random: &mut SplitMix, stratum: usize, cpus: u32) -> Row {
    let most = MOST_THREADS.max(cpus * 2);
    let threads = match stratum {
        0 => within(random, (cpus + 1).max(2), most),
        1 => within(random, 2, cpus.max(2)),
        _ => within(random, 2, most),
    };
    let (hogs, stranger) = if stratum == 2 { (0, Stranger::Hog) } else { strangers(random, cpus) };
    let (grain_us, shape) = (pick(random, &GRAINS_US), pick(random, &SHAPES));
    Row { threads, hogs, stranger, pinned: false, quota: None, grain_us, shape, fork_join: false, drawn: true }
}

/// Half of them compute without end.
fn strangers(random: &mut SplitMix, cpus: u32) -> (u32, Stranger) {
    let hogs = 1 + random.below(MOST_HOGS) as u32;
    match random.below(6) {
        0 => (hogs, Stranger::Bursts(pick(random, &BURSTS_MS))),
        1 => (1, Stranger::Team),
        2 => (cpus, Stranger::Wakes),
        _ => (hogs, Stranger::Hog),
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
    use super::super::class::LoadClass;
    use super::*;
    use foregather_host::affinity;

    #[test]
    fn a_draw_is_its_seeds_and_has_as_many_rows_of_each_stratum() {
        let cpus = affinity::allowed().len() as u32;
        let rows = draw(7, 60, cpus);
        assert_eq!(rows, draw(7, 60, cpus));
        assert_ne!(rows, draw(8, 60, cpus));
        let of = |class: LoadClass| rows.iter().filter(|row| row.class() == class).count();
        assert_eq!([LoadClass::DrawnAlone, LoadClass::DrawnCrowded].map(of), [20, 20 + usize::from(cpus < 2) * 20]);
        assert!(rows.iter().all(|row| Row::parse(&row.name()).map(|parsed| Row { drawn: true, ..parsed }).as_ref() == Some(row)));
    }

    #[test]
    fn everything_of_the_space_is_drawn() {
        let rows = draw(1, 2_000, 2);
        let some = |holds: &dyn Fn(&Row) -> bool| assert!(rows.iter().any(holds));
        SHAPES.iter().for_each(|shape| some(&|row| row.shape == *shape));
        GRAINS_US.iter().for_each(|grain| some(&|row| row.grain_us == *grain));
        BURSTS_MS.iter().for_each(|ms| some(&|row| row.stranger == Stranger::Bursts(*ms)));
        [2, 16].iter().for_each(|threads| some(&|row| row.threads == *threads));
        (1..=4).for_each(|hogs| some(&|row| row.hogs == hogs && row.stranger == Stranger::Hog));
        [Stranger::Team, Stranger::Wakes].iter().for_each(|kind| some(&|row| row.stranger == *kind));
    }
}
