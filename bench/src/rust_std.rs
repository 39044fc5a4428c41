//! The peer that is always there: `std::sync::Barrier`.
use crate::{Cell, CellResult, Episodes};
use foregather_machine::{Cause, Error};
use std::convert::Infallible;
use std::sync::Barrier;

/// Its name in results.
pub const NAME: &str = "rust-std";

/// Runs one cell.
///
/// # Errors
/// If a thread cannot be pinned.
pub fn run(cell: &Cell) -> Result<CellResult, Error> {
    let barrier = Barrier::new(cell.threads as usize);
    let episodes = Episodes::new(cell);
    let wait = || {
        barrier.wait();
        Ok::<(), Infallible>(())
    };
    foregather_thread::run(cell.threads, |rank| cell.pin(rank), |_, rank| episodes.member(rank, wait))?;
    episodes.result().ok_or_else(|| Error::from(Cause::Poisoned { by: None }))
}
