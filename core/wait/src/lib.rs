//! Waiting policies, written once over [`Cpu`](foregather_machine::Cpu), and their reports.
//!
//! - [`Waiter`], one for each member: [`Waiter::wait`] is the only wait. [`Policy`]: how it waits, by name:
//!   spin, yield, block, two-phase, spin-then-yield, and those that choose again for every wait: randomised,
//!   recent, holder-running, grain.
//! - [`Strategy`]: a policy at work, one small file each (`strategies/`). [`Waiter::by`] takes one of your
//!   own.
//! - [`adaptive`]: the policy without knobs, a decision table over
//!   [`Placement`](foregather_machine::Placement). [`Roster`] and [`WaitFor`]: the members of a team, and
//!   those that a wait is for; the policy asks both.
//! - [`Multiple`]: spin bounds as multiples of a context switch, local or remote (Tsafrir & Feitelson 2002
//!   §4).
//! - [`competitive`]: what a spin bound costs against the best choice in hindsight.
//! - [`Waited`]: how one wait ended. [`Account`]: all waits of a member, with the successful-spin rate.
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
pub use name::ParsePolicyError;
pub use policy::Policy;
pub use roster::Roster;
pub use snapshot::Snapshot;
pub use strategy::{Effect, Interest, Progress, RULES_MAX, Step, Strategy, Surroundings, WaitTarget};
pub use wait_for::WaitFor;
pub use waited::{Outcome, Waited};
pub use waiter::{Wait, Waiter};
