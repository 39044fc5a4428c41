//! The members that a thread waits for, and what the thread can find out about them during the wait.
use crate::roster::{MoveGuard, Roster};
use crate::{Surroundings, WaitTarget};
use core::cell::{Cell, RefCell};
use foregather_machine::{Cpu, CpuId, Nanos, Placement, Rank, ThreadId, VALUE_MASK};

/// A search checks at most this many members. In a larger team they stand for all members.
const MOST: u32 = 1_024;

/// The members that a thread waits for, with the roster in which they publish their state.
pub enum WaitFor<'t, C: Cpu> {
    /// All members that have arrived less often than this one: the wait of a barrier, or of a leader for its
    /// workers. If there are none, any other member, because one of them has yet to pass the signal on.
    All(Roster<'t, C>),
    /// A leader that continues when all have arrived: the wait of a worker. Stands for all members that have
    /// arrived less often than this one; if there are none, for the leader alone.
    Leader(Roster<'t, C>, Rank),
    /// A message from one member, or from any member if `None`. The wait should not take CPU time from
    /// threads that compute.
    Message(Roster<'t, C>, Option<Rank>),
    /// Like `Message`, while other members copy from this member's memory with its help. Helping is useful
    /// work, so the wait may use CPU time.
    Copy(Roster<'t, C>, Option<Rank>),
    /// One of this many threads (including this one) about which nothing else is known: the owner of a lock,
    /// the thread whose turn it is, or a thread of another process.
    Unseen(u32),
    /// Nothing is known about the awaited members.
    Unknown,
}

impl<C: Cpu> Clone for WaitFor<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<C: Cpu> Copy for WaitFor<'_, C> {}

impl<'t, C: Cpu> WaitFor<'t, C> {
    fn roster(self) -> Option<Roster<'t, C>> {
        match self {
            Self::All(roster) | Self::Leader(roster, _) | Self::Message(roster, _) | Self::Copy(roster, _) => Some(roster),
            Self::Unseen(_) | Self::Unknown => None,
        }
    }
}

/// The surroundings of one wait, as its world provides them.
pub(crate) struct Around<'w, C: Cpu> {
    pub(crate) cpu: &'w C,
    pub(crate) rank: Rank,
    pub(crate) whom: WaitFor<'w, C>,
    /// The processor that this member last published.
    pub(crate) published: &'w Cell<Option<CpuId>>,
    pub(crate) turn: RefCell<Option<MoveGuard<'w, 'w, C>>>,
}

/// The members that have not arrived as often as this one.
enum Behind {
    /// There are none.
    None,
    /// There is at least one. Holds the first one that the search accepts.
    Some(Option<Rank>),
}

impl<C: Cpu> Around<'_, C> {
    fn find_behind(&self, roster: Roster<'_, C>, wanted: &mut dyn FnMut(Rank) -> bool) -> Behind {
        let episode = self.cpu.load(roster.arrived(self.rank));
        let behind = |&other: &Rank| episode.wrapping_sub(self.cpu.load(roster.arrived(other))) & VALUE_MASK == 1;
        let mut others = self.others().filter(behind).peekable();
        if others.peek().is_none() { Behind::None } else { Behind::Some(others.find(|&rank| wanted(rank))) }
    }

    fn others(&self) -> impl Iterator<Item = Rank> {
        let (rank, size) = (self.rank, self.size());
        (1..size.min(MOST)).map(move |step| (rank + step) % size)
    }
}

impl<C: Cpu> Surroundings for Around<'_, C> {
    fn now(&self) -> Nanos {
        self.cpu.now()
    }

    fn placement(&self) -> &dyn Placement {
        self.cpu
    }

    fn awaited(&self) -> WaitTarget {
        match self.whom {
            WaitFor::All(_) => WaitTarget::Members,
            WaitFor::Leader(_, leader) => WaitTarget::Leader(leader),
            WaitFor::Message(..) => WaitTarget::Message,
            WaitFor::Copy(..) => WaitTarget::Copy,
            WaitFor::Unseen(_) => WaitTarget::Unseen,
            WaitFor::Unknown => WaitTarget::Unknown,
        }
    }

    fn size(&self) -> u32 {
        match self.whom {
            WaitFor::Unseen(size) => size,
            whom => whom.roster().map_or(1, Roster::size),
        }
    }

    fn find(&self, wanted: &mut dyn FnMut(Rank) -> bool) -> Option<Rank> {
        match self.whom {
            WaitFor::Unseen(_) | WaitFor::Unknown => None,
            WaitFor::Message(_, Some(peer)) | WaitFor::Copy(_, Some(peer)) => wanted(peer).then_some(peer),
            WaitFor::Message(_, None) | WaitFor::Copy(_, None) => self.others().find(|&other| wanted(other)),
            WaitFor::All(roster) => match self.find_behind(roster, wanted) {
                Behind::None => self.others().find(|&other| wanted(other)),
                Behind::Some(found) => found,
            },
            WaitFor::Leader(roster, leader) => match self.find_behind(roster, wanted) {
                Behind::None => wanted(leader).then_some(leader),
                Behind::Some(found) => found,
            },
        }
    }

    fn publish_cpu(&self) -> Option<CpuId> {
        publish_cpu(self.cpu, self.whom.roster(), self.rank, self.published)
    }

    fn cpu_of(&self, rank: Rank) -> Option<CpuId> {
        self.whom.roster()?.cpu_of(self.cpu, rank)
    }

    fn thread_of(&self, rank: Rank) -> Option<ThreadId> {
        self.whom.roster()?.thread(self.cpu, rank)
    }

    fn is_movable(&self) -> bool {
        self.whom.roster().is_some_and(|roster| roster.movable(self.cpu, self.rank))
    }

    fn begin_move(&self) -> bool {
        let mut turn = self.turn.borrow_mut();
        *turn = self.whom.roster().and_then(|roster| roster.begin_move(self.cpu));
        turn.is_some()
    }

    fn end_move(&self) {
        self.turn.take();
    }

    fn forbid_moves(&self) {
        if let Some(roster) = self.whom.roster() {
            roster.fix(self.cpu, self.rank);
        }
    }
}

/// Publishes the processor on which this member runs, if it has changed. Returns that processor.
#[inline]
pub(crate) fn publish_cpu<C: Cpu>(
    cpu: &C,
    roster: Option<Roster<'_, C>>,
    rank: Rank,
    published: &Cell<Option<CpuId>>,
) -> Option<CpuId> {
    let here = cpu.place();
    if here != published.get() {
        published.set(here);
        if let Some(roster) = roster {
            roster.publish_cpu(cpu, rank, here);
        }
    }
    here
}
