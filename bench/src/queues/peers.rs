//! Queues of Python, by a program that is its own two processes.
use super::{QueueCell, QueueResult};
use crate::{Cell, python};
use foregather_machine::Nanos;
use serde_json::json;

/// The program: reads the cell from its argument, and prints what the reader has found.
const PROGRAM: &str = include_str!("peers.py");

/// Runs the cell with those gaps, of which the first `warm_up` do not count.
pub(super) fn run(cell: &QueueCell, gaps_ns: &[u64], warm_up: usize) -> Result<QueueResult, String> {
    let argument = json!({ "queue": cell.queue, "gaps_ns": gaps_ns, "warm_up": warm_up }).to_string();
    let (late, cpu_ns, wall_ns): (Vec<u64>, u64, u64) = python::run(PROGRAM, &argument, cell.at_most() - Nanos::from_ms(500))?;
    Ok(QueueResult::of(late, Nanos(cpu_ns), Nanos(wall_ns)))
}
