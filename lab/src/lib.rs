//! The parts of the `foregather` command.
#![forbid(unsafe_code)]

pub mod compare;
pub mod report;
pub mod results;
