//! Recursive doubling synchronisation (Seidel & Davis 1992 §3.3): a barrier whose members leave at the same
//! instant.
//!
//! Gather and release along the binomial tree; then a member that was released early waits for as long as the
//! release still takes to reach the last. This time follows from the cost of a hop and needs no common clock.
use crate::tournament;
use foregather_machine::{Endpoint, Error, Nanos, Rank, reached};

/// The cost of one null message, from which the waiting law follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SignalCost {
    /// Time for which a send occupies the sender (`s` in the paper).
    pub send: Nanos,
    /// Time from the start of the send until the message arrives (`b_s` in the paper).
    pub latency: Nanos,
}

impl SignalCost {
    /// Messages that cost nothing: no member waits at the end.
    pub const ZERO: Self = Self { send: Nanos::ZERO, latency: Nanos::ZERO };
    /// Intel's iPSC/860 (Seidel & Davis 1992, Table I).
    pub const IPSC860: Self = Self { send: Nanos::from_us(44), latency: Nanos::from_us(75) };

    /// Returns how long member `rank` of `size` waits after its last send. For `2^d` members
    /// `(d - |rank|) (b_s - s)`, where `|rank|` counts its 1 bits.
    #[must_use]
    pub fn wait(self, rank: Rank, size: u32) -> Nanos {
        self.last_released(size) - self.released(rank, size)
    }

    /// When `rank` has been released and has released its children, from when the root began to.
    ///
    /// Digit by digit, the highest first: a 1 is a hop to that member; at a 0 the member with the digits so
    /// far sends to the one that has a 1 there, if it exists.
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

    /// The latest [`SignalCost::released`] of all members, found without looking at each. A member below the
    /// highest rank shares its digits down to some 1, where it has a 0; below that every digit is free, and
    /// every sibling exists.
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

/// Binary digits of the highest rank.
fn places(size: u32) -> u32 {
    u32::BITS - size.saturating_sub(1).leading_zeros()
}

/// Gathers, releases and waits, so that all members leave together; any size. Costs `2 d b_s` from the last
/// arrival on for `2^d` members, and no member waits longer than it takes to release the last.
///
/// # Errors
/// The endpoint's errors.
#[inline]
pub fn rds<E: Endpoint>(endpoint: &E, hop: SignalCost) -> impl Future<Output = Result<(), Error>> {
    // Computed beforehand, so the future need not keep the law.
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

/// A mark that is dropped if the last wait is dropped.
struct LeftAtTheEnd;

impl Drop for LeftAtTheEnd {
    fn drop(&mut self) {
        reached("barrier:13");
    }
}
