//! Nodes with processors *and* a network: each node is a whole machine of [`smp`](crate::smp), with a NIC,
//! and all live in one time.
//!
//! - [`ClusterSpec`]: the simulation to run. [`Nic`]: the costs of the network, as VIA of 1999 or by LogGP.
//! - [`Faults`]: the faults of nodes and between them, by name.
//! - [`Cluster`]: runs a program on every thread of every node; [`Report`]: its result.
//! - [`Lane`]: a thread's [`Fabric`](foregather_machine::Fabric). It spins on a processor that others want,
//!   parks, is interrupted.
//! - [`Stroke`]: which thread, NIC or wire did what when. [`Deadlocked`]: which threads wait forever, and
//!   for what.
//! - [`raw`]: the same NIC without a message layer above it.

mod cluster_event;
mod fault;
mod lane;
mod lane_state;
mod nic;
mod notice;
pub mod raw;
mod reading;
mod report;
mod simulation;
mod spec;
mod timeline;
mod traffic;
mod wires;

pub use fault::{Clog, Faults, NicMistake, Partition};
pub use lane::Lane;
pub use nic::{Nic, Paging};
pub use notice::{Notice, Sweeps};
pub use report::{Deadlocked, Report};
pub use simulation::Cluster;
pub use spec::ClusterSpec;
pub use timeline::{Activity, Actor, Stroke};
