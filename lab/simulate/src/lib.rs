//! Machines that are not at hand: processors that threads share, and nodes that exchange messages, by a plan.
//!
//! - [`Plan`]: what to simulate, read from a file; [`shipped`]: those that come with the program.
//! - [`run`]: all of a plan, in parallel; [`estimate`]: how long that will take.
//! - [`metric`]: the numbers of one run. [`points`]: a plan's measurements. [`perfetto`], [`timelines`]: what
//!   happened in one run.
//! - [`published`]: two cases compared with a published number.
//! - [`goal`]: traces of MPI programs on a network.
//! - [`rtapp`]: workloads of rt-app.
//! - [`network`]: synchronise and shift on a simulated network. [`barriers_over_nodes`]: the butterfly
//!   barrier of Seidel & Davis 1992.
#![forbid(unsafe_code)]

mod butterfly;
pub mod estimate;
pub mod goal;
pub mod metric;
pub mod network;
pub mod perfetto;
mod plan;
pub mod points;
pub mod published;
pub mod rtapp;
mod runner;
pub mod shipped;
#[cfg(test)]
mod tests;
pub mod timelines;

pub use butterfly::barriers_over_nodes;
pub use plan::{Labels, Plan, PlanDraft, ReadOptions, Study};
pub use runner::{Point, Ran, RunResult, RunnerSettings, run};
