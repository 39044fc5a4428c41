//! Measuring this machine.
//!
//! - [`waits`]: prices and ping-pong. [`barriers`]: the matrix of load and grain.
//! - [`children`](mod@children): hogs and cells as processes of their own.

pub mod barriers;
pub mod children;
pub mod waits;
