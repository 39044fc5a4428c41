//! Which rank is this process, and where are the others: a job of ranks, under any launcher.
//!
//! - [`Job`]: joins, exchanges rank addresses with all ranks, and leaves. It works the same under `foregather
//! run`, `mpiexec`, `mpirun`, `srun` and `prterun`, and without any launcher as a job of one.
//! - [`detect`]: is there a launcher, which one? [`Session`]: the job of a process that uses it several
//!   times.
//! - [`Lanes`]: the job's fabric, shared memory or libfabric.
//! - [`spawn`]: the launcher itself, behind `foregather run`.
//!
//! Settings, how a loss becomes known, and what unverified peers can do: `README.md`.
//!
//! A foreign launcher need only tell rank, size and where rank 0 is. All the rest is the job's own: a
//! **coordinator**, which is a thread of rank 0, and in every rank a **heartbeat thread**, which shows that
//! its process is alive whatever the program does. A rank whose connection ends, or that stands still for
//! `FOREGATHER_PEER_TIMEOUT` (2 s), is lost; all others learn of it through their
//! [`FailureDetector`](foregather_host::failure_detector::FailureDetector), which every wait looks at.

mod coordinator;
mod detect;
mod frame;
#[cfg(test)]
mod fuzz;
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
pub use session::Session;
