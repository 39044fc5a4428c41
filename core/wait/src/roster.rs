//! The roster of a team: one cache line per member, in which the member publishes its processor, its thread
//! and its arrivals. Only the member writes to its line. The lines may be in a shared-memory segment.
use foregather_machine::{Affinity, Cpu, CpuId, Rank, ThreadId, VALUE_MASK, WordLine};

/// Indices of the words in a member's line.
const ARRIVED: usize = 0;
/// Its processor plus one, because a line is initially zero.
const PLACE: usize = 1;
const THREAD: usize = 2;
const AFFINITY: usize = 3;
/// Stored instead of an affinity by a member that must not be moved. Then no member of the team is moved.
const FIXED: u32 = VALUE_MASK;

/// The roster of a team, which all members read.
pub struct Roster<'t, C: Cpu> {
    /// Line 0 holds the word that grants the right to move. One line for each member follows.
    lines: &'t [WordLine<C::Word>],
}

impl<C: Cpu> Clone for Roster<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<C: Cpu> Copy for Roster<'_, C> {}

impl<'t, C: Cpu> Roster<'t, C> {
    /// Returns the number of lines that a team of `size` members needs.
    pub const fn lines(size: u32) -> usize {
        1 + size as usize
    }

    /// Creates a roster over `lines`, which must initially be zero.
    pub fn new(lines: &'t [WordLine<C::Word>]) -> Self {
        Self { lines }
    }

    /// Returns the number of members.
    pub fn size(self) -> u32 {
        self.lines.len() as u32 - 1
    }

    #[inline]
    fn word(self, rank: Rank, which: usize) -> &'t C::Word {
        &self.lines[rank as usize + 1][which]
    }

    /// Returns the word in which a member counts its arrivals.
    #[inline]
    pub fn arrived(self, rank: Rank) -> &'t C::Word {
        self.word(rank, ARRIVED)
    }

    /// Claims the slot of `rank`. Returns false if it is not free. The member is not moved before it has
    /// enrolled.
    pub fn claim(self, cpu: &C, rank: Rank) -> bool {
        cpu.compare_exchange(self.word(rank, AFFINITY), 0, FIXED).is_ok()
    }

    /// Publishes a member's processor, thread and affinity.
    pub fn enroll(self, cpu: &C, rank: Rank) {
        self.publish_cpu(cpu, rank, cpu.place());
        cpu.store(self.word(rank, THREAD), cpu.identity().unwrap_or(0));
        cpu.store(self.word(rank, AFFINITY), cpu.affinity().map_or(FIXED, |affinity| affinity.fingerprint));
    }

    /// Frees the slot of a member whose thread exits, so that another thread can claim it. Call this last: a
    /// later write by the old member would overwrite the words of the new one.
    pub fn vacate(self, cpu: &C, rank: Rank) {
        for word in [PLACE, THREAD, AFFINITY] {
            cpu.store(self.word(rank, word), 0);
        }
    }

    /// Publishes the processor on which a member runs.
    #[inline]
    pub(crate) fn publish_cpu(self, cpu: &C, rank: Rank, place: Option<CpuId>) {
        cpu.store(self.word(rank, PLACE), place.map_or(0, |cpu| cpu + 1));
    }

    /// Returns the processor that a member last published.
    #[inline]
    pub fn cpu_of(self, cpu: &C, rank: Rank) -> Option<CpuId> {
        cpu.load(self.word(rank, PLACE)).checked_sub(1)
    }

    /// Returns the ID of a member's thread, with which others check whether it is running.
    pub(crate) fn thread(self, cpu: &C, rank: Rank) -> Option<ThreadId> {
        Some(cpu.load(self.word(rank, THREAD))).filter(|&thread| thread != 0)
    }

    /// Returns whether members may be moved: only if all have arrived, and all may run where this one may,
    /// both now and when it arrived.
    pub(crate) fn movable(self, cpu: &C, rank: Rank) -> bool {
        let mine = cpu.load(self.word(rank, AFFINITY));
        mine != FIXED
            && cpu.affinity().is_some_and(|affinity| affinity.fingerprint == mine)
            && (0..self.size()).all(|other| cpu.load(self.word(other, AFFINITY)) == mine)
    }

    /// Forbids moves of all members from now on, because this one must not be moved.
    pub(crate) fn fix(self, cpu: &C, rank: Rank) {
        cpu.store(self.word(rank, AFFINITY), FIXED);
    }

    /// Takes the right to move, which only one member can hold at a time. Dropping the returned value
    /// releases it.
    pub(crate) fn begin_move<'c>(self, cpu: &'c C) -> Option<MoveGuard<'t, 'c, C>> {
        let word = &self.lines[0][0];
        (cpu.fetch_add(word, 1) == 0).then(|| MoveGuard { word, cpu })
    }

    /// Returns where this member may be moved, if the team has no more members than processors. In a larger
    /// team, a processor without members is most likely in use by other programs, and a member there would
    /// have to wait for their time slices.
    fn room(self, cpu: &C, rank: Rank) -> Option<Affinity> {
        cpu.affinity().filter(|affinity| self.size() <= affinity.width && self.movable(cpu, rank))
    }

    /// Moves a member to the first processor without a member, if the team has no more members than
    /// processors. Returns whether the member was moved.
    pub async fn leave(self, cpu: &C, rank: Rank) -> bool {
        self.publish_cpu(cpu, rank, cpu.place());
        let Some(affinity) = self.room(cpu, rank) else { return false };
        let crowds = crowds(self.size(), affinity.beyond, |rank| self.cpu_of(cpu, rank));
        let empty = |&at: &CpuId| crowds.get(at as usize) == Some(&0) && cpu.allows(at);
        let (Some(target), Some(_turn)) = ((0..affinity.beyond).find(empty), self.begin_move(cpu)) else { return false };
        let gone = cpu.move_to(target).await;
        if gone {
            self.publish_cpu(cpu, rank, Some(target));
        }
        gone
    }

    /// Keeps a member off the processor that `other` last published, until `Placement::keep_off(None)` lifts
    /// the restriction. Does nothing if the member is on that processor, or if the team has more members than
    /// processors. Returns whether the member is kept off.
    pub fn keep_off(self, cpu: &C, rank: Rank, other: Rank) -> bool {
        let there = self.cpu_of(cpu, other).filter(|_| self.room(cpu, rank).is_some());
        there.is_some() && cpu.place() != there && cpu.keep_off(there)
    }
}

/// Returns the number of members on each processor below `beyond`, according to what the `size` members last
/// published.
pub(crate) fn crowds(size: u32, beyond: CpuId, cpu_of: impl Fn(Rank) -> Option<CpuId>) -> Vec<u32> {
    let mut crowds = vec![0; beyond as usize];
    for place in (0..size).filter_map(cpu_of) {
        if let Some(crowd) = crowds.get_mut(place as usize) {
            *crowd += 1;
        }
    }
    crowds
}

/// The right to move. It is released on drop, so a wait that is dropped during a move releases it, too.
pub(crate) struct MoveGuard<'t, 'c, C: Cpu> {
    word: &'t C::Word,
    cpu: &'c C,
}

impl<C: Cpu> Drop for MoveGuard<'_, '_, C> {
    fn drop(&mut self) {
        self.cpu.store(self.word, 0);
    }
}
