//! The binomial tree of recursive doubling (Seidel & Davis 1992 §3.3): which node tells which.
use core::ops::Range;
use foregather_machine::{Member, Rank};

/// A node's place in the tree of a root: as in that of rank 0, with all ranks counted from the root on, round
/// the end.
#[derive(Clone, Copy)]
pub(crate) struct TreePosition {
    relative: u32,
    size: u32,
    root: Rank,
}

impl TreePosition {
    pub(crate) fn of(member: &impl Member) -> Self {
        Self::rooted(member, 0)
    }

    /// The place of `member` in the tree of the member `root`.
    pub(crate) fn rooted(member: &impl Member, root: Rank) -> Self {
        let (rank, size) = (member.rank(), member.size());
        Self { relative: if rank >= root { rank - root } else { size - root + rank }, size, root }
    }

    /// Its distance from the root.
    pub(crate) fn relative(self) -> u32 {
        self.relative
    }

    fn rank(self, relative: u32) -> Rank {
        if relative < self.size - self.root { self.root + relative } else { relative - (self.size - self.root) }
    }

    /// Dimensions below this one lead to children, and this one to the parent.
    pub(crate) fn dimension(self) -> u32 {
        if self.relative == 0 { self.size.next_power_of_two().trailing_zeros() } else { self.relative.trailing_zeros() }
    }

    pub(crate) fn parent(self) -> Option<Rank> {
        (self.relative > 0).then(|| self.rank(self.relative & (self.relative - 1)))
    }

    /// The children with their dimensions, the largest subtree first.
    pub(crate) fn children(self) -> impl DoubleEndedIterator<Item = (Rank, u32)> {
        let child = move |dimension| (self.relative | 1_u32 << dimension, dimension);
        let children = (0..self.dimension()).rev().map(child).filter(move |&(child, _)| child < self.size);
        children.map(move |(child, dimension)| (self.rank(child), dimension))
    }

    /// The nodes reached through this one, itself included, by distance from the root.
    pub(crate) fn subtree(self) -> Range<u32> {
        self.below(self.relative, self.dimension())
    }

    /// The subtree of the child in that dimension.
    pub(crate) fn subtree_of_child(self, dimension: u32) -> Range<u32> {
        self.below(self.relative | 1 << dimension, dimension)
    }

    fn below(self, relative: u32, dimension: u32) -> Range<u32> {
        relative..self.size.min(relative.saturating_add(1 << dimension))
    }
}
