//! Recursive doubling synchronisation (Seidel & Davis 1992 §3.3): a barrier whose members leave at the same
//! instant.
//!
//! The members gather and release along the binomial tree. A member that was released early then waits for
//! the time that the release still needs to reach the last member. This time follows from the cost of a hop,
//! so no common clock is needed.
use crate::tournament;
use foregather_machine::{Endpoint, Error, Nanos, Rank, reached};

/// The cost of one null message, which determines how long each member waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SignalCost {
    /// Time for which a send occupies the sender (`s` in the paper).
    pub send: Nanos,
    /// Time from the start of the send until the message arrives (`b_s` in the paper).
    pub latency: Nanos,
}

impl SignalCost {
    /// Messages that cost nothing, so that no member waits at the end.
    pub const ZERO: Self = Self { send: Nanos::ZERO, latency: Nanos::ZERO };
    /// Intel's iPSC/860 (Seidel & Davis 1992, Table I).
    pub const IPSC860: Self = Self { send: Nanos::from_us(44), latency: Nanos::from_us(75) };

    /// Returns how long member `rank` of `size` waits after its last send. For `2^d` members
    /// `(d - |rank|) (b_s - s)`, where `|rank|` counts its 1 bits.
    #[must_use]
    pub fn wait(self, rank: Rank, size: u32) -> Nanos {
        self.last_released(size) - self.released(rank, size)
    }

    /// Returns the time from the start of the root's release until `rank` has been released and has released
    /// its children.
    ///
    /// It is computed bit by bit, highest bit first. A 1 stands for a hop to this member. At a 0, the member
    /// with the bits so far and zeros below sends to the member that has a 1 in this position, if there is
    /// one.
    fn released(self, rank: Rank, size: u32) -> Nanos {
        let (mut time, mut bit) = (Nanos::ZERO, places(size));
        while bit > 0 {
            bit -= 1;
            let sibling = (rank >> bit | 1) << bit;
            if rank >> bit & 1 == 1 {
                time += self.latency;
            } else if sibling < size {
                time += self.send;
            }
        }
        time
    }

    /// Returns the maximum of [`SignalCost::released`] over all members, without computing each. A lower rank
    /// has the same bits as the highest rank down to some 1, where it has a 0. The bits below that are
    /// arbitrary, and every sibling exists.
    fn last_released(self, size: u32) -> Nanos {
        let highest = size.saturating_sub(1);
        let (mut latest, mut prefix, mut bit) = (Nanos::ZERO, Nanos::ZERO, places(size));
        while bit > 0 {
            bit -= 1;
            if highest >> bit & 1 == 1 {
                latest = latest.max(prefix + self.send + self.latency.max(self.send) * u64::from(bit));
                prefix += self.latency;
            }
        }
        latest.max(prefix)
    }
}

/// Returns the number of binary digits of the highest rank.
fn places(size: u32) -> u32 {
    u32::BITS - size.saturating_sub(1).leading_zeros()
}

/// Synchronises all members so that they leave at the same time: gathers, releases and waits; any size. For
/// `2^d` members it takes `2 d b_s` after the last arrival. No member waits longer than it takes to release
/// the last one.
///
/// # Errors
/// The endpoint's errors.
#[inline]
pub fn rds<E: Endpoint>(endpoint: &E, hop: SignalCost) -> impl Future<Output = Result<(), Error>> {
    // Computed here, so that the future need not store the costs.
    let wait = hop.wait(endpoint.rank(), endpoint.size());
    async move {
        tournament(endpoint).await?;
        if wait > Nanos::ZERO {
            let left = LeftAtTheEnd;
            endpoint.delay(wait).await;
            core::mem::forget(left);
        }
        Ok(())
    }
}

/// Records on drop that the final wait was dropped.
struct LeftAtTheEnd;

impl Drop for LeftAtTheEnd {
    fn drop(&mut self) {
        reached("barrier:13");
    }
}
