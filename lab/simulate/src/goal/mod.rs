//! Traces in GOAL: their files, the networks that they run on, and what comes out.
//!
//! - [`is_trace`], [`open`], [`convert`]: files, in the text or the binary form.
//! - [`network`]: a network by its name and changed values. [`noise`]: what the system takes from programs.
//! - [`simulate`]: runs a trace with progress. [`measurements`], [`text`]: its results.

mod file;
mod parameters;
mod results;

pub use file::{convert, is_trace, open};
pub use parameters::{NETWORKS, network, noise};
pub use results::{explained, measurements, text};

use anyhow::{Result, bail};
use foregather_host::interrupt;
use foregather_results::progress::ProgressMeter;
pub use foregather_sim::goal::GoalRun;
use foregather_sim::goal::{self, GoalOutcome, GoalTrace};

/// Progress is shown in hundredths.
const STEPS: u64 = 100;

/// Runs a trace, with progress on standard error unless `quiet`. `None` if the user interrupted it.
///
/// # Errors
/// If ranks wait forever, or the trace contradicts itself.
pub fn simulate(name: &str, trace: GoalTrace, run: &GoalRun, quiet: bool) -> Result<Option<GoalOutcome>> {
    let (mut progress, mut shown) = (ProgressMeter::new("simulate", STEPS as usize, quiet), 0);
    let outcome = goal::simulate(trace, run, &mut |over, all| {
        while shown < STEPS * over / all.max(1) {
            shown += 1;
            progress.step(name);
        }
        !interrupt::requested()
    });
    match outcome {
        Err(_) if interrupt::requested() => Ok(None),
        Err(error) => bail!("{name}: {error}"),
        Ok(outcome) => Ok(Some(outcome)),
    }
}
