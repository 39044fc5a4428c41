//! Replays recorded runs in another world: the same servers, threads and messages, over any
//! [`Fabric`](foregather_machine::Fabric), without programs and without data.
//!
//! A run of ranks that share a processor here can thus show how long it would have taken on separate hosts of
//! 1999, or on other networks. A replayed thread makes the same accesses in the same order, and computes in
//! between for the recorded time times a factor; whether an access faults is simulated. The replay does
//! not know how a program would have behaved if others had been faster (which thread took which tour). It
//! also lacks accesses that were not recorded because the minipage was still present.
//!
//! - [`Player`]: a thread that follows its [`Journal`](crate::journal::Journal). [`TimeSpent`]: how its time
//!   was spent.
//! - [`Profile`]: the costs of faults and protection. [`Sizes`]: minipages that have a length but no bytes.
//! - [`Grain`]: minipages merged into larger ones.
//! - [`relax`]: the cost of the same journals under relaxed consistency of pages.

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
