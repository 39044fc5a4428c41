//! What calls of a BLAS cost alone and shared: ours, and each other one that is installed, each cell in a process of its own, since
//! their idle threads would disturb each other. Within a cell both ways alternate.
mod crossovers;
pub mod output;

use crate::children::Hogs;
use crate::runners::RunnerSet;
use crate::{Measured, machine_file};
use anyhow::{Result, bail};
use foregather_bench::blas::{BlasCell, BlasResult, Routine, VERB, ours};
use foregather_cli::{Blas, BlasPart};
use foregather_host::{affinity, interrupt};
use foregather_machine::SplitMix;
use foregather_results::progress::Progress;

/// The most threads if nobody has asked for more.
const THREADS: u32 = 4;
/// Milliseconds of a cell.
const USUAL_MS: u64 = 60;
const BRIEF_MS: u64 = 20;
/// How the collapse is told: this routine, of this order.
const COLLAPSE: (Routine, u32) = (Routine::Dgemm, 256);
const HOGS: [u32; 3] = [0, 1, 2];
const GAPS_US: [u64; 2] = [1_000, 50_000];
/// Whose BLAS.
const KIND: RunnerSet = RunnerSet {
    own: (&ours::RUNNERS, VERB),
    peers: ["list-blas", "blas-cell"],
    without: "no other BLAS is compared",
    unknown: "is no BLAS here",
};

/// One row: who competes, and for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) part: BlasPart,
    pub(super) routine: Routine,
    pub(super) n: u32,
    pub(super) gap_us: u64,
    pub(super) hogs: u32,
}

/// Runs what the options ask for: within a row all runners in turn, in random order, beside the same hogs.
///
/// # Errors
/// If a routine or runner is unknown, or hogs cannot be started.
pub fn run(options: &Blas, quiet: bool) -> Result<Measured> {
    if options.crossovers {
        return Ok(crossovers::run());
    }
    let mut found = Measured::default();
    let runners = KIND.runners(options.runners.as_deref(), &mut found.notes)?;
    let rows = rows(options)?;
    machine_file::load_or_measure()?;
    let ms = options.ms.unwrap_or(if options.quick { BRIEF_MS } else { USUAL_MS });
    let threads = options.threads.unwrap_or_else(|| (affinity::allowed().len() as u32).clamp(1, THREADS));
    let (env, mut random) = ([("FOREGATHER_THREADS".to_owned(), threads.to_string())], SplitMix(options.seed));
    let mut progress = Progress::new("blas", rows.len() * runners.len(), quiet);
    for row in rows {
        let _hogs = Hogs::start(row.hogs, 0)?;
        let mut results: Vec<Option<BlasResult>> = runners.iter().map(|_| None).collect();
        for i in random.shuffled(runners.len()) {
            progress.step(&format!("{}: {}", row.name(), runners[i].name));
            if interrupt::requested() {
                continue;
            }
            let Row { routine, n, gap_us, .. } = row;
            let runner = runners[i].name.clone();
            let cell = BlasCell { runner, routine, n, threads, gap_ns: gap_us * 1_000, span_ns: ms * 1_000_000 };
            match runners[i].cell(cell.to_arg(), &env, cell.at_most()) {
                Ok(Some(result)) => results[i] = Some(result),
                Ok(None) => found.notes.push(format!("{} in `{}` did not end and was killed", runners[i].name, row.name())),
                Err(_) if interrupt::requested() => {}
                Err(error) => found.notes.push(format!("{} in `{}`: {error:#}", runners[i].name, row.name())),
            }
        }
        let done = runners.iter().zip(&results).filter_map(|(runner, result)| Some((runner, result.as_ref()?)));
        found.measurements.extend(done.map(|(runner, result)| output::one(row, threads, &runner.name, result)));
    }
    Ok(found)
}

impl Row {
    pub(super) fn name(self) -> String {
        let Self { routine, n, gap_us, hogs, .. } = self;
        format!("{} {n}, gap {} ms, {hogs} hogs", routine.name(), gap_us / 1_000)
    }
}

/// The sizes of a routine: about where BLAS libraries begin to share, and some beyond; and those that are tried after pauses.
fn sizes(routine: Routine, quick: bool) -> (&'static [u32], &'static [u32]) {
    match (routine, quick) {
        (Routine::Daxpy | Routine::Ddot, true) => (&[1_000, 4_000, 12_000, 100_000], &[100_000]),
        (Routine::Daxpy | Routine::Ddot, false) => {
            (&[500, 1_000, 2_000, 4_000, 8_000, 12_000, 16_000, 32_000, 100_000, 316_000, 1_000_000], &[4_000, 16_000, 100_000])
        }
        (Routine::Dgemv, true) => (&[64, 160, 512], &[512]),
        (Routine::Dgemv, false) => (&[32, 64, 96, 128, 160, 192, 256, 384, 512, 768, 1_024, 2_048], &[160, 512]),
        (Routine::Dgemm, true) => (&[24, 40, 64, 256], &[128]),
        (Routine::Dgemm, false) => (&[8, 16, 24, 32, 40, 48, 64, 80, 96, 128, 192, 256, 512, 1_024], &[40, 128, 400]),
        (Routine::Dsymv | Routine::Dsymm | Routine::Dsyrk | Routine::Dtrmm | Routine::Dtrsm, true) => (&[16, 64], &[]),
        (Routine::Dsymv | Routine::Dsymm | Routine::Dsyrk | Routine::Dtrmm | Routine::Dtrsm, false) => {
            (&[4, 8, 16, 32, 64, 128, 256], &[])
        }
        (Routine::Lu, true) => (&[100, 400], &[]),
        (Routine::Lu, false) => (&[50, 100, 200, 400, 800, 1_200], &[400]),
    }
}

fn rows(options: &Blas) -> Result<Vec<Row>> {
    let routines: Vec<Routine> = match &options.routines {
        None => Routine::ALL.to_vec(),
        Some(names) => names.split(',').map(|name| named(name.trim())).collect::<Result<_>>()?,
    };
    let mut all = Vec::new();
    for &routine in &routines {
        let (sizes, paused) = sizes(routine, options.quick);
        let sizes = if options.sizes.is_empty() { sizes } else { &options.sizes };
        let row = |n, gap_us, part| Row { part, routine, n, gap_us, hogs: 0 };
        all.extend(sizes.iter().map(|&n| row(n, 0, BlasPart::Sizes)));
        let gaps = if options.quick { &GAPS_US[..1] } else { &GAPS_US[..] };
        all.extend(gaps.iter().flat_map(|&gap| paused.iter().map(move |&n| row(n, gap, BlasPart::Gaps))));
    }
    let (routine, n) = COLLAPSE;
    if routines.contains(&routine) {
        all.extend(HOGS.map(|hogs| Row { part: BlasPart::Collapse, routine, n, gap_us: 0, hogs }));
    }
    all.retain(|row| options.only.is_none_or(|part| part == row.part));
    Ok(all)
}

fn named(name: &str) -> Result<Routine> {
    let known = Routine::ALL.map(Routine::name);
    match Routine::ALL.into_iter().find(|routine| routine.name() == name) {
        Some(routine) => Ok(routine),
        None => bail!("--routines: `{name}` is none of them; there are {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sizes_gaps_and_hogs_and_each_part_can_be_had_alone() {
        let all = rows(&Blas::default()).unwrap();
        assert!(all.iter().any(|row| row.part == BlasPart::Gaps && row.gap_us == 50_000));
        assert_eq!(all.iter().filter(|row| row.part == BlasPart::Collapse).count(), 3);
        let only = Blas { only: Some(BlasPart::Collapse), ..Blas::default() };
        assert_eq!(rows(&only).unwrap().len(), 3);
        let small = Blas { sizes: vec![4, 8], only: Some(BlasPart::Sizes), ..Blas::default() };
        assert!(rows(&small).unwrap().chunks(2).all(|rows| (rows[0].n, rows[1].n) == (4, 8)));
        let dots = Blas { quick: true, routines: Some("ddot".to_owned()), ..Blas::default() };
        assert!(rows(&dots).unwrap().iter().all(|row| row.routine == Routine::Ddot && row.hogs == 0));
        let error = rows(&Blas { routines: Some("ddot,dxyz".to_owned()), ..Blas::default() }).unwrap_err().to_string();
        assert!(error.contains("dxyz") && error.contains("dgemv"), "{error}");
    }

    #[test]
    fn an_unknown_runner_is_said() {
        let error = KIND.runners(Some("foregather,nobody"), &mut vec![]).err().unwrap().to_string();
        assert!(error.contains("nobody") && error.contains("foregather-always"), "{error}");
    }
}
