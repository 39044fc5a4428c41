//! Barriers, each written once: over words ([`Cpu`](foregather_machine::Cpu)) or over null messages
//! ([`Endpoint`](foregather_machine::Endpoint)).
//!
//! - [`Group`] and [`BarrierMember`] are the front door: any [`Algorithm`], any size it takes, any policy,
//!   any world with words.
//! - [`Algorithm::Central`] (`central.rs`): tickets, and one epoch word; the only one whose arrivals outlast
//!   a wait that timed out.
//! - [`Seat`]: how any thread, without a rank, takes part in a [`Central`] barrier. [`Transient`]: one in
//!   memory that a thread may give away once it is back from a wait.
//! - [`butterfly`], [`sync0`], [`rds`], [`dissemination`] and its k-way form, [`tournament`],
//!   [`gather_release`], [`tree`]: over null messages, in any world that has them; and, by [`Subcube`], among
//!   some of the members only.
//! - [`SignalMatrix`]: null messages made of words.
//! - [`ForkJoin`]: fork and join, by a [`Leader`] and its [`Worker`]s.
//! - [`BarrierMember::wait_or`]: a meeting of members that have work to do meanwhile.
//! - [`BarrierMember::harmonize`]: leave a barrier at one moment of the common clock.
//!
//! States, sequence and named races: `README.md`.
//!
//! No member leaves an episode before the last has arrived; a member may be an episode ahead of another,
//! never two. A member that goes away poisons the group: members that need it get an error instead of waiting
//! for ever.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]
#![allow(async_fn_in_trait)]

mod algorithm;
mod butterfly;
mod central;
mod dissemination;
mod fork_join;
mod gather;
mod group;
mod harmonize;
mod membership;
mod rds;
mod seat;
mod signals;
mod subcube;
mod sync0;
mod transient;
mod tree;
mod working;

pub use algorithm::Algorithm;
pub use butterfly::butterfly;
pub use central::{Arrival, Central};
pub use dissemination::{dissemination, dissemination_by};
pub use foregather_machine::CachePadded;
pub use fork_join::{ForkJoin, JoinWork, Leader, NoWork, Worker};
pub use gather::{gather_release, tournament};
pub use group::{BarrierMember, Group};
pub use harmonize::Punctual;
pub use rds::{SignalCost, rds};
pub use seat::Seat;
pub use signals::{SignalMatrix, Signaller};
pub use subcube::Subcube;
pub use sync0::sync0;
pub use transient::Transient;
pub use tree::tree;
