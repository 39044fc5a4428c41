//! Collective calls of ranks that are threads of this process: each rank sees the values of the others.
use crate::memory::Call;
use core::any::Any;
use core::cell::{Cell, RefCell};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use foregather_barrier::{Algorithm, BarrierMember, CachePadded, Group};
use foregather_machine::{Cause, Clock, Error, Nanos, Placement, Rank, WaitContext, block_on};
use foregather_thread::{Scope, Thread, Word};
use foregather_wait::{Policy, WaitFor, Waiter};
use std::sync::{Mutex, PoisonError};

/// The object through which ranks make collective calls.
pub struct RankMeeting {
    group: Group<Thread>,
    /// One entry per rank.
    places: Box<[CachePadded<[Brought; 2]>]>,
}

/// The data that a rank contributes to a collective call. Two are used in turn: a rank can start the call
/// after the next only when all ranks have left this one, and have read its data.
#[derive(Default)]
struct Brought {
    /// A [`Call`]; ordered by the barrier.
    call: AtomicU64,
    value: Mutex<Option<Box<dyn Any + Send>>>,
}

/// One rank's handle. If it is dropped before all ranks have ended, the waits of the others fail with its
/// rank.
pub struct RankPlace<'a> {
    meeting: &'a RankMeeting,
    rank: Rank,
    /// `None` after this rank has given up.
    member: RefCell<Option<BarrierMember<Thread>>>,
    turn: Cell<usize>,
    /// The deadline of collective calls.
    deadline: Cell<Nanos>,
    cpu: Thread,
    /// How this rank waits for locks.
    waiter: Waiter,
}

/// A lock that this rank holds until this value is dropped.
pub struct HeldLock<'a>(&'a Word);

impl Drop for HeldLock<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.unlock(Scope::Private);
    }
}

impl RankMeeting {
    /// Creates the object for that many ranks.
    ///
    /// # Errors
    /// If `ranks` is 0.
    pub fn new(ranks: u32) -> Result<Self, Error> {
        let group = Group::new(Algorithm::Central, ranks)?;
        Ok(Self { group, places: (0..ranks).map(|_| CachePadded::default()).collect() })
    }

    /// Returns the handle of `rank`, once.
    ///
    /// # Errors
    /// If the handle of that rank was already taken.
    pub fn join(&self, cpu: Thread, rank: Rank) -> Result<RankPlace<'_>, Error> {
        let member = RefCell::new(Some(self.group.join(cpu, rank)?));
        let waiter = Waiter::new(Policy::adaptive(&cpu.costs()), rank);
        Ok(RankPlace { meeting: self, rank, member, turn: Cell::new(0), deadline: Cell::new(Nanos::MAX), cpu, waiter })
    }
}

impl RankPlace<'_> {
    /// Returns its rank.
    #[inline]
    pub fn rank(&self) -> Rank {
        self.rank
    }

    /// Returns the number of ranks.
    #[inline]
    pub fn size(&self) -> u32 {
        self.meeting.group.size()
    }

    /// Returns the time on its thread's clock.
    pub fn now(&self) -> Nanos {
        self.cpu.now()
    }

    /// Sets the deadline of all later collective calls; [`Nanos::MAX`] for none.
    pub fn set_deadline(&self, deadline: Nanos) {
        self.deadline.set(deadline);
    }

    /// Leaves: the other ranks' calls fail with an error that names this rank.
    pub fn give_up(&self) {
        self.member.take();
    }

    /// Checks that this rank may still make calls.
    ///
    /// # Errors
    /// [`Cause::Poisoned`] after this rank has given up.
    #[inline]
    pub fn check(&self) -> Result<(), Error> {
        if self.member.borrow().is_some() { Ok(()) } else { Err(Cause::Poisoned { by: Some(self.rank) }.into()) }
    }

    /// Waits until the lock is free, at most until `deadline`, and takes it.
    ///
    /// # Errors
    /// [`Cause::TimedOut`] if the deadline has passed.
    #[inline]
    pub fn lock<'w>(&self, word: &'w Word, deadline: Nanos) -> Result<HeldLock<'w>, Error> {
        let why = || (WaitContext::new("a lock", self.rank).until(deadline), WaitFor::Unseen(self.size()));
        let taken = self.waiter.wait(&self.cpu, word, false, why, || word.try_lock().then_some(()));
        block_on(taken.finish()).map(|()| HeldLock(word))
    }

    /// Waits for the other ranks, all of which make this call.
    ///
    /// # Errors
    /// As for [`Call::check`], and then the rank can continue; [`Cause::Poisoned`] with the rank that has
    /// failed.
    pub fn meet(&self, call: Call) -> Result<(), Error> {
        self.next(self.rank).call.store(call.bits(), Relaxed);
        self.wait()?;
        // Not earlier, because ranks that have not left the previous call may still read its data.
        self.turn.set(1 - self.turn.get());
        // All ranks have left the previous call by now, and have read its data.
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

    /// Waits for the other ranks, and returns the values of all ranks in rank order.
    ///
    /// # Errors
    /// As for [`RankPlace::meet`].
    pub fn exchange<V: Clone + Send + 'static>(&self, call: Call, value: V) -> Result<Vec<V>, Error> {
        self.bring(value);
        self.meet(call)?;
        Ok((0..self.size()).filter_map(|rank| self.taken(rank)).collect())
    }

    /// Waits for the other ranks; every rank gets the value that `make` returned on the first rank.
    ///
    /// # Errors
    /// As for [`RankPlace::meet`]; also the errors of `make`.
    pub fn make<V: Clone + Send + 'static>(&self, call: Call, make: impl FnOnce() -> Result<V, Error>) -> Result<V, Error> {
        if self.rank == 0 {
            self.bring(make());
        }
        self.meet(call)?;
        self.taken(0).expect("what the first rank makes in a call that all make is of one type")
    }

    /// Publishes a value for the next collective call.
    fn bring<V: Send + 'static>(&self, value: V) {
        *self.next(self.rank).value.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(value));
    }

    fn taken<V: Clone + 'static>(&self, rank: Rank) -> Option<V> {
        let value = self.brought(rank).value.lock().unwrap_or_else(PoisonError::into_inner);
        value.as_ref()?.downcast_ref().cloned()
    }

    /// Returns the data of a rank in the last completed call.
    fn brought(&self, rank: Rank) -> &Brought {
        &self.meeting.places[rank as usize][self.turn.get()]
    }

    /// Returns the data of a rank for the next call.
    fn next(&self, rank: Rank) -> &Brought {
        &self.meeting.places[rank as usize][1 - self.turn.get()]
    }
}
