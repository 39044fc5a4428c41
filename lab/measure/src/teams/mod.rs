//! What a fork and a join cost: our team, Rust's scoped threads, rayon and OpenMP, in turn, in processes of their own, with bodies of
//! several lengths and beside hogs.
pub mod output;

use crate::children::Hogs;
use crate::runners::{Runner, RunnerSet};
use crate::{Measured, machine_file};
use anyhow::Result;
use foregather_bench::teams::{TeamCell, VERB, ours};
use foregather_bench::{CellResult, Work};
use foregather_cli::Teams;
use foregather_host::interrupt;
use foregather_machine::{Nanos, SplitMix};
use foregather_results::progress::Progress;

/// A cell that has not ended by this much over its time has collapsed.
const COLLAPSED: Nanos = Nanos::from_ms(1_500);
const THREADS: [u32; 3] = [2, 4, 8];
const BODIES_US: [u32; 3] = [0, 1, 20];
const HOGS: [u32; 3] = [0, 1, 2];
const QUICK: (&[u32], &[u32], &[u32]) = (&[2, 4], &[0, 1], &[0, 2]);
/// Repetitions and milliseconds of a cell.
const USUAL: (u32, u64) = (5, 40);
const BRIEF: (u32, u64) = (2, 20);
/// Who runs regions.
const KIND: RunnerSet = RunnerSet {
    own: (&ours::RUNNERS, VERB),
    peers: ["list-teams", "team-cell"],
    without: "rayon and OpenMP are not compared",
    unknown: "runs no team here",
};

/// One row: who competes, and for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) threads: u32,
    pub(super) body_us: u32,
    pub(super) hogs: u32,
}

/// What one runner came to in one row.
#[derive(Default)]
pub(super) struct Runs {
    pub(super) results: Vec<CellResult>,
    pub(super) collapsed: u32,
}

/// Runs what the options ask for: within a row all runners in turn, in another order in each repetition, beside the same hogs.
///
/// # Errors
/// If a runner is unknown, or no cell can be started.
pub fn run(options: &Teams, quiet: bool) -> Result<Measured> {
    let mut found = Measured::default();
    let runners = KIND.runners(options.runners.as_deref(), &mut found.notes)?;
    let (repetitions, ms) = if options.quick { BRIEF } else { USUAL };
    let (repetitions, ms) = (options.repetitions.unwrap_or(repetitions), options.ms.unwrap_or(ms));
    let rows = rows(options);
    machine_file::load_or_measure()?;
    let (iterations_per_us, mut random) = (Work::iterations_per_us(), SplitMix(options.seed));
    let mut progress = Progress::new("teams", rows.len() * runners.len() * repetitions as usize, quiet);
    for row in rows {
        let _hogs = Hogs::start(row.hogs, 0)?;
        let mut runs: Vec<Runs> = runners.iter().map(|_| Runs::default()).collect();
        for _ in 0..repetitions {
            for i in random.shuffled(runners.len()) {
                progress.step(&format!("{}: {}", row.name(), runners[i].name));
                if interrupt::requested() {
                    continue;
                }
                let runner = runners[i].name.clone();
                let body_ns = u64::from(row.body_us) * 1_000;
                let cell = TeamCell { runner, threads: row.threads, body_ns, span_ns: ms * 1_000_000, iterations_per_us };
                match runners[i].cell(cell.to_arg(), &[], Nanos(cell.span_ns) * 2 + COLLAPSED) {
                    Ok(Some(result)) => runs[i].results.push(result),
                    Ok(None) => runs[i].collapsed += 1,
                    Err(_) if interrupt::requested() => {}
                    Err(error) => found.notes.push(format!("{} in `{}`: {error:#}", runners[i].name, row.name())),
                }
            }
        }
        found.measurements.extend(output::row(row, &runners, &runs));
    }
    Ok(found)
}

impl Row {
    pub(super) fn name(self) -> String {
        let Self { threads, body_us, hogs } = self;
        format!("{threads}t, {body_us} us, {hogs} hogs")
    }
}

fn rows(options: &Teams) -> Vec<Row> {
    let (threads, bodies, hogs) = if options.quick { QUICK } else { (&THREADS[..], &BODIES_US[..], &HOGS[..]) };
    let threads = if options.threads.is_empty() { threads } else { &options.threads };
    let row = |(&threads, &body_us, &hogs)| Row { threads, body_us, hogs };
    let all = threads.iter().flat_map(|t| bodies.iter().flat_map(move |b| hogs.iter().map(move |h| (t, b, h))));
    all.map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_all_teams_with_all_bodies_beside_all_hogs() {
        let all = rows(&Teams::default());
        assert_eq!(all.len(), 27);
        assert_eq!(all[26], Row { threads: 8, body_us: 20, hogs: 2 });
        let some = rows(&Teams { quick: true, threads: vec![3], ..Teams::default() });
        assert!(some.len() == 4 && some.iter().all(|row| row.threads == 3), "{some:?}");
    }

    #[test]
    fn an_unknown_runner_is_said() {
        let error = KIND.runners(Some("team,nobody"), &mut vec![]).err().unwrap().to_string();
        assert!(error.contains("nobody") && error.contains("std-scope"), "{error}");
        let chosen = KIND.runners(Some("serial, team"), &mut vec![]).unwrap();
        assert_eq!(chosen.iter().map(|runner| runner.name.as_str()).collect::<Vec<_>>(), ["team", "serial"]);
    }
}
