//! Linux 2.2 to 2.4: epochs, counters, goodness. Every rule is an option; presets name the versions.
//!
//! - `rules.rs`: the options. `epochs.rs`: the list of runnable threads and their allotments. `goodness.rs`:
//!   which of two threads is better.
//! - `schedule.rs`: `schedule()`. `wakeup.rs`: `reschedule_idle()` and its alternatives.
mod epochs;
mod goodness;
mod rules;
mod schedule;
#[cfg(test)]
mod tests;
mod wakeup;

pub use rules::{Accounting, Insertion, Linux24, Wakeup};

use super::dispatch::Dispatch;
use super::machine::Machine;

/// A scheduler by these rules.
pub(super) fn build(rules: Linux24, machine: &Machine) -> Box<dyn Dispatch> {
    Box::new(epochs::Epochs::new(rules, machine))
}
