//! Virtual time: the same algorithms, on machines that need not exist.
//!
//! - [`event`]: stable event queues. Key (time, class, sequence), integers only: same seed, same trace.
//! - [`Engine`]: the clock, the queue, and the tasks that it polls by number; no wakers.
//! - [`net`]: nodes that exchange messages, over circuits with ports or by LogGP.
//! - [`goal`]: traces of MPI programs, by LogGP or as LogGOPSim runs them.
//! - [`cluster`]: nodes that are whole machines of [`smp`], with NICs and lanes between them.
//! - [`smp`]: threads on processors that they share, under RR, Linux 2.4 and today's scheduler; words to wait
//!   on ([`SimWord`]).
//!
//! The only `unsafe` here is one pin projection, in `tasks.rs`, and one prefetch, in `touch.rs`.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod cluster;
mod engine;
pub mod event;
pub mod goal;
pub mod net;
pub mod smp;
mod tasks;
mod touch;
mod word;

pub use engine::{Engine, Run};
pub use word::SimWord;
