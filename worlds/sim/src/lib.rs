//! A deterministic discrete-event simulator that runs the library's algorithms on simulated machines.
//!
//! - [`event`]: stable event queues. The key is (time, class, sequence), integers only: same seed, same
//!   trace.
//! - [`Engine`]: owns the clock and the event queue, and polls tasks by index, without wakers.
//! - [`net`]: nodes that exchange messages, over a circuit-switched network with ports or under the LogGP
//!   model.
//! - [`goal`]: traces of MPI programs, under the LogGP model or with LogGOPSim's rules.
//! - [`cluster`]: nodes that are each an [`smp`] machine, connected by NICs and message lanes.
//! - [`smp`]: threads on shared processors under round robin, Linux 2.2 to 2.4, or EEVDF; words to wait on
//!   ([`SimWord`]).
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
