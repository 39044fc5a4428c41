//! Which member of a region goes to which place (OpenMP 5.2 §10.1.3).
use crate::icv::ProcBind;

/// What the tasks of a region at `level` go by, which was opened by a task that went by `bind` and named
/// `clause`.
pub(crate) fn inherited(binds: &[ProcBind], level: u32, bind: ProcBind, clause: Option<ProcBind>) -> ProcBind {
    if bind == ProcBind::False {
        return bind;
    }
    binds.get(level as usize).copied().or(clause).unwrap_or(bind)
}

/// Consecutive places, of which a task's regions make use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacePartition {
    /// The first of them.
    pub first: u32,
    /// How many there are.
    pub count: u32,
}

impl PlacePartition {
    /// The place after `steps` more, round and round.
    fn after(self, place: u32, steps: u32) -> u32 {
        self.first + ((place - self.first) + steps) % self.count
    }
}

/// The places of a region's members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Assigned {
    bind: ProcBind,
    size: u32,
    /// The opener's place.
    place: u32,
    partition: PlacePartition,
}

impl Assigned {
    /// To `size` members, by an opener at `place`, which has a partition that is not empty. A place that is
    /// not in it counts as the first.
    pub(crate) fn new(bind: ProcBind, size: u32, place: Option<u32>, partition: PlacePartition) -> Self {
        let within = |place: &u32| (partition.first..partition.first + partition.count).contains(place);
        Self { bind, size, place: place.filter(within).unwrap_or(partition.first), partition }
    }

    /// The place of a member, and the places of its own regions.
    pub(crate) fn of(self, rank: u32) -> (u32, PlacePartition) {
        let Self { bind, size, place, partition } = self;
        let places = partition.count;
        match bind {
            ProcBind::False | ProcBind::Primary => (place, partition),
            // As many on each place, the rest one by one.
            _ if size > places => {
                let each = size / places;
                let steps = if rank < each * places { rank / each } else { rank - each * places };
                let at = partition.after(place, steps);
                (at, if bind == ProcBind::Spread { PlacePartition { first: at, count: 1 } } else { partition })
            }
            ProcBind::True | ProcBind::Close => (partition.after(place, rank), partition),
            ProcBind::Spread => self.spread(rank),
        }
    }

    /// The partition is cut into as many as there are members; the opener's is the one that it is in.
    fn spread(self, rank: u32) -> (u32, PlacePartition) {
        let Self { size, place, partition, .. } = self;
        let (each, more) = (partition.count / size, partition.count % size);
        let cut = |at: u32| partition.first + at * each + at.min(more);
        let own = (0..size).rev().find(|&at| cut(at) <= place).unwrap_or(0);
        let at = (own + rank) % size;
        let part = PlacePartition { first: cut(at), count: cut(at + 1) - cut(at) };
        (if rank == 0 { place } else { part.first }, part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(bind: ProcBind, size: u32, place: u32, (first, count): (u32, u32)) -> Vec<u32> {
        let assigned = Assigned::new(bind, size, Some(place), PlacePartition { first, count });
        (0..size).map(|rank| assigned.of(rank).0).collect()
    }

    #[test]
    fn members_are_close_or_spread_or_together() {
        assert_eq!(places(ProcBind::Primary, 3, 2, (0, 8)), [2, 2, 2]);
        assert_eq!(places(ProcBind::Close, 4, 2, (0, 8)), [2, 3, 4, 5]);
        assert_eq!(places(ProcBind::True, 4, 3, (0, 5)), [3, 4, 0, 1]);
        assert_eq!(places(ProcBind::Close, 5, 0, (0, 2)), [0, 0, 1, 1, 0]);
        assert_eq!(places(ProcBind::Close, 5, 1, (0, 3)), [1, 2, 0, 1, 2]);
        assert_eq!(places(ProcBind::Spread, 4, 0, (0, 8)), [0, 2, 4, 6]);
        assert_eq!(places(ProcBind::Spread, 4, 0, (0, 5)), [0, 2, 3, 4]);
        assert_eq!(places(ProcBind::Spread, 4, 3, (0, 8)), [3, 4, 6, 0], "the opener stays, the next ones begin their parts");
        assert_eq!(places(ProcBind::Spread, 5, 6, (6, 2)), [6, 6, 7, 7, 6]);
        assert_eq!(places(ProcBind::Close, 2, 9, (4, 2)), [4, 5], "an opener from elsewhere");
    }

    #[test]
    fn a_spread_member_has_places_of_its_own() {
        let parts = |size, place, first, count| {
            let assigned = Assigned::new(ProcBind::Spread, size, Some(place), PlacePartition { first, count });
            (0..size).map(|rank| assigned.of(rank).1).map(|part| (part.first, part.count)).collect::<Vec<_>>()
        };
        assert_eq!(parts(4, 0, 0, 7), [(0, 2), (2, 2), (4, 2), (6, 1)]);
        assert_eq!(parts(3, 5, 2, 4), [(5, 1), (2, 2), (4, 1)]);
        assert_eq!(parts(3, 0, 0, 2), [(0, 1), (1, 1), (0, 1)]);
        let close = Assigned::new(ProcBind::Close, 3, Some(0), PlacePartition { first: 0, count: 2 });
        assert_eq!(close.of(2).1, PlacePartition { first: 0, count: 2 });
    }

    #[test]
    fn deeper_regions_go_by_the_list_then_by_the_clause() {
        let list = [ProcBind::Spread, ProcBind::Primary, ProcBind::Close];
        assert_eq!(inherited(&list, 1, ProcBind::Spread, Some(ProcBind::Spread)), ProcBind::Primary);
        assert_eq!(inherited(&list, 3, ProcBind::Close, None), ProcBind::Close);
        assert_eq!(inherited(&list, 3, ProcBind::Close, Some(ProcBind::Spread)), ProcBind::Spread);
        assert_eq!(inherited(&[ProcBind::True], 1, ProcBind::True, None), ProcBind::True);
        assert_eq!(inherited(&[ProcBind::False], 1, ProcBind::False, Some(ProcBind::Close)), ProcBind::False, "no clause binds");
    }
}
