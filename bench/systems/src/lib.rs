//! Measuring systems: cells, as `foregather-bench` has them, of what is built on barriers and hand-overs.
//!
//! - [`blas`]: what calls of a BLAS cost alone and shared.
//! - [`messages`]: what messages cost, alone and beside hogs.
//! - [`programs`]: the five programs on shared memory, compiled once for each fabric.
//! - [`dsm`]: what faults of shared memory cost, and what they are made of.
#![forbid(unsafe_code)]

pub mod blas;
pub mod dsm;
pub mod messages;
pub mod programs;
