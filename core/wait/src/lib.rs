//! Waiting policies, generic over [`Cpu`](foregather_machine::Cpu), and statistics of waits.
//!
//! - [`Waiter`]: one per member; all its waits go through [`Waiter::wait`] and its variants.
//! - [`Policy`]: how the member waits, by name: spin, yield, block, two-phase, spin-then-yield, and policies
//!   that decide for each wait: randomised, recent, holder-running, grain.
//! - [`Strategy`]: the implementation of a policy; each has its own file in `strategies/`. [`Waiter::by`]
//!   accepts one of your own.
//! - [`adaptive`]: the self-tuning policy: a decision table over what
//!   [`Placement`](foregather_machine::Placement) reports.
//! - [`Roster`] and [`WaitFor`]: the members of a team, and the members that a wait depends on. The adaptive
//!   policy reads both.
//! - [`Multiple`]: spin bounds as multiples of a context switch, local or remote (Tsafrir & Feitelson 2002
//!   §4).
//! - [`competitive`]: the cost of a spin bound relative to the best choice in hindsight.
//! - [`Waited`]: how one wait ended. [`Account`]: statistics of all waits of a member, such as the
//!   successful-spin rate.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod account;
pub mod adaptive;
pub mod competitive;
mod histogram;
mod multiple;
mod name;
mod policy;
mod roster;
mod snapshot;
mod strategies;
mod strategy;
mod wait_for;
mod waited;
mod waiter;

pub use account::Account;
pub use adaptive::Adaptive;
pub use histogram::Histogram;
pub use multiple::Multiple;
pub use name::{ParsePolicyError, Yields};
pub use policy::Policy;
pub use roster::Roster;
pub use snapshot::Snapshot;
pub use strategy::{Effect, Interest, Progress, RULES_MAX, Step, Strategy, Surroundings, WaitTarget};
pub use wait_for::WaitFor;
pub use waited::{Outcome, Waited};
pub use waiter::{Wait, Waiter};
