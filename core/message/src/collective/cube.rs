//! Any number of members as a hypercube: each surplus member first hands its part to a neighbour.
use core::ops::Range;
use foregather_machine::{Member, Rank};

/// The largest hypercube within a group. Enough of the first members form pairs, one place for each pair,
/// that the number of places is a power of two. Places are in the order of the ranks, so values combined
/// place by place are combined in rank order.
#[derive(Clone, Copy)]
pub(super) struct Cube {
    rank: Rank,
    /// How many places, the first ones, belong to two members each.
    pairs: u32,
    /// How many dimensions it has.
    dimensions: u32,
}

impl Cube {
    pub(super) fn of(member: &impl Member) -> Self {
        let dimensions = member.size().ilog2();
        Self { rank: member.rank(), pairs: member.size() - (1 << dimensions), dimensions }
    }

    pub(super) fn dimensions(self) -> Range<u32> {
        0..self.dimensions
    }

    /// The place of a member.
    pub(super) const fn place_of(self, rank: Rank) -> u32 {
        if rank < 2 * self.pairs { rank / 2 } else { rank - self.pairs }
    }

    /// The member that acts at that place.
    pub(super) const fn actor(self, place: u32) -> Rank {
        if place < self.pairs { 2 * place } else { place + self.pairs }
    }

    pub(super) const fn place(self) -> u32 {
        self.place_of(self.rank)
    }

    /// The member that acts for this one, if another does.
    pub(super) fn represented_by(self) -> Option<Rank> {
        let actor = self.actor(self.place());
        (actor != self.rank).then_some(actor)
    }

    /// The other member of this actor's place, if there is one.
    pub(super) fn represents(self) -> Option<Rank> {
        (self.place() < self.pairs && self.represented_by().is_none()).then_some(self.rank + 1)
    }

    /// The member that acts at the other end of that edge.
    pub(super) const fn across(self, dimension: u32) -> Rank {
        self.actor(self.place() ^ 1 << dimension)
    }

    /// Returns whether this member is at the upper end of the edge in `dimension`.
    pub(super) const fn is_upper(self, dimension: u32) -> bool {
        self.place() >> dimension & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_has_one_actor_and_they_are_in_rank_order() {
        for size in 1_u32..=70 {
            let dimensions = size.ilog2();
            let of = |rank| Cube { rank, pairs: size - (1 << dimensions), dimensions };
            let actors: Vec<_> = (0..size).filter(|&rank| of(rank).represented_by().is_none()).collect();
            assert_eq!(actors.len(), 1 << dimensions);
            for (place, &rank) in actors.iter().enumerate() {
                assert_eq!((of(rank).place(), of(rank).actor(place as u32)), (place as u32, rank));
            }
            for rank in 0..size {
                let actor = of(rank).represented_by();
                assert_eq!(actor.map(|actor| of(actor).represents()), actor.map(|_| Some(rank)));
            }
        }
    }
}
