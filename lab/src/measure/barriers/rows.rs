//! The rows of the matrix: which team, beside whom, where, how fine.
use crate::cli::Barriers;
use foregather_bench::Shape;
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
    pub shape: Shape,
}

impl Row {
    const fn new(threads: u32, hogs: u32, pinned: bool, grain_us: u32) -> Self {
        Self { threads, hogs, pinned, quota: None, grain_us, shape: Shape::Uniform }
    }

    /// Its name in results: load, then grain.
    pub fn name(&self) -> String {
        let hogs = match self.hogs {
            0 => String::new(),
            1 => " + 1 hog".into(),
            n => format!(" + {n} hogs"),
        };
        let quota = self.quota.map_or(String::new(), |cpus| format!(" in {cpus:.1} cpus"));
        let shape = if self.shape == Shape::Exponential { " exponential" } else { "" };
        format!("{}t{}{hogs}{quota}{shape}, {} us", self.threads, if self.pinned { " pinned" } else { "" }, self.grain_us)
    }
}

/// The loads of the core matrix: threads, hogs, pinned.
const LOADS: [(u32, u32, bool); 8] =
    [(2, 0, true), (2, 0, false), (3, 0, false), (4, 0, false), (8, 0, false), (2, 1, false), (2, 2, false), (2, 4, false)];
const GRAINS_US: [u32; 4] = [0, 1, 5, 20];

/// The rows that the options ask for, and what is left out on this machine and why.
pub fn rows(options: &Barriers) -> (Vec<Row>, Vec<String>) {
    let mut notes = Vec::new();
    let grains: &[u32] = if options.quick { &[0, 20] } else { &GRAINS_US };
    let loads: &[usize] = if options.quick { &[0, 1, 3, 6] } else { &[0, 1, 2, 3, 4, 5, 6, 7] };
    let core = grains.iter().flat_map(|&grain| loads.iter().map(move |&load| (LOADS[load], grain)));
    let mut rows: Vec<Row> = core.map(|((threads, hogs, pinned), grain)| Row::new(threads, hogs, pinned, grain)).collect();
    if options.full {
        for (threads, hogs, grain) in [(2, 0, 1), (2, 0, 20), (4, 0, 1), (4, 0, 20)] {
            rows.push(Row { shape: Shape::Exponential, ..Row::new(threads, hogs, false, grain) });
        }
        for (threads, hogs, pinned) in
            [(4, 0, true), (8, 0, true), (4, 1, false), (4, 2, false), (4, 4, false), (2, 1, true), (2, 2, true)]
        {
            rows.extend([1, 20].map(|grain| Row::new(threads, hogs, pinned, grain)));
        }
        match QuotaGroup::new(1.0) {
            Ok(_) => {
                for (cpus, threads, grain) in [(1.0, 2, 1), (1.0, 4, 1), (1.0, 4, 20), (1.5, 4, 1)] {
                    rows.push(Row { quota: Some(cpus), ..Row::new(threads, 0, false, grain) });
                }
            }
            Err(error) => notes.push(format!("no rows with a quota: {error}")),
        }
    }
    let allowed = affinity::allowed().len();
    if allowed < 2 {
        rows.retain(|row| !row.pinned);
        notes.push("no pinned rows: this process may use only one processor".into());
    }
    (rows, notes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_core_matrix_has_32_rows_of_different_names() {
        let (rows, _) = rows(&Barriers::default());
        let names: std::collections::BTreeSet<_> = rows.iter().map(Row::name).collect();
        assert_eq!(names.len(), rows.len());
        assert_eq!(rows.len(), if affinity::allowed().len() < 2 { 28 } else { 32 });
        assert_eq!(Row::new(2, 1, false, 20).name(), "2t + 1 hog, 20 us");
        let quick = super::rows(&Barriers { quick: true, ..Barriers::default() }).0;
        assert!(quick.iter().all(|row| rows.contains(row)) && quick.len() <= 8);
    }
}
