//! Nodes that exchange messages: from the 128 of an iPSC/860 to a million.
//!
//! - [`Network`] and [`Node`]: the world itself; a node is an `Endpoint` and a `Port`.
//! - A [`Model`] decides what its packets meet on their way: [`LogGp`](foregather_machine::LogGp)
//!   (`free.rs`), without contention, or [`Circuits`] (`ports/`), where each node has one send port and one
//!   receive port (Seidel & Davis 1992 §2).
//! - Disturbances: [`Interrupts`] steal processor time, [`Faults`] lose, double, delay, pause and drift.
//! - [`profile`]: machines by name. [`Skew`]: laws of how late the nodes come.
//! - [`Record`]: which packet held which port from when to when. [`Record::explain`]: why a program was late;
//!   [`describe`]: that in words; [`Record::waits_for`]: why a program waits forever.
//!
//! The model, its rules and what it leaves out: `README.md`.

mod busy;
mod circuits;
mod deadlocked;
mod describe;
mod explain;
mod fault;
mod free;
mod leaf;
mod network;
mod node;
mod nodes;
mod noise;
mod packet;
mod ports;
pub mod profile;
mod programs;
mod record;
mod skew;
mod verbs;
mod wire;

pub use busy::{Business, Busy};
pub use circuits::{Arbitration, Circuits, HeaderBuffers};
pub use deadlocked::Deadlocked;
pub use describe::describe;
pub use explain::{Held, Last};
pub use fault::{Drift, Faults, Pause};
pub use network::Network;
pub use node::Node;
pub use noise::Interrupts;
pub use packet::PacketKind;
pub use programs::{Programs, Wait, WaitFor};
pub use record::{Circuit, Record};
pub use skew::Skew;
pub use wire::Model;
