//! Barriers, each written once: over words ([`Cpu`](foregather_machine::Cpu)) or over null messages
//! ([`Endpoint`](foregather_machine::Endpoint)).
//!
//! - [`Group`] and [`BarrierMember`] are the front door: any [`Kind`], any size it takes, any policy, any world with words.
//! - [`Kind::Central`] (`central.rs`): one counter, one epoch word; sense reversal by the epoch's parity.
//! - [`dissemination`], [`tree`], [`butterfly`]: over null messages, in any world that has them.
//! - [`Flags`]: null messages made of words.
//!
//! States, sequence and named races: `README.md`.
//!
//! Nobody leaves an episode before the last has arrived; a member may be an episode ahead of another, never two.
//! A member that goes away poisons the group: whoever needs it gets an error instead of waiting for ever.
#![forbid(unsafe_code)]
#![allow(async_fn_in_trait)]

mod butterfly;
mod central;
mod dissemination;
mod flags;
mod group;
mod kind;
mod line;
mod tree;

pub use butterfly::butterfly;
pub use dissemination::dissemination;
pub use flags::{FlagEndpoint, Flags};
pub use group::{BarrierMember, Group};
pub use kind::Kind;
pub use line::Line;
pub use tree::tree;
