//! Measuring this machine.
//!
//! An [`Experiment`] says what it measures and what a terminal shows of it; [`experiment`] is the one that a
//! command line asks for. All share one loop, [`matrix`](mod@matrix), and one way to run a cell in a process
//! of its own, [`cells`](mod@cells).
//!
//! - [`waits`]: prices and ping-pong. [`barriers`]: the matrix of load and grain.
//! - [`skew`](mod@skew): what barriers cost and how unevenly they release. `noise`: what disturbs a busy
//!   processor.
//! - [`broadcast`]: what rare messages cost the reader of a queue.
//! - `shift`: what a shift costs, alone and behind a synchronisation.
//! - [`messages`](mod@messages): what messages cost by every way and size, and beside hogs.
//! - [`dsm`](mod@dsm): what faults of shared memory cost, and what many views do.
//! - [`teams`](mod@teams): what a fork and a join cost.
//! - [`openmp`](mod@openmp): what the constructs of OpenMP cost, by our runtime and others. `team_rows`: what
//!   those two have in common.
//! - [`regret`](mod@regret): how much slower than the best way to wait ours is, in drawn rows.
//! - [`programs`](mod@programs): whole programs by our OpenMP runtime and by others.
//! - [`ends`](mod@ends): how long processes take to end.
//! - [`blas`](mod@blas): what calls of a BLAS cost alone and shared, and from which size on they are shared.
//! - [`product`](mod@product): a product of matrices beside NumPy's. [`pipe`](mod@pipe): a message beside a
//!   pipe.
//! - `scheduler`: the simulated scheduler, judged by this machine's kernel decision by decision.
//! - `validate`: the simulator of processors held against this machine. `calibration`: this machine for the
//!   simulator. [`counterfactual`]: a recorded program under other settings.
//! - [`options`]: what can be asked of each experiment.
//! - [`machine_file`]: this machine's costs, kept from run to run. [`peers`](mod@peers): what the peers'
//!   program finds.
#![forbid(unsafe_code)]

pub mod barriers;
pub mod blas;
pub mod broadcast;
mod calibration;
pub mod cells;
pub mod counterfactual;
pub mod dsm;
pub mod ends;
pub mod machine_file;
pub mod matrix;
pub mod messages;
mod noise;
pub mod openmp;
pub mod options;
pub mod peers;
pub mod pipe;
pub mod product;
pub mod programs;
pub mod regret;
mod scheduler;
mod shift;
pub mod skew;
mod team_rows;
pub mod teams;
mod validate;
pub mod waits;

use crate::options::Measure;
use anyhow::Result;
use foregather_results::{Measurement, Results};

/// Something that `foregather measure` offers, as its options ask for it.
pub trait Experiment {
    /// Measures. After an interrupt that is what was measured until then.
    ///
    /// # Errors
    /// If the options ask for what there is not, or nothing at all can be measured.
    fn measure(&self, quiet: bool) -> Result<Measured>;

    /// Its results for a terminal.
    fn text(&self, results: &Results) -> String {
        results.to_table()
    }
}

/// An experiment that was asked for.
pub struct AskedExperiment<'a> {
    /// Its verb, with the option that makes its documents another kind.
    pub name: &'static str,
    /// The seed of everything random in it.
    pub seed: Option<u64>,
    /// The experiment, by its options.
    pub experiment: &'a dyn Experiment,
}

/// The experiment that was asked for.
pub fn experiment(asked: &Measure) -> AskedExperiment<'_> {
    let (name, seed, experiment): (_, _, &dyn Experiment) = match asked {
        Measure::Waits(options) => ("waits", None, options),
        Measure::Barriers(options) => {
            (if options.validate { "barriers --validate" } else { "barriers" }, Some(options.seed), options)
        }
        Measure::Skew(options) => ("skew", Some(options.seed), options),
        Measure::Noise(options) => ("noise", None, options),
        Measure::Shift(options) => ("shift", Some(options.seed), options),
        Measure::Broadcast(options) => ("broadcast", Some(options.seed), options),
        Measure::Messages(options) => ("messages", None, options),
        Measure::Dsm(options) => ("dsm", None, options),
        Measure::Teams(options) => {
            (if options.predict.is_some() { "teams --predict" } else { "teams" }, Some(options.matrix.seed), options)
        }
        Measure::OpenMp(options) => ("openmp", Some(options.matrix.seed), options),
        Measure::Regret(options) => ("regret", options.draw, options),
        Measure::Programs(options) => ("programs", Some(options.seed), options),
        Measure::Ends(options) => ("ends", Some(options.seed), options),
        Measure::Blas(options) => ("blas", Some(options.seed), options),
        Measure::Scheduler(options) => ("scheduler", options.draw, options),
    };
    AskedExperiment { name, seed, experiment }
}

/// What a run gave.
#[derive(Debug, Default)]
pub struct Measured {
    /// One for each figure, in the order of its page.
    pub measurements: Vec<Measurement>,
    /// What was left out or cut short, and why; what to know.
    pub notes: Vec<String>,
    /// What a terminal shows, where that is more than the measurements tell.
    pub table: Option<String>,
    /// What was to be checked, and does not hold.
    pub failed: Option<String>,
}

impl Measured {
    /// Notes something, once.
    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}
