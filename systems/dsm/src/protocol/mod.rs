//! The coherence protocol as a pure state machine: single writer or multiple readers, sequentially
//! consistent, with one manager for each minipage, which stays busy until the requester has acknowledged
//! (Itzkovitz & Schuster 1999 §2; Li & Hudak 1989).
//!
//! It does no I/O: it takes messages and returns [`Action`]s **in the order in which they must be
//! performed**. The drivers (threads and processes, virtual time, the [`model`] checker) perform them.
//! States, sequences and races: `README.md`.
//!
//! - [`Message`], [`Want`]: the messages. [`Hosts`]: sets of ranks. [`Homes`]: which rank manages what.
//! - [`Word`]: the state of a minipage that the threads of a rank and its server share.
//! - [`Client`]: a thread that faults, pushes, frees or locks. [`Server`]: a rank's server, which answers at
//!   any time.
//! - [`Directory`], [`Locks`], [`Flags`]: a manager's state.

mod action;
mod client;
mod directory;
mod flags;
mod holder;
mod homes;
mod hosts;
mod locks;
mod message;
pub mod model;
mod server;
mod settle;
mod wire;
mod word;

pub use action::Action;
pub use client::{Client, Freed, Reaction};
pub use directory::{Counts, Directory, Holding};
pub use flags::{FlagId, Flags};
pub use homes::Homes;
pub use hosts::Hosts;
pub use locks::{LockCounts, LockId, Locks};
pub use message::{Message, SERVER, Want, server_of};
pub use server::Server;
pub use word::{Begin, Ended, Word};

use foregather_machine::{Cause, Error, Rank};

/// Returns the error for a peer that sent an invalid message.
#[cold]
fn garbled<T>(from: Rank, what: &'static str) -> Result<T, Error> {
    Err(Cause::ProtocolViolation { from, what }.into())
}
