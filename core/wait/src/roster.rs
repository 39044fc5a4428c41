//! Who is in a team: for each member one line of words that it alone writes, so that others can tell where it runs, whether it
//! does, and whether it has arrived. The words may be in a segment that several processes map.
use foregather_machine::{Cpu, CpuId, Rank, ThreadId, VALUE_MASK, WordLine};

/// The words of a member's line.
const ARRIVED: usize = 0;
/// One more than its processor, since a line begins as zeros.
const PLACE: usize = 1;
const THREAD: usize = 2;
const AFFINITY: usize = 3;
/// In place of an affinity: this member must not be moved, so nobody is.
const FIXED: u32 = VALUE_MASK;
/// Whoever looks for somebody looks at so many others at most: in a larger team that many are as good as all.
const MOST: u32 = 1_024;

/// The members of a team, as all of them see it.
pub struct Roster<'t, C: Cpu> {
    /// Line 0 has the word of whoever moves at present, then comes a line a member.
    lines: &'t [WordLine<C::Word>],
}

impl<C: Cpu> Clone for Roster<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<C: Cpu> Copy for Roster<'_, C> {}

impl<'t, C: Cpu> Roster<'t, C> {
    /// How many lines a team of that size needs.
    pub const fn lines(size: u32) -> usize {
        1 + size as usize
    }

    /// Over those lines, which begin as zeros.
    pub fn new(lines: &'t [WordLine<C::Word>]) -> Self {
        Self { lines }
    }

    /// How many members there are.
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

    /// A member says who it is and where it may run.
    pub fn enroll(self, cpu: &C, rank: Rank) {
        self.publish_cpu(cpu, rank, cpu.place());
        cpu.store(self.word(rank, THREAD), cpu.identity().unwrap_or(0));
        cpu.store(self.word(rank, AFFINITY), cpu.affinity().map_or(FIXED, |affinity| affinity.fingerprint));
    }

    /// A member says where it runs.
    #[inline]
    pub(crate) fn publish_cpu(self, cpu: &C, rank: Rank, place: Option<CpuId>) {
        cpu.store(self.word(rank, PLACE), place.map_or(0, |cpu| cpu + 1));
    }

    /// Where a member was when it last said so.
    #[inline]
    pub fn place(self, cpu: &C, rank: Rank) -> Option<CpuId> {
        cpu.load(self.word(rank, PLACE)).checked_sub(1)
    }

    /// By which number it is asked after.
    pub(crate) fn thread(self, cpu: &C, rank: Rank) -> Option<ThreadId> {
        Some(cpu.load(self.word(rank, THREAD))).filter(|&thread| thread != 0)
    }

    /// May members be moved? Only if all of them have come, and all may run where this one may, now as when it came.
    pub(crate) fn movable(self, cpu: &C, rank: Rank) -> bool {
        let mine = cpu.load(self.word(rank, AFFINITY));
        mine != FIXED
            && cpu.affinity().is_some_and(|affinity| affinity.fingerprint == mine)
            && (0..self.size()).all(|other| cpu.load(self.word(other, AFFINITY)) == mine)
    }

    /// From now on nobody moves, since one must not.
    pub(crate) fn fix(self, cpu: &C, rank: Rank) {
        cpu.store(self.word(rank, AFFINITY), FIXED);
    }

    /// Takes the right to move, which one member has at a time, until it drops it.
    pub(crate) fn begin_move<'c>(self, cpu: &'c C) -> Option<Turn<'t, 'c, C>> {
        let word = &self.lines[0][0];
        (cpu.fetch_add(word, 1) == 0).then(|| Turn { word, cpu })
    }

    /// A member goes to the first processor that no member is on, whatever else may run there. Has it gone?
    pub async fn leave(self, cpu: &C, rank: Rank) -> bool {
        self.publish_cpu(cpu, rank, cpu.place());
        let Some(affinity) = cpu.affinity().filter(|_| self.movable(cpu, rank)) else { return false };
        let crowds = self.crowds(cpu, affinity.beyond);
        let empty = |&at: &CpuId| crowds.get(at as usize) == Some(&0) && cpu.allows(at);
        let (Some(target), Some(_turn)) = ((0..affinity.beyond).find(empty), self.begin_move(cpu)) else { return false };
        let gone = cpu.move_to(target).await;
        if gone {
            self.publish_cpu(cpu, rank, Some(target));
        }
        gone
    }

    /// How many members each processor below `beyond` had when they last said so.
    pub(crate) fn crowds(self, cpu: &C, beyond: CpuId) -> Vec<u32> {
        let mut crowds = vec![0; beyond as usize];
        for place in (0..self.size()).filter_map(|rank| self.place(cpu, rank)) {
            if let Some(crowd) = crowds.get_mut(place as usize) {
                *crowd += 1;
            }
        }
        crowds
    }
}

/// The right to move. A wait that is dropped in the middle of its move gives it back, too.
pub(crate) struct Turn<'t, 'c, C: Cpu> {
    word: &'t C::Word,
    cpu: &'c C,
}

impl<C: Cpu> Drop for Turn<'_, '_, C> {
    fn drop(&mut self) {
        self.cpu.store(self.word, 0);
    }
}

/// For whom somebody waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitFor {
    /// For those who have not arrived as often as it has (a barrier; a master for its slaves). If all have, for any of the
    /// others: somebody has yet to pass it on.
    Behind,
    /// For this one alone (a message, a lock; a slave for its master).
    One(Rank),
    /// For a message of this one, or of anybody: where others compute, it is not worth their time.
    Sender(Option<Rank>),
}

/// A member that waits, and for whom.
pub struct Awaited<'t, C: Cpu> {
    /// Its team.
    pub roster: Roster<'t, C>,
    /// Its rank.
    pub rank: Rank,
    /// For whom.
    pub whom: WaitFor,
}

impl<C: Cpu> Awaited<'_, C> {
    /// The first of the awaited for whom `wanted` gives something, beginning with the next rank: so not all look at the same.
    pub(crate) fn find<T>(&self, cpu: &C, mut wanted: impl FnMut(Rank) -> Option<T>) -> Option<T> {
        match self.whom {
            WaitFor::One(peer) | WaitFor::Sender(Some(peer)) => wanted(peer),
            WaitFor::Sender(None) => self.others().find_map(wanted),
            WaitFor::Behind => {
                let episode = cpu.load(self.roster.arrived(self.rank));
                let behind = |other: Rank| episode.wrapping_sub(cpu.load(self.roster.arrived(other))) & VALUE_MASK == 1;
                let mut nobody = true;
                let found = self.others().filter(|&other| behind(other)).inspect(|_| nobody = false).find_map(&mut wanted);
                if nobody { self.others().find_map(wanted) } else { found }
            }
        }
    }

    fn others(&self) -> impl Iterator<Item = Rank> {
        let (rank, size) = (self.rank, self.roster.size());
        (1..size.min(MOST)).map(move |step| (rank + step) % size)
    }

    /// Do all of them hold processors now? `None` if the world cannot tell of one before it is known that another does not.
    pub(crate) fn run(&self, cpu: &C) -> Option<bool> {
        let not_running = |rank| {
            let runs = self.roster.thread(cpu, rank).and_then(|thread| cpu.running(thread));
            (runs != Some(true)).then_some(runs)
        };
        self.find(cpu, not_running).unwrap_or(Some(true))
    }
}
