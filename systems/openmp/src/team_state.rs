//! The members of regions of one size, and what they share: a barrier, the ring of loops, what one member
//! does for all.
use crate::icv::Icvs;
use crate::ring::{LoopSlot, SLOTS, Singles, WordsFor};
use crate::statistics::{self, WaitPlace};
use core::cell::{Cell, RefCell};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering::*};
use foregather_barrier::{Algorithm, BarrierMember, ForkJoin, Group};
use foregather_machine::{CachePadded, Cause, Error, Nanos, Rank, WaitContext, Words, block_on};
use foregather_task::{TaskGroup, TaskTeam, TeamTask};
use foregather_thread::{Thread, Word};
use foregather_wait::{Policy, WaitFor, Waiter};
use std::sync::Arc;

/// What a task does.
pub type TaskBody = Box<dyn FnOnce() + Send>;
pub(crate) type ThreadTeam = TaskTeam<Thread, TaskJob>;
pub(crate) type ThreadTask = TeamTask<Thread, TaskJob>;
pub(crate) type ThreadGroup = TaskGroup<Thread>;

/// A body, and what it goes by.
pub(crate) struct TaskJob {
    pub(crate) body: TaskBody,
    pub(crate) icvs: Icvs,
    pub(crate) kind: TaskKind,
    /// The code of the body.
    pub(crate) code: usize,
}

/// What a program says of a task that only its doing depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskKind {
    /// Whether the task is final: its descendants run inline.
    pub is_final: bool,
    /// Whether the body must run even if the task group is cancelled, because it frees what was set up for
    /// the task.
    pub is_needed: bool,
}

/// Members that meet in regions of one size.
pub(crate) struct TeamState {
    size: u32,
    policy: Policy,
    group: Group<Thread>,
    /// [`SLOTS`] slots, made one by one: as an array they would be on the stack first.
    ring: Box<[CachePadded<LoopSlot>]>,
    /// What the members do of their tasks.
    pub(crate) tasks: Arc<ThreadTeam>,
    /// Members wait here for the ring, or for their turn.
    moved: CachePadded<Word>,
    pub(crate) singles: CachePadded<Singles>,
    /// What that member hands to the others, by turns.
    pub(crate) handed: [AtomicPtr<()>; 2],
    /// The barrier at whose loop was cancelled, counted from 1 on.
    cancelled_before: AtomicU64,
    /// Whether the region was cancelled, in which case its barrier is broken.
    pub(crate) is_cancelled: AtomicBool,
    /// Whether the team has finished, so that there are no more regions.
    retired: AtomicBool,
}

impl TeamState {
    /// The state of a team of `size`, which waits by `policy`, and whose regions begin and end by `region`.
    ///
    /// # Errors
    /// [`Cause::Size`] for none, or more than a barrier takes.
    #[inline(never)]
    pub(crate) fn new(size: u32, policy: Policy, region: &ForkJoin<Thread>) -> Result<Self, Error> {
        let ring = (0..SLOTS).map(|_| CachePadded(LoopSlot::default())).collect();
        let group = Group::new(Algorithm::Central, size)?;
        let state = Self {
            size,
            policy,
            tasks: Arc::new(ThreadTeam::new(group.clone(), Some(region.clone()))),
            group,
            ring,
            moved: CachePadded(Word::default()),
            singles: CachePadded(Singles::default()),
            handed: Default::default(),
            cancelled_before: AtomicU64::new(0),
            is_cancelled: AtomicBool::new(false),
            retired: AtomicBool::new(false),
        };
        state.renew(SLOTS as u32);
        Ok(state)
    }

    /// Makes everything new for the next region, after one with `loops` loops. No member is in a region.
    pub(crate) fn renew(&self, loops: u32) {
        for (number, slot) in (0..loops.min(SLOTS as u32)).zip(&*self.ring) {
            slot.0.renew(number);
        }
        self.singles.0.reset();
        self.cancelled_before.store(0, Relaxed);
    }

    /// Marks the team as finished, so that its members can drop what they have of it.
    pub(crate) fn retire(&self) {
        self.retired.store(true, Relaxed);
    }

    pub(crate) fn is_retired(&self) -> bool {
        self.retired.load(Relaxed)
    }

    pub(crate) fn size(&self) -> u32 {
        self.size
    }

    /// The slot of a loop.
    #[inline]
    pub(crate) fn slot(&self, loop_number: u32) -> &LoopSlot {
        &self.ring[loop_number as usize % SLOTS].0
    }

    /// Words that the members of a loop share.
    pub(crate) fn words(&self, loop_number: u32, what: WordsFor, count: usize) -> Arc<[AtomicU64]> {
        self.slot(loop_number).words(loop_number, what, count)
    }
}

/// One member of a team: a thread's own.
pub(crate) struct RegionMember {
    pub(crate) state: Arc<TeamState>,
    pub(crate) rank: Rank,
    pub(crate) cpu: Thread,
    waiter: Waiter,
    barrier: RefCell<Option<BarrierMember<Thread>>>,
    /// Barriers that it has waited at in this team.
    meetings: Cell<u64>,
}

impl RegionMember {
    /// The calling thread, which is member `rank`.
    ///
    /// # Panics
    /// If it was taken before. The process ends then.
    pub(crate) fn new(state: Arc<TeamState>, rank: Rank) -> Self {
        let cpu = Thread::current();
        let member = state.group.member(cpu, rank, state.policy).unwrap_or_else(|error| lost(&error));
        statistics::keep(WaitPlace::Barrier, rank, member.account());
        let (barrier, waiter) = (RefCell::new(Some(member)), Waiter::new(state.policy, rank));
        Self { state, rank, cpu, waiter, barrier, meetings: Cell::new(0) }
    }

    pub(crate) fn size(&self) -> u32 {
        self.state.size
    }

    /// This member comes to its next barrier.
    pub(crate) fn arrives(&self) {
        self.meetings.set(self.meetings.get() + 1);
    }

    /// Waits for all members and all tasks, or for a task that this member can do meanwhile.
    pub(crate) fn met_or_task(&self) -> Result<Option<Arc<ThreadTask>>, Cancelled> {
        let mut barrier = self.barrier.borrow_mut();
        let member = barrier.as_mut().ok_or(Cancelled)?;
        match block_on(self.state.tasks.meet(member)) {
            Ok(found) => Ok(found),
            Err(error) if matches!(error.cause(), Cause::Poisoned { .. }) && self.state.is_cancelled.load(Acquire) => {
                *barrier = None;
                Err(Cancelled)
            }
            Err(error) => lost(&error),
        }
    }

    /// Cancels the region: its members meet no more. Those that wait at its barrier go on.
    pub(crate) fn cancel_region(&self) {
        self.state.is_cancelled.store(true, Release);
        // A member that is gone breaks the barrier.
        *self.barrier.borrow_mut() = None;
        self.notify();
    }

    /// Cancels the loop that the members leave by their next barrier.
    pub(crate) fn cancel_loop(&self) {
        self.state.cancelled_before.store(self.meetings.get() + 1, Release);
        self.notify();
    }

    /// Returns whether the region was cancelled.
    pub(crate) fn region_is_cancelled(&self) -> bool {
        self.state.is_cancelled.load(Relaxed)
    }

    /// Returns whether the loop of this member, or its region, was cancelled.
    pub(crate) fn loop_is_cancelled(&self) -> bool {
        self.state.cancelled_before.load(Relaxed) == self.meetings.get() + 1 || self.region_is_cancelled()
    }

    /// Waits until `probe` holds, which another member makes true before it calls [`RegionMember::notify`],
    /// or until the region is cancelled. Any of `threads` may be the one that it waits for.
    #[inline]
    pub(crate) fn wait(&self, threads: impl Fn() -> u32, what: &'static str, probe: impl Fn() -> bool) {
        if probe() {
            return;
        }
        self.wait_slow(threads(), what, &|| probe() || self.region_is_cancelled());
    }

    #[cold]
    fn wait_slow(&self, threads: u32, what: &'static str, probe: &dyn Fn() -> bool) {
        let why = || (WaitContext::new(what, self.rank).until(Nanos::MAX), WaitFor::Unseen(threads));
        let waited = self.waiter.wait(&self.cpu, &self.state.moved.0, false, why, || probe().then_some(()));
        if let Err(error) = block_on(waited.finish()) {
            lost(&error);
        }
    }

    /// Members that wait for the ring or for their turn look again.
    #[inline]
    pub(crate) fn notify(&self) {
        self.cpu.ring(&self.state.moved.0);
    }
}

/// The region was cancelled.
pub(crate) struct Cancelled;

/// Ends the process: a member of a region cannot go on without the others.
#[cold]
pub(crate) fn lost(error: &Error) -> ! {
    extern "C" fn end(error: &Error) -> ! {
        panic!("a member of a parallel region was lost: {error}");
    }
    end(error)
}
