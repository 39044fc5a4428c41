//! Fork and join for programs: a [`Team`] calls one closure on several threads, by reference, and is never
//! waited for.
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
//! - [`Team::run`]: one call a member. [`Team::split`]: parts that members claim. [`Team::report`]: how large
//!   it is and why.
//! - [`reduce`], [`for_each`]: work on slices, with the same bits for any team (`slices.rs`).
//! - [`Threads`]: regions of exactly the members that they ask for, led by one thread: for runtimes that say
//!   themselves how large a region is.
//! - [`TeamTable`]: the threads of a runtime, for calls of other libraries in the process.
//! - [`protocol`]: a region from either side, in any world with words; [`Team`] runs it on threads.
//! - `handover`: a borrowed closure on its way to threads that outlive it. `governor.rs`: how many members.
//!   `idle_spin.rs`: how long a worker stays hot. `overlap.rs`: which calls within regions have a team.
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

/// One of the threads that do a call's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TeamMember {
    rank: u32,
    size: u32,
}

impl TeamMember {
    const ALONE: Self = Self { rank: 0, size: 1 };

    /// Its number, below [`TeamMember::size`]; the caller's is 0.
    pub fn rank(self) -> u32 {
        self.rank
    }

    /// How many members this call has. It may decide which member computes a result, never what the result
    /// is.
    pub fn size(self) -> u32 {
        self.size
    }

    /// Its share of `count` things, in order: shares differ by one at most, and together they are all.
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
