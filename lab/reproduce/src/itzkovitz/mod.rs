//! The experiments of Itzkovitz & Schuster 1999: this system's servers and threads on simulated hosts of
//! 1999, by recorded journals of the programs.
//!
//! - `scenario`: hosts, network and prices, and a replay of journals there. `recording`: what a program's
//!   threads did here, without what can be no fault. `archive`: the recordings that are shipped, so that all
//!   machines judge by the same ones. `programs`: speedups and breakdown of all five (figure 6), delays of
//!   requests.
//! - `studies`: prefetches, chunks, units, push. `costs`: faults, barriers and locks from what their parts
//!   cost (Table 1), what the programs share and send (Table 2).

mod archive;
mod costs;
mod programs;
mod recording;
mod scenario;
mod studies;

use super::{Answer, Experiment, experiment};
pub(crate) use archive::record_all;

/// All of them, by their names in `papers/itzkovitz-schuster1999.toml`.
pub const EXPERIMENTS: [Experiment; 7] = [
    experiment("messages", costs::messages),
    experiment("costs", costs::costs),
    experiment("table2", costs::table2).by_journals(),
    experiment("fig6", programs::figure6).by_journals(),
    experiment("prefetch", studies::prefetch).by_journals(),
    experiment("chunks", studies::chunks).by_journals(),
    experiment("tours", studies::tours).by_journals(),
];

fn number(got: f64, why: impl Into<String>) -> Answer {
    Answer::Number(got, why.into())
}

fn count(got: u64, why: impl Into<String>) -> Answer {
    Answer::Number(got as f64, why.into())
}

#[cfg(test)]
mod tests;
