//! Nodes with processors *and* a network: each node is a whole machine of [`smp`](crate::smp), with a card, and all live in one time.
//!
//! - [`ClusterSpec`]: what to simulate. [`Card`]: what the network costs, as VIA of 1999 or by LogGP.
//! - [`Faults`]: what goes wrong, by name, with nodes and between them.
//! - [`Cluster`]: runs a program on every thread of every node; [`Report`]: what came of it.
//! - [`Lane`]: a thread's [`Fabric`](foregather_machine::Fabric). It spins on a processor that others want, parks, is interrupted.
//! - [`Stroke`]: who did what when: thread, card, wire. [`Deadlocked`]: who waits for ever, and for what.
//! - [`raw`]: the same card without a message layer above it.

mod card;
mod cluster_event;
mod fault;
mod lane;
mod lane_state;
mod notice;
pub mod raw;
mod reading;
mod report;
mod simulation;
mod spec;
mod timeline;
mod traffic;
mod wires;

pub use card::{Card, Paging};
pub use fault::{CardMistake, Clog, Faults, Partition};
pub use lane::Lane;
pub use notice::{Notice, Sweeps};
pub use report::{Deadlocked, Report};
pub use simulation::Cluster;
pub use spec::ClusterSpec;
pub use timeline::{Activity, Actor, Stroke};
