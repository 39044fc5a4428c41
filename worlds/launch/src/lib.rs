//! A job of ranks, under any launcher: which rank this process is, and how to reach the others.
//!
//! - [`Job`]: joins, exchanges rank addresses with all ranks, and leaves. It works the same under `foregather
//!   run`, `mpiexec`, `mpirun`, `srun` and `prterun`. Without a launcher the job has one rank.
//! - [`detect`]: which launcher started this process. [`Session`]: the job of a process that uses it several
//!   times.
//! - [`Lanes`]: the job's fabric, shared memory, libfabric or MPI.
//! - [`spawn`]: the launcher of `foregather run`.
//! - [`RankRecorder`], [`JobTrace`]: the record of a job, for the simulator.
//!
//! Settings, how losses are detected, and what unverified peers can do: `README.md`.
//!
//! Other launchers only need to provide rank, size and the location of rank 0. The job does the rest: a
//! **coordinator**, which is a thread of rank 0, and in every rank a **heartbeat thread**, which shows that
//! its process is alive whatever the program does. A rank whose connection closes, or that does not respond
//! for `FOREGATHER_PEER_TIMEOUT` (2 s), is lost. The other ranks learn of it through their
//! [`FailureDetector`](foregather_host::failure_detector::FailureDetector), which every wait checks.

mod coordinator;
mod detect;
mod frame;
mod heartbeat;
mod job;
mod join;
mod lanes;
mod link;
mod meet;
mod nodes;
mod notice;
mod own;
mod place;
mod pmi1;
mod pmix;
mod recording;
mod secret;
mod session;
mod settings;
pub mod spawn;
#[cfg(test)]
mod tests;
mod watchdog;
mod whereabouts;

pub use detect::{Detected, Launcher, detect};
pub use job::Job;
pub use lanes::Lanes;
pub use recording::{JobTrace, RankRecorder, TraceTotals};
pub use session::Session;
