//! Sets of ranks in one machine word, so that a directory entry needs no allocation.
use foregather_machine::Rank;

/// A set of ranks below [`Hosts::MAX`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Hosts(u64);

impl Hosts {
    /// The maximum number of ranks in a job of this protocol.
    pub const MAX: u32 = u64::BITS;
    /// No rank.
    pub const NONE: Self = Self(0);

    /// Returns the set of the ranks below `count`.
    pub const fn all(count: u32) -> Self {
        Self(if count >= Self::MAX { u64::MAX } else { (1 << count) - 1 })
    }

    /// Returns the set with one rank, which must be below [`Hosts::MAX`].
    pub const fn one(rank: Rank) -> Self {
        Self(1 << rank)
    }

    /// Returns the set that contains rank `r` if bit `r` is set.
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// Returns the set with rank `r` as bit `r`.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// Returns the union.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the difference: the ranks that are not in `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns whether `rank` is in the set.
    pub const fn contains(self, rank: Rank) -> bool {
        rank < Self::MAX && self.0 >> rank & 1 == 1
    }

    /// Returns whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the number of ranks in the set.
    pub const fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// Returns the ranks in ascending order.
    pub fn iter(self) -> impl Iterator<Item = Rank> {
        (0..Self::MAX).filter(move |&rank| self.contains(rank))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_hold_what_was_put_in() {
        let set = Hosts::one(0).and(Hosts::one(63)).and(Hosts::one(7));
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 7, 63]);
        assert_eq!(set.without(Hosts::all(8)).iter().collect::<Vec<_>>(), [63]);
        assert!(!set.contains(64) && !set.contains(1));
        assert_eq!((Hosts::all(64).len(), Hosts::all(3).bits(), Hosts::NONE.is_empty()), (64, 0b111, true));
    }
}
