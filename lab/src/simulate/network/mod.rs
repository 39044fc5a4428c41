//! Simulated networks: the experiment of Seidel & Davis 1992 §4, synchronise and shift, again and again.
//!
//! - [`study`]: what is asked, and the loop itself, one source for every barrier and protocol.
//! - [`Trial`]: what one round of it came to.

pub mod study;
mod trial;

pub use study::{Outcome, Shift, Study, run, run_recorded};
pub use trial::Trial;
