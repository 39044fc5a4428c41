//! The barrier matrix: every waiter in every row of load and grain, interleaved, in processes of their own.
//!
//! - [`rows`](mod@rows): teams, hogs, placement, quota, grain; [`space`]: from which rows are drawn; [`class`]: which of them ask the same of a waiter.
//!   [`waiters`](mod@waiters): our policies and the peers.
//! - [`matrix`](mod@matrix): the order of the cells. [`figures`]: what the cells of a row come to; [`summary`]: those of a waiter.
//! - [`ablation`]: the same with each rule of the adaptive waiter off in turn. [`predict`](mod@predict): the same in the simulator.
//! - [`output`]: tables for a terminal.

pub mod ablation;
pub mod class;
pub mod figures;
pub mod matrix;
pub mod output;
pub mod predict;
pub mod rows;
pub mod space;
pub mod summary;
pub mod waiters;

use anyhow::{Context, Result, bail};
use foregather_cli::Barriers;
use foregather_host::{affinity, clock, interrupt};
use foregather_machine::Nanos;
use foregather_results::Measurement;
use foregather_results::progress::Progress;
use rows::Row;

/// What a run of the matrix gave.
#[derive(Default)]
pub struct Matrix {
    /// One measurement per cell, and one per waiter over the rows of each subset; then the predictions.
    pub measurements: Vec<Measurement>,
    /// What was left out, and why.
    pub notes: Vec<String>,
    /// Somebody asked to stop before the end.
    pub interrupted: bool,
}

/// Runs the matrix that the options describe.
///
/// # Errors
/// If the options select nothing, or a cell cannot be run at all.
pub fn run(options: &Barriers, quiet: bool) -> Result<Matrix> {
    let costs = crate::machine_file::load_or_measure()?;
    let draws = options.full || options.draw.is_some();
    let (mut rows, mut notes) = rows::rows(options);
    if let Some(wanted) = options.rows.as_deref().filter(|_| !draws) {
        rows = named(&rows, wanted)?;
    }
    if draws {
        let seed = options.draw.flatten().unwrap_or_else(clock::unix_seconds);
        let count = options.rows.as_deref().map_or(Ok(space::USUAL), str::parse);
        let count = count.context("--rows: with drawn rows it is how many")?;
        rows.extend(space::draw(seed, count, affinity::allowed().len() as u32));
        notes.push(format!("{count} rows were drawn by seed {seed}: `--draw {seed} --rows {count}` draws them again"));
    }
    let waiters = if options.ablation {
        ablation::waiters(&costs)?
    } else {
        let (all, missing) = waiters::waiters(options, &costs);
        notes.extend(missing);
        match &options.waiters {
            Some(wanted) => waiters::select(all, wanted, &costs)?,
            None => all,
        }
    };
    let usual = if options.quick {
        2
    } else if options.wide || options.ablation {
        7
    } else {
        3
    };
    let repetitions = options.repetitions.unwrap_or(usual);
    let ms = options.ms.unwrap_or(if draws {
        200
    } else if options.quick {
        20
    } else {
        40
    });
    let steps = rows.len() * repetitions as usize * waiters.len();
    let mut progress = Progress::new("barriers", steps, quiet);
    let plan = matrix::Plan { rows: &rows, waiters: &waiters, repetitions, ms, seed: options.seed };
    let mut matrix = plan.run(&mut progress)?;
    if options.ablation {
        ablation::describe(&mut matrix.measurements);
    }
    notes.append(&mut matrix.notes);
    drop(progress);
    if options.predict && !matrix.interrupted {
        let (rows, waiters, named, span) = (&rows, &waiters, options.waiters.is_some(), Nanos::from_ms(ms));
        let (predictions, left_out) =
            predict::Plan { rows, waiters, named, costs: &costs, span }.run(&matrix.measurements, quiet);
        matrix.measurements.extend(predictions);
        matrix.interrupted = interrupt::requested();
        notes.extend(left_out);
    }
    Ok(Matrix { notes, ..matrix })
}

/// The rows whose name contains one of the parts of a list, and those that a part names in full.
fn named(rows: &[Row], wanted: &str) -> Result<Vec<Row>> {
    let mut chosen: Vec<Row> = Vec::new();
    for part in wanted.split(';').map(str::trim) {
        let like: Vec<Row> = rows.iter().filter(|row| row.name().contains(part)).cloned().collect();
        let found = if like.is_empty() { Row::parse(part).into_iter().collect() } else { like };
        chosen.extend(found.into_iter().filter(|row| !chosen.contains(row)).collect::<Vec<_>>());
    }
    if chosen.is_empty() {
        bail!("no row is named like `{wanted}`; rows are named like `2t pinned, 1 us` or `5t + 1 hog log-normal, 20 us`");
    }
    Ok(chosen)
}

/// The matrix for a terminal.
pub fn text(options: &Barriers, measurements: &[Measurement]) -> String {
    if options.ablation { ablation::table(measurements).to_text() } else { output::text(measurements) }
}
