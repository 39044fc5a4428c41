//! The barrier matrix: every waiter in every row of load and grain, interleaved, in processes of their own.
//!
//! - [`rows`](mod@rows): teams, hogs, placement, quota, grain. [`waiters`](mod@waiters): our policies and the peers.
//! - [`matrix`](mod@matrix): the order of the cells, and what they come to.

pub mod matrix;
pub mod rows;
pub mod waiters;

use crate::cli::Barriers;
use crate::progress::Progress;
use crate::results::Measurement;
use anyhow::{Result, bail};

/// What a run of the matrix gave.
#[derive(Default)]
pub struct Matrix {
    /// One measurement per cell, and one per waiter over all rows.
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
    let (mut rows, mut notes) = rows::rows(options);
    if let Some(wanted) = &options.rows {
        rows.retain(|row| wanted.split(';').any(|part| row.name().contains(part.trim())));
        if rows.is_empty() {
            bail!("no row is named like `{wanted}`; rows are named like `2t pinned, 1 us` or `2t + 1 hog, 20 us`");
        }
    }
    let (mut waiters, missing) = waiters::waiters(options, &costs);
    notes.extend(missing);
    if let Some(wanted) = &options.waiters {
        waiters = waiters::select(waiters, wanted, &costs)?;
    }
    let repetitions = options.repetitions.unwrap_or(if options.quick { 2 } else { 3 });
    let ms = options.ms.unwrap_or(if options.quick { 20 } else { 40 });
    let steps = rows.len() * repetitions as usize * waiters.len();
    let mut progress = Progress::new("barriers", steps, quiet);
    let plan = matrix::Plan { rows: &rows, waiters: &waiters, repetitions, ms, seed: options.seed };
    let mut matrix = plan.run(&mut progress)?;
    notes.append(&mut matrix.notes);
    Ok(Matrix { notes, ..matrix })
}
