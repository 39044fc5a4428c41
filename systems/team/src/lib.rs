//! Fork-join teams for programs: a [`Team`] calls a closure on several threads, by reference. No call ever
//! waits for a busy team.
//!
//! ```
//! use foregather_team::Team;
//! use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
//!
//! let numbers: Vec<u64> = (0..1_000).collect();
//! let sum = AtomicU64::new(0);
//! Team::global().run(|member| {
//!     let mine = member.share(numbers.len());
//!     sum.fetch_add(numbers[mine].iter().sum(), Relaxed);
//! });
//! assert_eq!(sum.into_inner(), 499_500);
//! ```
//!
//! - [`Team::run`]: one call per member. [`Team::split`]: parts that members claim. [`Team::report`]: the
//!   team's size and why.
//! - [`reduce`], [`for_each`]: operations on slices, with the same bits for any team (`slices.rs`).
//! - [`Threads`]: regions with an exact number of members and one leader, for runtimes that choose the size
//!   of a region themselves.
//! - [`TeamTable`]: a runtime's threads, for calls of other libraries in the process.
//! - [`protocol`]: both sides of a region, in any world with words; [`Team`] runs it on threads.
//! - `handover`: passes a borrowed closure to threads that outlive it. `governor.rs`: the number of members.
//!   `idle_spin.rs`: how long an idle worker spins. `overlap.rs`: which calls inside regions get a team.
//!
//! States and decisions: `README.md`.
#![deny(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]
#![allow(async_fn_in_trait)]

mod governor;
#[allow(unsafe_code)]
mod handover;
mod idle_spin;
mod migration;
mod overlap;
pub mod protocol;
mod report;
mod size;
mod slices;
mod team;

pub use handover::{NoTeam, Panic, TeamProvider, TeamTable, Threads, WorkersPart};
pub use report::Report;
pub use size::{Allowed, Share};
pub use slices::{for_each, reduce};
pub use team::Team;

use core::ops::Range;

/// One of the threads that run a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TeamMember {
    rank: u32,
    size: u32,
}

impl TeamMember {
    const ALONE: Self = Self { rank: 0, size: 1 };

    /// Returns its number, less than [`TeamMember::size`]; the caller's is 0.
    pub fn rank(self) -> u32 {
        self.rank
    }

    /// Returns the number of members of this call. Use it to decide which member computes a result; the
    /// result itself must not depend on it.
    pub fn size(self) -> u32 {
        self.size
    }

    /// Returns its share of `count` items, a contiguous range. Shares differ in length by at most one, and
    /// together cover all items.
    pub fn share(self, count: usize) -> Range<usize> {
        let from = |rank: u32| {
            let (whole, rest) = (count / self.size as usize, count % self.size as usize);
            rank as usize * whole + rest.min(rank as usize)
        };
        from(self.rank)..from(self.rank + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_even_and_together_all() {
        for size in 1..=7 {
            for count in [0, 1, 2, 6, 7, 8, 100] {
                let shares: Vec<_> = (0..size).map(|rank| TeamMember { rank, size }.share(count)).collect();
                assert_eq!(shares.iter().flat_map(Clone::clone).collect::<Vec<_>>(), (0..count).collect::<Vec<_>>());
                let lengths = shares.iter().map(Range::len);
                assert!(lengths.clone().max().unwrap() - lengths.min().unwrap() <= 1, "{shares:?}");
            }
        }
    }
}
