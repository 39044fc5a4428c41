//! The world of threads: a rank is a thread of this process, waiting is a pause loop, `sched_yield` or a
//! futex.
//!
//! - [`Word`]: 30 bits on which threads wait, and the two flag bits that make sleeping safe. Protocol:
//!   `README.md`.
//! - [`Thread`]: this thread's processor, a [`Cpu`](foregather_machine::Cpu). It moves its thread only if
//!   `FOREGATHER_PLACEMENT` is not `off`.
//! - [`run`]: the members of a group as threads, pinned or free. [`start`]: a thread that outlives its
//!   starter.
//! - [`barrier`]: a barrier for any threads of a process, and one for members with ranks; both name the
//!   missing.
//!
//! ```
//! use foregather_barrier::{Algorithm, Group};
//! use foregather_machine::block_on;
//! use foregather_wait::Policy;
//!
//! let group = Group::new(Algorithm::Central, 2)?;
//! foregather_thread::run(2, |_| None, |cpu, rank| {
//!     let mut member = group.member(cpu, rank, Policy::Block)?;
//!     block_on(member.wait())
//! })?;
//! # Ok::<(), foregather_machine::Error>(())
//! ```
#![forbid(unsafe_code)]

mod primitive;
mod word;

#[cfg(not(loom))]
pub mod barrier;
#[cfg(not(loom))]
mod costs;
#[cfg(not(loom))]
mod cpu;
#[cfg(not(loom))]
mod guard;
#[cfg(not(loom))]
mod launch;
#[cfg(not(loom))]
pub mod own;
#[cfg(not(loom))]
mod placement;

#[cfg(not(loom))]
pub use cpu::{Thread, record_work};
#[cfg(not(loom))]
pub use foregather_host::futex::Scope;
#[cfg(not(loom))]
pub use guard::Guard;
#[cfg(not(loom))]
pub use launch::{run, start};
#[cfg(loom)]
pub use primitive::Scope;
pub use word::Word;
