//! Waiting policies, written once over [`Cpu`](foregather_machine::Cpu), and what they report.
//!
//! - [`Policy`]: spin, yield, block, two-phase, spin-then-yield. `policy.wait(..)` is the only wait there is.
//! - [`Multiple`]: spin bounds as multiples of a context switch, local or remote (Tsafrir & Feitelson 2002 §4).
//! - [`Waited`]: how one wait ended. [`Account`]: all waits of a member, with the successful-spin rate.
#![forbid(unsafe_code)]

mod account;
mod histogram;
mod name;
mod policy;
mod waited;

pub use account::{Account, Snapshot};
pub use histogram::Histogram;
pub use name::{Multiple, ParsePolicyError};
pub use policy::Policy;
pub use waited::{Outcome, Waited};
