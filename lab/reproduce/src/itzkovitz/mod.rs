//! The experiments of Itzkovitz & Schuster 1999: this system's servers and threads on simulated hosts of
//! 1999, by journals of programs that ran here.
//!
//! - `stage`: hosts, network and prices, and a performance of journals there. `recording`: what a program's
//!   threads did here, without what can be no fault. `programs`: speedups and breakdown of all five (figure
//!   6), delays of requests.
//! - `studies`: prefetches, chunks, units, push. `costs`: faults, barriers and locks from what their parts
//!   cost (Table 1), what the programs share and send (Table 2).

mod costs;
mod programs;
mod recording;
mod stage;
mod studies;

use super::{Answer, Experiment, experiment};

/// All of them, by their names in `papers/itzkovitz-schuster1999.toml`.
pub const EXPERIMENTS: [Experiment; 7] = [
    experiment("messages", costs::messages),
    experiment("costs", costs::costs),
    experiment("table2", costs::table2),
    experiment("fig6", programs::figure6),
    experiment("prefetch", studies::prefetch),
    experiment("chunks", studies::chunks),
    experiment("tours", studies::tours),
];

fn number(got: f64, why: impl Into<String>) -> Answer {
    Answer::Number(got, why.into())
}

fn count(got: u64, why: impl Into<String>) -> Answer {
    Answer::Number(got as f64, why.into())
}

#[cfg(test)]
mod tests;
