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
//! - `calibration`: this machine for the simulator.
//! - [`machine_file`]: this machine's costs, kept from run to run.
//! - [`children`](mod@children): hogs and cells as processes of their own. [`peers`](mod@peers): what other people's program finds.
//!   `runners`: whose cells are compared.
#![forbid(unsafe_code)]

pub mod barriers;
pub mod blas;
mod calibration;
pub mod children;
pub mod dsm;
pub mod machine_file;
pub mod messages;
pub mod noise;
pub mod peers;
mod runners;
pub mod shift;
pub mod skew;
pub mod teams;
pub mod validate;
pub mod waits;

use foregather_results::Measurement;

/// What a run gave.
#[derive(Default)]
pub struct Measured {
    /// One for each figure, in the order of its page.
    pub measurements: Vec<Measurement>,
    /// What was left out or cut short, and why; what to know.
    pub notes: Vec<String>,
}

impl Measured {
    /// Notes something, once.
    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}
