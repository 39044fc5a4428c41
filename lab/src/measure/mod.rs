//! Measuring this machine.
//!
//! - [`waits`]: prices and ping-pong. [`barriers`]: the matrix of load and grain.
//! - [`validate`](mod@validate): the simulator of processors held against this machine.
//! - [`children`](mod@children): hogs and cells as processes of their own.

pub mod barriers;
pub mod children;
pub mod validate;
pub mod waits;
