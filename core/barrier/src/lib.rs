//! Barrier algorithms, generic over shared words ([`Cpu`](foregather_machine::Cpu)) or null (empty) messages
//! ([`Endpoint`](foregather_machine::Endpoint)).
//!
//! - [`Group`] and [`BarrierMember`] are the main entry points. They support every [`Algorithm`] and policy,
//!   in every world (backend) that has shared words. [`Algorithm::takes`] says which sizes an algorithm
//!   supports.
//! - [`Algorithm::Central`] (`central.rs`) uses a ticket counter and one epoch word. Only with this algorithm
//!   does an arrival still count after a timeout.
//! - [`Seat`] lets any thread use a [`Central`] barrier, with a slot in a roster or as a guest. [`Transient`]
//!   is a central barrier that may be destroyed as soon as one thread has returned from a wait.
//! - [`butterfly`], [`sync0`], [`rds`], [`dissemination`] and its k-way form, [`tournament`],
//!   [`gather_release`] and [`tree`] use null messages, in any world that has them. [`Subcube`] runs them
//!   among a subset of the members.
//! - [`SignalMatrix`] implements null messages with shared words.
//! - [`ForkJoin`] implements fork and join with a [`Leader`] and its [`Worker`]s.
//! - [`BarrierMember::wait_or`] is a barrier whose members run tasks while they wait.
//! - [`BarrierMember::harmonize`] makes all members leave a barrier at the same time on a common clock.
//!
//! `README.md` describes the states, the sequence and the named races.
//!
//! No member leaves an episode before the last member has arrived. A member can be at most one episode ahead
//! of another. Dropping a member poisons the group: members that still need it get an error instead of
//! waiting forever.
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
