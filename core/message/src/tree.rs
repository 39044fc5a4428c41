//! The binomial tree of recursive doubling (Seidel & Davis 1992 §3.3): who tells whom.
use foregather_machine::{Member, Rank};

/// A node's place in the tree of rank 0.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    rank: Rank,
    size: u32,
}

impl Place {
    pub(crate) fn of(member: &impl Member) -> Self {
        Self { rank: member.rank(), size: member.size() }
    }

    /// Dimensions below this one lead to children, and this one to the parent.
    pub(crate) fn dimension(self) -> u32 {
        if self.rank == 0 { self.size.next_power_of_two().trailing_zeros() } else { self.rank.trailing_zeros() }
    }

    pub(crate) fn parent(self) -> Option<Rank> {
        (self.rank > 0).then(|| self.rank & (self.rank - 1))
    }

    /// The children with their dimensions, the largest subtree first.
    pub(crate) fn children(self) -> impl DoubleEndedIterator<Item = (Rank, u32)> {
        let child = move |dimension| (self.rank | 1_u32 << dimension, dimension);
        (0..self.dimension()).rev().map(child).filter(move |&(child, _)| child < self.size)
    }
}
