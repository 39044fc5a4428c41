//! Queues of Python, by a program that is its own two processes.
use super::{QueueCell, QueueResult};
use foregather_host::child::Child;
use foregather_machine::Nanos;
use serde_json::json;
use std::process::{Command, Stdio};

/// The program: reads the cell from its argument, and prints what the reader has found.
const PROGRAM: &str = include_str!("peers.py");
/// The interpreter, if another one than `python3` has the packages.
const PYTHON: &str = "FOREGATHER_PYTHON";

/// Runs the cell with those gaps, of which the first `warm_up` do not count.
pub(super) fn run(cell: &QueueCell, gaps_ns: &[u64], warm_up: usize) -> Result<QueueResult, String> {
    use crate::Cell;
    let python = std::env::var(PYTHON).unwrap_or_else(|_| "python3".to_owned());
    let mut command = Command::new(&python);
    command.args(["-c", PROGRAM]).arg(json!({ "queue": cell.queue, "gaps_ns": gaps_ns, "warm_up": warm_up }).to_string());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = Child::spawn(command, &[]).and_then(|child| child.output_within(cell.at_most() - Nanos::from_ms(500)));
    let output = output.map_err(|error| format!("{python}: {error}"))?;
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if !output.status.success() {
        let said = said(&output.stderr);
        return Err(said.lines().last().unwrap_or("the program of Python failed").to_owned());
    }
    let (late, cpu_ns, wall_ns): (Vec<u64>, u64, u64) =
        serde_json::from_str(&said(&output.stdout)).map_err(|error| format!("{python}: {error}"))?;
    Ok(QueueResult::of(late, Nanos(cpu_ns), Nanos(wall_ns)))
}
