//! Barriers, teams, queues, jobs and shared memory that stay fast on shared machines.
//!
//! Threads, processes and hosts lose time when they wait for each other, and usually they wait in a fixed
//! way: they spin, which can starve their own team, or they sleep, which costs tens of microseconds. In
//! Foregather, every wait adapts to the current load. If a member or a rank is gone, the wait returns an
//! error that names it. The calls below block and need no configuration.
//!
//! | task | item | command |
//! |---|---|---|
//! | make threads wait for each other | [`Barrier`], [`Barrier::members`] | `cargo add foregather --no-default-features` |
//! | reduce a slice, or change each element, on several threads | [`reduce`], [`for_each`] | `cargo add foregather` |
//! | call a closure on several threads | [`Team`] | `cargo add foregather` |
//! | send messages between ranks: threads here, processes under a launcher | [`job`] | `cargo add foregather --features job` |
//! | send messages from one process to several | [`Broadcast`] | `cargo add foregather --features broadcast` |
//! | share memory between ranks, on one host or several | [`shared`] | `cargo add foregather --features shared` |
//! | multiply matrices | [`blas`] | `cargo add foregather --features blas` |
//! | simulate another machine | [`sim`], [example](guide#what-would-another-machine-do) | `cargo add foregather --no-default-features --features sim` |
//!
//! # Threads wait for each other
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
//! # A sum has the same bits for any number of threads
//!
//! ```
//! let numbers = vec![0.1; 1_000_000];
//! let sum = foregather::reduce(&numbers, |part| part.iter().sum::<f64>(), |a, b| a + b);
//! # assert!((sum - 100_000.0).abs() < 1e-3);
//! ```
//!
//! # Ranks send each other messages
//!
//! The same program runs as one process with threads, or as the processes that a launcher starts:
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
//! A failed wait at a barrier returns a [`WaitError`]. Each of its three variants needs a different reaction:
//! call again, create a new barrier, or give up. All other calls return an [`Error`], whose
//! [`Cause`](engine::Cause) a program can match. [`Error::other`] wraps an error of your own. For both types,
//! `Display` and `Debug` print one sentence that names the cause and what to do, so an error that `main`
//! returns is readable. `?` converts a `WaitError` into an `Error`.
//!
//! ```
//! use foregather::{Barrier, WaitError};
//! use std::time::Duration;
//!
//! let barrier = Barrier::new(2);
//! match barrier.wait_timeout(Duration::from_millis(20)) {
//!     Ok(_) => unreachable!("no other thread is here"),
//!     // 1 did not arrive within 20.1ms; call again to continue the wait
//!     Err(error) if error.is_timed_out() => println!("{error}"),
//!     Err(error) => println!("forever: {error}"),
//! }
//! ```
//!
//! # Further reading
//!
//! - [`guide`]: minimal programs compared with std, rayon, crossbeam and mpi4py, and their costs.
//! - [`engine`]: the underlying traits and algorithms, for your own policies, barriers and backends
//!   ("worlds"). [`threads`], [`processes`] and [`sim`] are the worlds in which they run.
//! - The `foregather` command, which also launches jobs (`foregather run`). Install it with
//!   `cargo install --path lab/command` in the repository. `foregather doctor` shows what this machine has,
//!   and `foregather measure barriers` what waiting costs on it.
//!
//! Foregather needs Linux on x86-64 or AArch64, and Rust 1.89 or newer. No C library is needed to build.
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
mod long_wait;
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

/// Linear algebra on the threads of a team. Results have the same bits for any team size.
#[cfg(feature = "blas")]
pub use foregather_blas as blas;
/// Simulation of networks, shared processors and clusters in virtual time.
#[cfg(feature = "sim")]
pub use foregather_sim as sim;
/// The backend for threads of one process.
pub use foregather_thread as threads;

/// The backends for processes on one host and on several, their launchers, and a barrier for processes.
#[cfg(feature = "broadcast")]
pub mod processes {
    pub use crate::shared_barrier::{SharedBarrier, SharedMember};
    /// Job start-up: this process's rank and the addresses of the other ranks.
    #[cfg(feature = "job")]
    pub use foregather_launch as launch;
    /// Messages over the site's MPI, which is loaded at run time.
    #[cfg(feature = "job")]
    pub use foregather_mpi as mpi;
    /// Messages over libfabric, which is loaded at run time.
    #[cfg(feature = "job")]
    pub use foregather_ofi as ofi;
    /// Memory segments that processes of one host share.
    pub use foregather_shm as shm;
}
