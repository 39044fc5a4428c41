//! Waiting policies, written once over [`Cpu`](foregather_machine::Cpu), and what they report.
//!
//! - [`Policy`]: spin, yield, block, two-phase, spin-then-yield, and those that choose anew for every wait: randomised, recent,
//!   holder-running, grain. [`Phases`]: what one wait goes through under any of them, the only wait there is.
//! - [`adaptive`]: the policy without knobs, a decision table over [`Placement`](foregather_machine::Placement). [`Roster`] and
//!   [`Awaited`]: who is in a team and whom a wait is for, which it asks.
//! - [`Waiter`]: what those that choose anew go by, one a member; whoever has one waits by it.
//! - [`Multiple`]: spin bounds as multiples of a context switch, local or remote (Tsafrir & Feitelson 2002 §4).
//! - [`competitive`]: what a spin bound costs against the best choice in hindsight.
//! - [`Waited`]: how one wait ended. [`Account`]: all waits of a member, with the successful-spin rate.
#![forbid(unsafe_code)]

mod account;
pub mod adaptive;
pub mod competitive;
mod draw;
mod histogram;
mod history;
mod multiple;
mod name;
mod phases;
mod policy;
mod roster;
mod snapshot;
mod waited;
mod waiter;

pub use account::Account;
pub use adaptive::Adaptive;
pub use histogram::Histogram;
pub use multiple::Multiple;
pub use name::ParsePolicyError;
pub use phases::Phases;
pub use policy::Policy;
pub use roster::{Awaited, Roster, WaitFor};
pub use snapshot::Snapshot;
pub use waited::{Outcome, Waited};
pub use waiter::Waiter;
