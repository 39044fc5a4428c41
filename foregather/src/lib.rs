//! Foregather makes parallel programs wait well.
//!
//! Threads, processes and hosts lose their time waiting for each other, and how they wait is usually a
//! constant: a spin that starves its own team, or a sleep that costs tens of microseconds. Here every wait
//! adapts to the load that it finds, and ends with an error that names the partner that has gone. The calls
//! below block; there is nothing to configure.
//!
//! | to | call | add |
//! |---|---|---|
//! | let threads meet | [`Barrier`], [`Barrier::members`] | `cargo add foregather --no-default-features` |
//! | add up or sweep over a slice on all processors | [`reduce`], [`for_each`] | `cargo add foregather` |
//! | call a closure on several threads | [`Team`] | `cargo add foregather` |
//! | send messages between ranks: threads here, processes under a launcher | [`job`] | `cargo add foregather --features job` |
//! | pass messages from one process to several | [`Broadcast`] | `cargo add foregather --features broadcast` |
//! | let ranks share memory, on one host or several | [`shared`] | `cargo add foregather --features shared` |
//! | multiply matrices | [`blas`] | `cargo add foregather --features blas` |
//! | ask what another machine would do | [`sim`], [example](guide#what-would-another-machine-do) | `cargo add foregather --no-default-features --features sim` |
//!
//! # Threads meet
//!
//! ```
//! # fn main() -> Result<(), foregather::WaitError> {
//! let barrier = foregather::Barrier::new(4);
//! std::thread::scope(|threads| {
//!     let running: Vec<_> = (0..4).map(|_| threads.spawn(|| barrier.wait())).collect();
//!     running.into_iter().try_for_each(|thread| thread.join().unwrap().map(drop))
//! })
//! # }
//! ```
//!
//! # A sum has the same bits on one thread and on any team
//!
//! ```
//! let numbers = vec![0.1; 1_000_000];
//! let sum = foregather::reduce(&numbers, |part| part.iter().sum::<f64>(), |a, b| a + b);
//! # assert!((sum - 100_000.0).abs() < 1e-3);
//! ```
//!
//! # Ranks send each other messages
//!
//! The same program is one process with threads, or as many processes as a launcher starts:
//! `foregather run -n 4 PROGRAM`, `mpiexec -n 4 PROGRAM`, `srun -n 4 PROGRAM`.
//!
//! ```
//! # fn main() -> Result<(), foregather::Error> {
//! foregather::job(2, |me| {
//!     let mut answer = [0.0; 3];
//!     if me.rank() == 0 {
//!         me.send(1, &[1.0, 2.0, 3.0])?;
//!     } else {
//!         me.receive(0, &mut answer)?;
//!     }
//!     me.sum(answer[2])
//! })?;
//! # Ok(())
//! # }
//! ```
//!
//! # Ranks share memory
//!
//! ```
//! # fn main() -> Result<(), foregather::Error> {
//! foregather::shared(4, |me| {
//!     let field = me.array::<f64>(1_000)?;
//!     me.share(1_000).for_each(|at| field.set(at, at as f64));
//!     me.barrier()?;
//!     Ok(field.get(999))
//! })?;
//! # Ok(())
//! # }
//! ```
//!
//! # When a wait cannot succeed
//!
//! A barrier's wait ends in a [`WaitError`], of which there are three, since they call for three reactions:
//! call again, make a new barrier, give up. All else ends in an [`Error`], with a [`Cause`](engine::Cause)
//! that a program can match; [`Error::other`] makes one from a program's own. Both print one sentence that
//! names the culprit and the remedy, by `Display` and by `Debug` alike, so
//! `fn main() -> Result<(), foregather::Error>` prints it, too; `?` turns one into the other.
//!
//! ```
//! use foregather::{Barrier, WaitError};
//! use std::time::Duration;
//!
//! let barrier = Barrier::new(2);
//! match barrier.wait_timeout(Duration::from_millis(20)) {
//!     Ok(_) => unreachable!("no other thread is here"),
//!     // 1 did not come within 20.1ms; the next call waits on
//!     Err(error) if error.is_timed_out() => println!("{error}"),
//!     Err(error) => println!("for ever: {error}"),
//! }
//! ```
//!
//! # Where to go on
//!
//! - [`guide`]: the smallest programs beside those of std, rayon, crossbeam and mpi4py, with what they cost.
//! - [`engine`]: the traits and algorithms beneath, for policies, barriers and worlds of your own.
//!   [`threads`], [`processes`], [`sim`]: the worlds they run in.
//! - The command `foregather`, which is the launcher of `foregather run`, too:
//!   `cargo install --path lab/command` in the repository. `foregather doctor` says what this machine has,
//!   `foregather measure barriers` what waiting costs on it.
//!
//! Linux on x86-64 or AArch64, Rust 1.89. No C library is needed to build.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod barrier;
#[cfg(all(doctest, feature = "full"))]
mod book;
#[cfg(feature = "broadcast")]
pub mod broadcast;
#[cfg(feature = "job")]
mod ends;
pub mod engine;
pub mod guide;
#[cfg(feature = "job")]
mod job;
#[cfg(feature = "broadcast")]
mod seated;
#[cfg(feature = "shared")]
mod shared;
#[cfg(feature = "broadcast")]
mod shared_barrier;

pub use barrier::{Barrier, BarrierWaitResult, Member, PanicGuard};
#[cfg(feature = "broadcast")]
#[doc(inline)]
pub use broadcast::Broadcast;
#[doc(inline)]
pub use foregather_machine::{Error, Missing, Participant, WaitError};
#[cfg(feature = "team")]
#[doc(inline)]
pub use foregather_team::{Team, for_each, reduce};
#[cfg(feature = "job")]
pub use job::{Communicator, job};
#[cfg(feature = "shared")]
pub use shared::{Array, Locked, Rows, Shared, SharedElement, shared};

/// Linear algebra that a team shares, with the same bits for any team.
#[cfg(feature = "blas")]
pub use foregather_blas as blas;
/// Virtual time: networks, processors that threads share, clusters.
#[cfg(feature = "sim")]
pub use foregather_sim as sim;
/// The world of threads.
pub use foregather_thread as threads;

/// The worlds of processes: on one host, on several, and their launchers; and a barrier of processes.
#[cfg(feature = "broadcast")]
pub mod processes {
    pub use crate::shared_barrier::{SharedBarrier, SharedMember};
    /// Jobs: this process's rank, and the addresses of the others.
    #[cfg(feature = "job")]
    pub use foregather_launch as launch;
    /// The site's MPI, found at run time.
    #[cfg(feature = "job")]
    pub use foregather_mpi as mpi;
    /// libfabric, found at run time.
    #[cfg(feature = "job")]
    pub use foregather_ofi as ofi;
    /// Segments of memory that processes of one host share.
    pub use foregather_shm as shm;
}
