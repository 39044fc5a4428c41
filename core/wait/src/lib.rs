//! Waiting policies, written once over [`Cpu`](foregather_machine::Cpu), and what they report.
//!
//! - [`Policy`]: spin, yield, block, two-phase, spin-then-yield, and those that choose anew for every wait: randomised, recent,
//!   holder-running, grain. [`Phases`]: what one wait goes through under any of them, the only wait there is.
//! - [`Chooser`]: what the latter four go by, one a member; it says the phases of each wait.
//! - [`Multiple`]: spin bounds as multiples of a context switch, local or remote (Tsafrir & Feitelson 2002 §4).
//! - [`competitive`]: what a spin bound costs against the best choice in hindsight.
//! - [`Waited`]: how one wait ended. [`Account`]: all waits of a member, with the successful-spin rate.
#![forbid(unsafe_code)]

mod account;
mod chooser;
pub mod competitive;
mod draw;
mod histogram;
mod history;
mod multiple;
mod name;
mod phases;
mod policy;
mod waited;

pub use account::{Account, Snapshot};
pub use chooser::Chooser;
pub use histogram::Histogram;
pub use multiple::Multiple;
pub use name::ParsePolicyError;
pub use phases::Phases;
pub use policy::Policy;
pub use waited::{Outcome, Waited};
