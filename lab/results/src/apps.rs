//! What results say of a program on shared memory: ids, labels and figures, for programs that run one,
//! simulate one or draws it.
//!
//! A run is a measurement `app/NAME/SERIES/ranks=N`, in milliseconds of the slowest thread from its warm
//! start on; each of its ranks is one `app/NAME/SERIES/ranks=N/rank=R`. The series tells runs apart that are
//! not to be compared point by point: the fabric and back end here, the network's name in a simulation. Both
//! have the figures of [`PARTS`]: where a thread's time went, in milliseconds, by the mean of the threads.
//! Their sum is the mean time of a thread.
use crate::Measurement;

/// What all ids begin with.
pub const PREFIX: &str = "app/";
/// Label: which program.
pub const APP: &str = "app";
/// Label: under which circumstances.
pub const SERIES: &str = "series";
/// Label: how many ranks there are.
pub const RANKS: &str = "ranks";
/// Label of a rank: which.
pub const RANK: &str = "rank";
/// Figure of a run: how many times as quick as the run on the fewest ranks of its series; not there if all
/// are on as many.
pub const SPEEDUP: &str = "speedup";

/// What a thread's time is made of: the name of the figure, in milliseconds, and what that is in words.
pub const PARTS: [(&str, &str); 7] = [
    ("compute_ms", "compute"),
    ("read_fault_ms", "read fault"),
    ("write_fault_ms", "write fault"),
    ("upgrade_ms", "upgrade"),
    ("ahead_ms", "prefetch"),
    ("lock_ms", "lock"),
    ("barrier_ms", "barrier"),
];

/// A run: the spans of its slowest thread, one for each repetition, and what a thread's time is made of, all
/// in milliseconds.
pub fn run(app: &str, series: &str, ranks: u32, spans_ms: Vec<f64>, parts_ms: [f64; PARTS.len()]) -> Measurement {
    let id = format!("{PREFIX}{app}/{series}/ranks={ranks}");
    described(Measurement::from_values(id, "a program on shared memory", "ms", spans_ms), (app, series, ranks), parts_ms)
}

/// One rank of a run.
pub fn rank(app: &str, series: &str, (ranks, rank): (u32, u32), spans_ms: Vec<f64>, parts_ms: [f64; PARTS.len()]) -> Measurement {
    let id = format!("{PREFIX}{app}/{series}/ranks={ranks}/rank={rank}");
    let m = Measurement::from_values(id, "a rank of it", "ms", spans_ms).label(RANK, rank.to_string());
    described(m, (app, series, ranks), parts_ms)
}

fn described(m: Measurement, (app, series, ranks): (&str, &str, u32), parts_ms: [f64; PARTS.len()]) -> Measurement {
    let m = m.label(APP, app).label(SERIES, series).label(RANKS, ranks.to_string());
    PARTS.iter().zip(parts_ms).fold(m, |m, ((name, _), ms)| m.figure(name, ms))
}

/// Returns whether it is a whole run, not one rank of a run.
pub fn is_run(m: &Measurement) -> bool {
    m.id.starts_with(PREFIX) && !m.labels.contains_key(RANK)
}

/// Gives each run how many times as quick it is as the run on the fewest ranks of its program and series, by
/// their medians.
pub fn speedups(all: &mut [Measurement]) {
    let of = |m: &Measurement| [APP, SERIES].map(|name| m.labels.get(name).cloned().unwrap_or_default());
    let ranks = |m: &Measurement| m.labels.get(RANKS).and_then(|n| n.parse::<u32>().ok());
    let runs: Vec<_> = all.iter().filter(|m| is_run(m)).filter_map(|m| Some((of(m), ranks(m)?, m.summary.p50?))).collect();
    for m in all.iter_mut().filter(|m| is_run(m)) {
        let own = of(m);
        let same = || runs.iter().filter(|(of, ..)| *of == own);
        let (first, last) = (same().min_by_key(|run| run.1), same().max_by_key(|run| run.1));
        if let (Some((_, fewest, before)), Some((_, most, _)), Some(now)) = (first, last, m.summary.p50)
            && most > fewest
        {
            *m = m.clone().figure(SPEEDUP, before / now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speedups_are_against_the_fewest_ranks_of_the_same_series() {
        let parts = [1.0; PARTS.len()];
        let mut all = vec![
            run("sor", "a", 4, vec![3.0, 2.0, 1.0], parts),
            run("sor", "a", 2, vec![8.0], parts),
            run("sor", "b", 4, vec![5.0], parts),
            rank("sor", "a", (4, 1), vec![1.0], parts),
        ];
        speedups(&mut all);
        let found: Vec<_> = all.iter().map(|m| m.figures.get(SPEEDUP).copied()).collect();
        assert_eq!(found, [Some(4.0), Some(1.0), None, None]);
        assert_eq!(all[3].id, "app/sor/a/ranks=4/rank=1");
        assert_eq!(all[0].figures["barrier_ms"], 1.0);
    }
}
