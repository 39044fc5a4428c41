//! Linux from 6.6 on: earliest eligible virtual deadline first, and groups with quotas.
//!
//! - `rules.rs`: the options. `weights.rs`: weights and virtual time. `queue.rs`: one processor's threads:
//!   which are eligible, which is picked.
//! - `fair.rs`: joining, leaving, choosing. `wake.rs`: where woken threads go. `balance.rs`: which threads
//!   are moved.
//! - `replay.rs`: the rules, asked about moments of a real machine.
//! - `shares.rs`: groups' weights. `bandwidth.rs`, `limits.rs`: their quotas.
//!
//! After `kernel/sched/fair.c` of 6.18. Left out: loads averaged over time (what is runnable now counts
//! instead, but for threads that a study puts on processors), core and node topology, and `wake_affine`'s
//! comparison of loads.
mod balance;
mod bandwidth;
mod fair;
mod limits;
mod queue;
mod replay;
mod rules;
mod shares;
mod wake;
mod weights;

pub use replay::{QueuedThread, SchedulerReplay};
pub use rules::{Eevdf, Group, Placement, Preemption};

use super::dispatch::Dispatch;
use super::machine::Machine;

/// A scheduler by these rules.
pub(super) fn build(rules: &Eevdf, machine: &Machine) -> Box<dyn Dispatch> {
    Box::new(fair::Fair::new(rules, machine))
}
