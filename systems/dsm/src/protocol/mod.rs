//! The coherence protocol as a pure state machine: single writer or multiple readers, sequentially
//! consistent, one manager for each minipage, which stays busy until the requester has acknowledged
//! (Itzkovitz & Schuster 1999 §2; Li & Hudak 1989).
//!
//! It knows no machine: messages come in, [`Action`]s come out **in the order in which they must be done**,
//! and the drivers (threads and processes, virtual time, the [`model`] checker) give them their meaning.
//! States, sequences and races: `README.md`.
//!
//! - [`Message`], [`Want`]: what travels. [`Hosts`]: sets of ranks. [`Homes`]: which rank manages what.
//! - [`Word`]: what the threads of a rank and its server share about one minipage.
//! - [`Client`]: a thread that faults, pushes, frees or locks. [`Server`]: what a rank answers at any time.
//! - [`Directory`], [`Locks`], [`Flags`]: what a manager knows.

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

/// The error about a peer that sent what no peer sends.
#[cold]
fn garbled<T>(from: Rank, what: &'static str) -> Result<T, Error> {
    Err(Cause::ProtocolViolation { from, what }.into())
}
