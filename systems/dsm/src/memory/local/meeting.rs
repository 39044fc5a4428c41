//! Calls that all ranks make when they are threads of this process: each sees what the others have brought.
use crate::memory::Call;
use core::any::Any;
use core::cell::{Cell, RefCell};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use foregather_barrier::{Algorithm, BarrierMember, CachePadded, Group};
use foregather_machine::{Cause, Clock, Error, Nanos, Placement, Rank, WaitContext, block_on};
use foregather_thread::{Scope, Thread, Word};
use foregather_wait::{Policy, WaitFor, Waiter};
use std::sync::{Mutex, PoisonError};

/// The place where ranks make their calls together.
pub struct RankMeeting {
    group: Group<Thread>,
    /// By rank.
    places: Box<[CachePadded<[Brought; 2]>]>,
}

/// What a rank has brought to a meeting. Two are used in turn: a rank comes to the meeting after the next
/// only when all have left this one, and have read what was brought.
#[derive(Default)]
struct Brought {
    /// A [`Call`]; the barrier orders it.
    call: AtomicU64,
    value: Mutex<Option<Box<dyn Any + Send>>>,
}

/// One rank's place. Dropped before all have ended, it ends the others' waits with its rank.
pub struct RankPlace<'a> {
    meeting: &'a RankMeeting,
    rank: Rank,
    /// `None` once this rank has given up.
    member: RefCell<Option<BarrierMember<Thread>>>,
    turn: Cell<usize>,
    /// When a call of all ranks must end.
    deadline: Cell<Nanos>,
    cpu: Thread,
    /// How this rank waits for locks.
    waiter: Waiter,
}

/// A lock that its rank has, as long as this lives.
pub struct HeldLock<'a>(&'a Word);

impl Drop for HeldLock<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.unlock(Scope::Private);
    }
}

impl RankMeeting {
    /// The place of that many ranks.
    ///
    /// # Errors
    /// For no ranks.
    pub fn new(ranks: u32) -> Result<Self, Error> {
        let group = Group::new(Algorithm::Central, ranks)?;
        Ok(Self { group, places: (0..ranks).map(|_| CachePadded::default()).collect() })
    }

    /// Gives out the place of `rank`, once.
    ///
    /// # Errors
    /// If that rank has its place already.
    pub fn join(&self, cpu: Thread, rank: Rank) -> Result<RankPlace<'_>, Error> {
        let member = RefCell::new(Some(self.group.join(cpu, rank)?));
        let waiter = Waiter::new(Policy::adaptive(&cpu.costs()), rank);
        Ok(RankPlace { meeting: self, rank, member, turn: Cell::new(0), deadline: Cell::new(Nanos::MAX), cpu, waiter })
    }
}

impl RankPlace<'_> {
    /// Its number.
    #[inline]
    pub fn rank(&self) -> Rank {
        self.rank
    }

    /// The number of ranks.
    #[inline]
    pub fn size(&self) -> u32 {
        self.meeting.group.size()
    }

    /// The time of its thread's clock.
    pub fn now(&self) -> Nanos {
        self.cpu.now()
    }

    /// Bounds every call of all ranks from now on; [`Nanos::MAX`] for never.
    pub fn set_deadline(&self, deadline: Nanos) {
        self.deadline.set(deadline);
    }

    /// This rank goes on no more: the others' calls end with an error that names it.
    pub fn give_up(&self) {
        self.member.take();
    }

    /// Checks that this rank may still make calls.
    ///
    /// # Errors
    /// [`Cause::Poisoned`] once this rank has given up.
    #[inline]
    pub fn check(&self) -> Result<(), Error> {
        if self.member.borrow().is_some() { Ok(()) } else { Err(Cause::Poisoned { by: Some(self.rank) }.into()) }
    }

    /// Waits until the lock is free, until `deadline` at most, and takes it.
    ///
    /// # Errors
    /// [`Cause::TimedOut`] when the deadline has passed.
    #[inline]
    pub fn lock<'w>(&self, word: &'w Word, deadline: Nanos) -> Result<HeldLock<'w>, Error> {
        let why = || (WaitContext::new("a lock", self.rank).until(deadline), WaitFor::Unseen(self.size()));
        let taken = self.waiter.wait(&self.cpu, word, false, why, || word.try_lock().then_some(()));
        block_on(taken.finish()).map(|()| HeldLock(word))
    }

    /// Meets the others, all of which make this call.
    ///
    /// # Errors
    /// As [`Call::check`], and then it can go on; [`Cause::Poisoned`] by the rank that has
    /// failed.
    pub fn meet(&self, call: Call) -> Result<(), Error> {
        self.next(self.rank).call.store(call.bits(), Relaxed);
        self.wait()?;
        // Only then: ranks that have not left the meeting before may still read what was brought to it.
        self.turn.set(1 - self.turn.get());
        // All ranks have left that meeting by now, and have read what was brought there.
        *self.next(self.rank).value.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let all = (0..self.size()).map(|rank| Call::from_bits(self.brought(rank).call.load(Relaxed)));
        all.reduce(Call::and).map_or(Ok(()), Call::check)
    }

    fn wait(&self) -> Result<(), Error> {
        let mut member = self.member.borrow_mut();
        let member = member.as_mut().ok_or(Cause::Poisoned { by: Some(self.rank) })?;
        match self.deadline.get() {
            Nanos::MAX => block_on(member.wait()),
            deadline => block_on(member.wait_for(deadline - self.now())),
        }
    }

    /// Meets the others; every rank gets what all have brought, in their order.
    ///
    /// # Errors
    /// As [`RankPlace::meet`].
    pub fn exchange<V: Clone + Send + 'static>(&self, call: Call, value: V) -> Result<Vec<V>, Error> {
        self.bring(value);
        self.meet(call)?;
        Ok((0..self.size()).filter_map(|rank| self.taken(rank)).collect())
    }

    /// Meets the others; every rank gets what the first one makes.
    ///
    /// # Errors
    /// As [`RankPlace::meet`]; the errors of `make`.
    pub fn make<V: Clone + Send + 'static>(&self, call: Call, make: impl FnOnce() -> Result<V, Error>) -> Result<V, Error> {
        if self.rank == 0 {
            self.bring(make());
        }
        self.meet(call)?;
        self.taken(0).expect("what the first rank makes in a call that all make is of one type")
    }

    /// Brings a value to the next meeting.
    fn bring<V: Send + 'static>(&self, value: V) {
        *self.next(self.rank).value.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(value));
    }

    fn taken<V: Clone + 'static>(&self, rank: Rank) -> Option<V> {
        let value = self.brought(rank).value.lock().unwrap_or_else(PoisonError::into_inner);
        value.as_ref()?.downcast_ref().cloned()
    }

    /// What a rank brought to the last complete meeting.
    fn brought(&self, rank: Rank) -> &Brought {
        &self.meeting.places[rank as usize][self.turn.get()]
    }

    /// Where a rank brings its value for the next meeting.
    fn next(&self, rank: Rank) -> &Brought {
        &self.meeting.places[rank as usize][1 - self.turn.get()]
    }
}
