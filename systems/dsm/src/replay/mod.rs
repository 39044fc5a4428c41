//! Replays of recorded runs in another world: the same servers, threads and messages, over any
//! [`Fabric`](foregather_machine::Fabric), without programs and without meaningful bytes.
//!
//! So a run of ranks that share a processor here shows how long it would have taken on separate hosts of
//! 1999, or on other networks. A replayed thread touches what it touched, in order, and computes in between
//! for as long as it did, times a pace; whether a touch is a fault is decided again. It does not know how
//! a program would have gone on if others had been faster (which thread took which tour), nor touches that
//! were no events, because the minipage had not been taken away.
//!
//! - [`Player`]: a thread that follows its [`Journal`](crate::journal::Journal). [`TimeSpent`]: where its
//!   time went.
//! - [`Profile`]: what faults and protection cost. [`Sizes`]: minipages that have a length and no bytes.
//! - [`Grain`]: minipages put together into larger ones, as if they had been allocated so.
//! - [`relax`]: what the same journals would cost under a relaxed consistency of pages.

mod grain;
mod player;
mod profile;
mod relaxed;
mod sizes;
#[cfg(test)]
mod tests;

pub use grain::Grain;
pub use player::{Player, TimeSpent};
pub use profile::Profile;
pub use relaxed::{Relaxed, RelaxedPrices, relax};
pub use sizes::Sizes;
