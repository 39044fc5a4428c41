//! What calls of a BLAS cost alone and shared: ours, and each other one that is installed, each cell in a
//! process of its own, since their idle threads would disturb each other. Within a cell both ways alternate.
use crate::matrix::{BackgroundOfRow, CellLoop, TurnOrder};
use crate::options::{BlasOptions, BlasPart};
use crate::peers::{CellRunner, RunnerSet};
use crate::{Experiment, Measured, machine_file};
use anyhow::{Context, Result};
use foregather_bench::blas::{BlasCell, BlasResult, Routine, ours};
use foregather_blas::{Crossover, crossovers};
use foregather_host::affinity;
use foregather_results::ids::{BLAS, BLAS_COLLAPSE};
use foregather_results::table::Shows::{Figure, Label, Median};
use foregather_results::table::{Heading, ResultTable, texts};
use foregather_results::{Measurement, Results};

/// The most threads if none are asked for.
const THREADS: u32 = 4;
/// Milliseconds of a cell.
const USUAL_MS: u64 = 60;
const BRIEF_MS: u64 = 20;
/// How the collapse is told: this routine, of this order.
const COLLAPSING: (Routine, u32) = (Routine::Dgemm, 256);
const HOGS: [u32; 3] = [0, 1, 2];
const GAPS_US: [u64; 2] = [1_000, 50_000];
pub(super) const KIND: RunnerSet =
    RunnerSet { own: &ours::RUNNERS, list: "list-blas", without: "no other BLAS is compared", unknown: "is no BLAS here" };
/// Of calls after pauses.
pub const GAPS: &str = "blas-gaps/";
/// Of crossovers.
pub const CROSSOVERS: &str = "blas-crossovers/";
const COLUMNS: [Heading; 15] = [
    ("routine", Label("routine")),
    ("n", Label("n")),
    ("gap ms", Label("gap_ms")),
    ("hogs", Label("hogs")),
    ("runner", Label("runner")),
    ("us", Median),
    ("alone us", Figure("alone_us")),
    ("GF/s", Figure("gflops")),
    ("x alone", Figure("ratio")),
    ("at least", Figure("ratio_low")),
    ("mean us", Figure("mean_us")),
    ("p99 us", Figure("p99_us")),
    ("cpu us", Figure("cpu_us")),
    ("alone", Figure("alone_cpu_us")),
    ("x calm", Figure("slowdown")),
];

/// One row: a call, and what is beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    part: BlasPart,
    routine: Routine,
    n: u32,
    gap_us: u64,
    hogs: u32,
}

impl Experiment for BlasOptions {
    fn measure(&self, quiet: bool) -> Result<Measured> {
        if self.crossovers {
            return Ok(all_crossovers());
        }
        let mut notes = vec![];
        let runners = KIND.runners(self.runners.as_deref(), &mut notes)?;
        let rows = rows(self)?;
        machine_file::load_or_measure()?;
        let ms = self.ms.unwrap_or(if self.quick { BRIEF_MS } else { USUAL_MS });
        let threads = self.threads.unwrap_or_else(|| (affinity::allowed().len() as u32).clamp(1, THREADS));
        let mut matrix = CellLoop::new("blas", rows.len() * runners.len(), 1, TurnOrder::Random(self.seed), quiet);
        for row in rows {
            let beside = BackgroundOfRow { hogs: row.hogs, ..BackgroundOfRow::default() };
            let name = |runner: &CellRunner| format!("{}: {}", row.name(), runner.name);
            let runs = matrix.row(beside, &runners, name, |runner, _| {
                let (Row { routine, n, gap_us, .. }, name) = (row, runner.name.clone());
                let cell = BlasCell { runner: name, routine, n, threads, gap_ns: gap_us * 1_000, span_ns: ms * 1_000_000 };
                runner.run_to_end(&cell)
            })?;
            let done = runners.iter().zip(&runs).filter_map(|(runner, runs)| Some((runner, runs.results.first()?)));
            matrix.found.measurements.extend(done.map(|(runner, result)| measurement(row, threads, &runner.name, result)));
        }
        matrix.found.notes.splice(0..0, notes);
        matrix.end()
    }

    fn text(&self, results: &Results) -> String {
        text(&results.measurements)
    }
}

impl Row {
    fn name(self) -> String {
        let Self { routine, n, gap_us, hogs, .. } = self;
        format!("{} {n}, gap {} ms, {hogs} hogs", routine.name(), gap_us / 1_000)
    }
}

/// The sizes of a routine: about where BLAS libraries begin to share, and some beyond; and those that are
/// tried after pauses.
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

fn rows(options: &BlasOptions) -> Result<Vec<Row>> {
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
    let (routine, n) = COLLAPSING;
    if routines.contains(&routine) {
        all.extend(HOGS.map(|hogs| Row { part: BlasPart::Collapse, routine, n, gap_us: 0, hogs }));
    }
    all.retain(|row| options.only.is_none_or(|part| part == row.part));
    Ok(all)
}

fn named(name: &str) -> Result<Routine> {
    let known = Routine::ALL.map(Routine::name).join(", ");
    Routine::named(name).with_context(|| format!("--routines: `{name}` is none of them; there are {known}"))
}

/// From which size on each routine is shared: all, those measured now that were not known.
fn all_crossovers() -> Measured {
    let (all, notes) = crossovers();
    let mut notes = notes;
    if all.iter().all(|crossover| crossover.warm.is_none()) {
        notes
            .push("this process may use one processor, so every call is serial (affinity, quota, FOREGATHER_THREADS)".to_owned());
    }
    Measured { measurements: all.into_iter().flat_map(both).collect(), notes, ..Measured::default() }
}

fn both(crossover: Crossover) -> [Measurement; 2] {
    let routine = crossover.routine.name();
    [("warm", crossover.warm), ("cold", crossover.cold)].map(|(after, n)| {
        let what = "the length of vectors, or order of square matrices, from which on double precision is shared";
        let values = n.map(|n| n as f64).into_iter().collect();
        let id = format!("{CROSSOVERS}{routine}/{after}");
        Measurement::from_values(id, what, "elements", values).label("routine", routine).label("after", after)
    })
}

/// One cell of the part over the size.
pub(super) fn one_size(routine: Routine, n: u32, threads: u32, runner: &str, result: &BlasResult) -> Measurement {
    measurement(Row { part: BlasPart::Sizes, routine, n, gap_us: 0, hogs: 0 }, threads, runner, result)
}

/// One cell.
fn measurement(row: Row, threads: u32, runner: &str, result: &BlasResult) -> Measurement {
    let Row { part, routine, n, gap_us, hogs } = row;
    let name = routine.name();
    let id = match part {
        BlasPart::Sizes => format!("{BLAS}{name}/{n}/{runner}"),
        BlasPart::Gaps => format!("{GAPS}{name}/{n}/{}ms/{runner}", gap_us / 1_000),
        BlasPart::Collapse => format!("{BLAS_COLLAPSE}{hogs}h/{runner}"),
    };
    let us = |ns: f64| ns / 1e3;
    let BlasResult { alone, shared, .. } = result;
    Measurement::from_values(id, "a call, shared if the library thinks it worth while; the median", "us", vec![us(shared.p50_ns)])
        .label("routine", name)
        .label("n", n.to_string())
        .label("gap_ms", (gap_us / 1_000).to_string())
        .label("hogs", hogs.to_string())
        .label("threads", threads.to_string())
        .label("runner", runner)
        .figure("ratio", result.ratio)
        .figure("ratio_low", result.ratio_low)
        .figure("pairs", result.pairs as f64)
        .figure("alone_us", us(alone.p50_ns))
        .figure("alone_mean_us", us(alone.mean_ns))
        .figure("mean_us", us(shared.mean_ns))
        .figure("p99_us", us(shared.p99_ns))
        .figure("alone_cpu_us", us(alone.cpu_ns))
        .figure("cpu_us", us(shared.cpu_ns))
        .figure("alone_gflops", routine.flops(n) / alone.p50_ns)
        .figure("gflops", routine.flops(n) / shared.p50_ns)
}

/// All parts, one below the other.
fn text(all: &[Measurement]) -> String {
    texts([BLAS, GAPS, BLAS_COLLAPSE].map(|part| calls(all, part)).into_iter().chain([crossovers_table(all)]))
}

/// How many times longer a call takes on average than the same runner's without hogs.
pub fn slowdown(all: &[Measurement], m: &Measurement) -> Option<f64> {
    let calm = |other: &&Measurement| {
        other.id.starts_with(BLAS_COLLAPSE) && other.text("runner") == m.text("runner") && other.text("hogs") == "0"
    };
    let calm = all.iter().find(calm)?;
    Some(m.figures.get("mean_us")? / calm.figures.get("mean_us")?)
}

fn calls(all: &[Measurement], part: &str) -> ResultTable {
    let with = |m: &Measurement| {
        let slower = if part == BLAS_COLLAPSE { slowdown(all, m) } else { None };
        m.clone().figure("slowdown", slower.unwrap_or(f64::NAN))
    };
    ResultTable::of(&COLUMNS, &all.iter().filter(|m| m.id.starts_with(part)).map(with).collect::<Vec<_>>())
}

fn crossovers_table(all: &[Measurement]) -> ResultTable {
    let mut table = ResultTable::new(["routine", "shared from", "after a pause from"]);
    for m in all.iter().filter(|m| m.id.starts_with(CROSSOVERS) && m.text("after") == "warm") {
        let routine = m.text("routine").to_owned();
        let cold = all.iter().find(|other| other.id == format!("{CROSSOVERS}{routine}/cold"));
        let n = |m: Option<&Measurement>| m.and_then(|m| m.summary.p50).map_or_else(|| "never".to_owned(), |n| format!("{n:.0}"));
        table.rows.push(vec![routine, n(Some(m)), n(cold)]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use foregather_bench::blas::SideResult;

    #[test]
    fn rows_are_sizes_gaps_and_hogs_and_each_part_can_be_had_alone() {
        let all = rows(&BlasOptions::default()).unwrap();
        assert!(all.iter().any(|row| row.part == BlasPart::Gaps && row.gap_us == 50_000));
        assert_eq!(all.iter().filter(|row| row.part == BlasPart::Collapse).count(), 3);
        let only = BlasOptions { only: Some(BlasPart::Collapse), ..BlasOptions::default() };
        assert_eq!(rows(&only).unwrap().len(), 3);
        let small = BlasOptions { sizes: vec![4, 8], only: Some(BlasPart::Sizes), ..BlasOptions::default() };
        assert!(rows(&small).unwrap().chunks(2).all(|rows| (rows[0].n, rows[1].n) == (4, 8)));
        let dots = BlasOptions { quick: true, routines: Some("ddot".to_owned()), ..BlasOptions::default() };
        assert!(rows(&dots).unwrap().iter().all(|row| row.routine == Routine::Ddot && row.hogs == 0));
        let error =
            rows(&BlasOptions { routines: Some("ddot,dxyz".to_owned()), ..BlasOptions::default() }).unwrap_err().to_string();
        assert!(error.contains("dxyz") && error.contains("dgemv"), "{error}");
    }

    #[test]
    fn an_unknown_runner_is_said() {
        let error = KIND.runners(Some("foregather,nobody"), &mut vec![]).err().unwrap().to_string();
        assert!(error.contains("nobody") && error.contains("foregather-always"), "{error}");
    }

    fn cell(hogs: u32, mean_ns: f64) -> Measurement {
        let row = Row { part: BlasPart::Collapse, routine: Routine::Dgemm, n: 100, gap_us: 0, hogs };
        let side = |ns| SideResult { p50_ns: ns, mean_ns: ns, p99_ns: ns, cpu_ns: ns };
        let result =
            BlasResult { pairs: 30, batch: 1, alone: side(200_000.0), shared: side(mean_ns), ratio: 2.0, ratio_low: 1.9 };
        measurement(row, 2, "foregather", &result)
    }

    #[test]
    fn calls_beside_hogs_are_held_against_the_same_without_them() {
        let all = [cell(0, 100_000.0), cell(2, 250_000.0)];
        assert_eq!(all[1].id, "blas-collapse/2h/foregather");
        assert_eq!((all[0].figures["alone_gflops"], all[0].figures["gflops"]), (10.0, 20.0));
        assert_eq!(slowdown(&all, &all[1]), Some(2.5));
        let text = text(&all);
        assert!(text.lines().count() == 3 && text.contains("2.5"), "{text}");
    }
}
