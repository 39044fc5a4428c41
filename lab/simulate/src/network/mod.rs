//! Simulated networks: the experiment of Seidel & Davis 1992 §4, synchronise and shift, again and again.
//!
//! - [`study`]: what is simulated, and the loop itself, one source for every barrier and protocol.
//! - [`Interconnect`]: the networks that a plan may ask for. [`Trial`]: the times of one round.
//! - [`explained`]: why a trial failed. [`StudySummary`]: what is kept of all trials, with the
//!   [`METRICS`] that figures show.

pub mod explained;
mod machine;
pub mod study;
mod summary;

pub use machine::Interconnect;
pub use study::{Shift, Study, StudyResults, Trial, run, run_recorded};
pub use summary::{Brief, METRICS, StudySummary, TOLERANCE};
