//! Measuring this machine.
//!
//! - [`waits`]: prices and ping-pong. [`barriers`]: the matrix of load and grain.
//! - [`skew`](mod@skew): what barriers cost and how unevenly they release. [`noise`](mod@noise): what disturbs a busy processor.
//! - [`shift`](mod@shift): what a shift costs, alone and behind a synchronisation.
//! - [`messages`](mod@messages): what messages cost by every way and size, and beside hogs.
//! - [`dsm`](mod@dsm): what faults of shared memory cost, and what many views do.
//! - [`teams`](mod@teams): what a fork and a join cost.
//! - [`blas`](mod@blas): what calls of a BLAS cost alone and shared, and from which size on they are shared.
//! - [`validate`](mod@validate): the simulator of processors held against this machine.
//! - `likeness`: this machine for the simulator.
//! - [`children`](mod@children): hogs and cells as processes of their own.

pub mod barriers;
pub mod blas;
pub mod children;
pub mod dsm;
mod likeness;
pub mod messages;
pub mod noise;
pub mod shift;
pub mod skew;
pub mod teams;
pub mod validate;
pub mod waits;
