//! The members of a team: for each member one cache line of words that only it writes, so that others can see
//! its processor, whether it is running, and whether it has arrived. The words may be in a segment that
//! several processes map.
use foregather_machine::{Affinity, Cpu, CpuId, Rank, ThreadId, VALUE_MASK, WordLine};

/// The words of a member's line.
const ARRIVED: usize = 0;
/// Its processor plus one, because a line is initially zero.
const PLACE: usize = 1;
const THREAD: usize = 2;
const AFFINITY: usize = 3;
/// Instead of an affinity: this member must not be moved, so no member is.
const FIXED: u32 = VALUE_MASK;

/// The members of a team, as all of them see it.
pub struct Roster<'t, C: Cpu> {
    /// Line 0 has the word of the member that is moving; then a line for each member.
    lines: &'t [WordLine<C::Word>],
}

impl<C: Cpu> Clone for Roster<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<C: Cpu> Copy for Roster<'_, C> {}

impl<'t, C: Cpu> Roster<'t, C> {
    /// The number of lines of a team of that size.
    pub const fn lines(size: u32) -> usize {
        1 + size as usize
    }

    /// A roster over those lines, which begin as zeros.
    pub fn new(lines: &'t [WordLine<C::Word>]) -> Self {
        Self { lines }
    }

    /// The number of members.
    pub fn size(self) -> u32 {
        self.lines.len() as u32 - 1
    }

    #[inline]
    fn word(self, rank: Rank, which: usize) -> &'t C::Word {
        &self.lines[rank as usize + 1][which]
    }

    /// The word in which a member notes how often it has arrived.
    #[inline]
    pub fn arrived(self, rank: Rank) -> &'t C::Word {
        self.word(rank, ARRIVED)
    }

    /// Claims the free place of a member. The member is not moved before it has enrolled.
    pub fn claim(self, cpu: &C, rank: Rank) -> bool {
        cpu.compare_exchange(self.word(rank, AFFINITY), 0, FIXED).is_ok()
    }

    /// Publishes a member's thread and where it may run.
    pub fn enroll(self, cpu: &C, rank: Rank) {
        self.publish_cpu(cpu, rank, cpu.place());
        cpu.store(self.word(rank, THREAD), cpu.identity().unwrap_or(0));
        cpu.store(self.word(rank, AFFINITY), cpu.affinity().map_or(FIXED, |affinity| affinity.fingerprint));
    }

    /// The thread of a member has ended, and another one may claim its place. Call it last: a later write
    /// here would overwrite the new member's.
    pub fn vacate(self, cpu: &C, rank: Rank) {
        for word in [PLACE, THREAD, AFFINITY] {
            cpu.store(self.word(rank, word), 0);
        }
    }

    /// Publishes where a member runs.
    #[inline]
    pub(crate) fn publish_cpu(self, cpu: &C, rank: Rank, place: Option<CpuId>) {
        cpu.store(self.word(rank, PLACE), place.map_or(0, |cpu| cpu + 1));
    }

    /// Where a member was when it last published it.
    #[inline]
    pub fn cpu_of(self, cpu: &C, rank: Rank) -> Option<CpuId> {
        cpu.load(self.word(rank, PLACE)).checked_sub(1)
    }

    /// Returns the thread ID with which others check whether it runs.
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

    /// Takes the right to move, which one member has at a time, until it is dropped.
    pub(crate) fn begin_move<'c>(self, cpu: &'c C) -> Option<Turn<'t, 'c, C>> {
        let word = &self.lines[0][0];
        (cpu.fetch_add(word, 1) == 0).then(|| Turn { word, cpu })
    }

    /// Returns where this member may be moved, if the team has no more members than processors. In a larger
    /// team a processor without members is most likely one that other programs use, and the team would wait
    /// there for their time slices.
    fn room(self, cpu: &C, rank: Rank) -> Option<Affinity> {
        cpu.affinity().filter(|affinity| self.size() <= affinity.width && self.movable(cpu, rank))
    }

    /// Moves a member to the first processor without a member, if the team has no more members than
    /// processors. Returns whether it has gone.
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

    /// Keeps a member off the processor where another one was last, if it is elsewhere itself and the team
    /// has no more members than processors, until `Placement::keep_off(None)` frees it. Returns whether it
    /// is kept off.
    pub fn keep_off(self, cpu: &C, rank: Rank, other: Rank) -> bool {
        let there = self.cpu_of(cpu, other).filter(|_| self.room(cpu, rank).is_some());
        there.is_some() && cpu.place() != there && cpu.keep_off(there)
    }
}

/// How many of `size` members each processor below `beyond` had when they last published it.
pub(crate) fn crowds(size: u32, beyond: CpuId, cpu_of: impl Fn(Rank) -> Option<CpuId>) -> Vec<u32> {
    let mut crowds = vec![0; beyond as usize];
    for place in (0..size).filter_map(cpu_of) {
        if let Some(crowd) = crowds.get_mut(place as usize) {
            *crowd += 1;
        }
    }
    crowds
}

/// The right to move. A wait that is dropped half way through its move gives it back, too.
pub(crate) struct Turn<'t, 'c, C: Cpu> {
    word: &'t C::Word,
    cpu: &'c C,
}

impl<C: Cpu> Drop for Turn<'_, '_, C> {
    fn drop(&mut self) {
        self.cpu.store(self.word, 0);
    }
}
