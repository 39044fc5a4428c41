//! The operations of a thread on shared memory other than loads and stores.
use super::array::{Array, Plain};
use super::call::share;
use super::fault_handler::ThreadTable;
use super::heap::SharedHeap;
use super::mapped::Mapped;
use super::observer;
use super::reduction::Reduction;
use super::settings::Settings;
use crate::Access;
use crate::journal::Operation;
use crate::node::{Node, Requester, Stats, WaitKind};
use crate::protocol::{FlagId, Hosts, LockId, Want};
use core::ops::Range;
use foregather_barrier::{BarrierMember, dissemination};
use foregather_machine::{Cause, Clock, Error, Fabric, Member, Nanos, Rank, block_on};
use foregather_message::Messenger;
use foregather_message::collective::{Element, allreduce};
use foregather_thread as threads;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, MutexGuard};

/// One of the threads that share memory. The threads of all ranks are numbered, and those of one rank have
/// consecutive numbers.
pub struct Thread<'d, F: Fabric> {
    pub(super) node: &'d Node<F::Cpu, Mapped>,
    pub(super) slots: &'d ThreadTable<F>,
    /// Its slot in its rank, from 1 on.
    pub(super) slot: u32,
    pub(super) settings: Settings,
    pub(super) messenger: &'d Messenger<F>,
    /// Its barrier with the other threads of this rank; `None` after that has failed.
    pub(super) beside: RefCell<Option<BarrierMember<threads::Thread>>>,
    pub(super) reduction: &'d Reduction,
    /// The first thread of a rank locks it, on behalf of all.
    pub(super) heap: &'d Mutex<SharedHeap>,
    /// When the measured part began.
    pub(super) began: Cell<Nanos>,
}

/// The expected next use of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// This thread will read them soon: [`Thread::prefetch`].
    WillRead,
    /// This thread will write them soon: [`Thread::prefetch`].
    WillWrite,
    /// Threads of all ranks will read them soon: [`Thread::push`].
    AllWillRead,
}

impl<F: Fabric> Thread<'_, F> {
    /// Returns its rank.
    pub fn rank(&self) -> Rank {
        self.messenger.rank()
    }

    /// Returns the number of ranks.
    pub fn ranks(&self) -> u32 {
        self.messenger.size()
    }

    /// Returns its number among the threads of all ranks.
    pub fn number(&self) -> u32 {
        self.rank() * self.settings.threads + self.slot - 1
    }

    /// Returns the number of threads on all ranks.
    pub fn all(&self) -> u32 {
        self.ranks() * self.settings.threads
    }

    /// Returns this thread's share of `of` items: a contiguous range. Shares differ in length by at most one.
    pub fn share(&self, of: usize) -> Range<usize> {
        share(self.number(), self.all(), of)
    }

    /// Returns the messenger between the threads with the same number in all ranks: for reductions, and for
    /// all communication other than memory.
    pub fn messenger(&self) -> &Messenger<F> {
        self.messenger
    }

    pub(super) fn requester(&self) -> MutexGuard<'_, Requester<F>> {
        self.slots.of(self.slot)
    }

    /// Waits for all threads of all ranks.
    ///
    /// # Errors
    /// If a rank is lost or gives up, or another thread of this rank does; names the rank that caused it.
    pub fn barrier(&self) -> Result<(), Error> {
        self.meet(|| block_on(dissemination(self.messenger)))
    }

    /// Combines the values of all threads of all ranks, in the order of their numbers. It is also a barrier.
    ///
    /// ```
    /// use foregather_dsm::memory::{Settings, lanes, run};
    /// use foregather_machine::Address;
    /// use foregather_message::collective::{maximum, sum};
    /// # use foregather_shm::{SegmentSpec, ShmFabric};
    /// # let fabric = ShmFabric::between_threads(SegmentSpec::new(1, lanes(3)))?;
    /// # let lane = |lane| fabric.lane(foregather_thread::Thread::current(), Address { rank: 0, lane }).unwrap();
    /// # let lanes = (0..lanes(3)).map(lane).collect();
    /// let settings = Settings { bytes: 4096, threads: 3, ..Settings::default() };
    /// let ended = run(lanes, settings, |_| Ok(()), |thread, ()| {
    ///     let number = u64::from(thread.number());
    ///     Ok((thread.reduce(number, sum)?, thread.reduce(number, maximum)?))
    /// })?;
    /// assert!(ended.leave().iter().all(|thread| thread.result == (0 + 1 + 2, 2)));
    /// # Ok::<(), foregather_machine::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Thread::barrier`]; [`Cause::Mismatch`] if ranks pass values of different types,
    /// [`Cause::Setting`] if threads of a rank do.
    pub fn reduce<T: Element>(&self, value: T, combine: impl Fn(T, T) -> T) -> Result<T, Error> {
        self.reduction.give(self.slot, value);
        self.meet(|| {
            let needs = "that all threads give numbers of the same kind";
            let mine = self.reduction.combined(&combine).ok_or(Cause::Setting { what: "a reduction", needs })?;
            let mut all = [mine];
            block_on(allreduce(self.messenger, &mut all, &combine))?;
            self.reduction.publish(all[0]);
            Ok(())
        })?;
        // The next result is published when all threads have arrived again, so after they have read this one.
        Ok(self.reduction.result())
    }

    /// Waits for all threads of this rank; the first of them calls `across` with those of the other ranks;
    /// then all continue.
    pub(super) fn meet(&self, across: impl FnOnce() -> Result<(), Error>) -> Result<(), Error> {
        observer::doing(Operation::Barrier, || {
            let began = self.messenger.now();
            self.meet_beside()?;
            if self.slot == 1 {
                across().map_err(|error| self.broken(error))?;
            }
            self.meet_beside()?;
            self.requester().note(WaitKind::Barrier, self.messenger.now() - began);
            Ok(())
        })
    }

    /// Waits for the threads of this rank.
    fn meet_beside(&self) -> Result<(), Error> {
        let mut beside = self.beside.borrow_mut();
        let met = beside.as_mut().map(|beside| block_on(beside.wait()));
        drop(beside);
        match met {
            Some(Ok(())) => Ok(()),
            // Members of that group are threads, but other ranks only know ranks.
            _ => Err(self.broken(Cause::Poisoned { by: Some(self.rank()) }.into())),
        }
    }

    /// Reports that collective calls can no longer succeed to the threads of this rank and to its server,
    /// which informs all ranks.
    fn broken(&self, error: Error) -> Error {
        let first = self.requester().stop(self.node, &error);
        self.beside.take();
        if first { error } else { self.node.check().err().unwrap_or(error) }
    }

    /// Calls `act` while holding a lock. Threads get the lock in the order of their requests.
    ///
    /// If `act` panics, the lock is poisoned and no thread can take it again, because the data that it guards
    /// may be half changed. The panic propagates.
    ///
    /// # Errors
    /// [`Cause::PoisonedLock`] if `act` of a thread panicked while it held this lock; also if this thread
    /// holds it already, if there is no such lock, or if a rank is lost or gives up.
    ///
    /// # Panics
    /// If `act` panics.
    pub fn locked<R>(&self, lock: u32, act: impl FnOnce() -> R) -> Result<R, Error> {
        self.locked_until(lock, Nanos::MAX, act)
    }

    /// Calls `act` like [`Thread::locked`], but waits for the lock at most until `deadline`. A thread cannot
    /// leave the lock's queue, so after a timeout its rank gives up.
    ///
    /// # Errors
    /// [`Cause::TimedOut`]; otherwise as for [`Thread::locked`].
    ///
    /// # Panics
    /// If `act` panics.
    pub fn locked_until<R>(&self, lock: u32, deadline: Nanos, act: impl FnOnce() -> R) -> Result<R, Error> {
        self.known("lock", lock)?;
        let take = || block_on(self.requester().lock_until(self.node, LockId(lock), deadline));
        let taken = observer::doing(Operation::Lock(lock), take);
        taken.map_err(|error| if error.is_timed_out() { self.broken(error) } else { error })?;
        let result = catch_unwind(AssertUnwindSafe(act));
        let leave = || block_on(self.requester().unlock(self.node, LockId(lock), result.is_err()));
        let left = observer::doing(Operation::Unlock(lock), leave);
        match result {
            Ok(result) => left.map(|()| result),
            Err(panic) => resume_unwind(panic),
        }
    }

    /// Releases one thread that waits for this flag, now or later. That thread sees everything that this
    /// thread stored before. Flags and locks have separate numbers.
    ///
    /// ```
    /// use foregather_dsm::memory::{Array, Settings, SharedAllocator, lanes, run};
    /// # use foregather_machine::Address;
    /// # use foregather_shm::{SegmentSpec, ShmFabric};
    /// # let fabric = ShmFabric::between_threads(SegmentSpec::new(1, lanes(2)))?;
    /// # let lane = |lane| fabric.lane(foregather_thread::Thread::current(), Address { rank: 0, lane }).unwrap();
    /// # let lanes = (0..lanes(2)).map(lane).collect();
    /// let settings = Settings { bytes: 4096, threads: 2, ..Settings::default() };
    /// let layout = |layout: &mut SharedAllocator| layout.array::<u64>(1, 1);
    /// let ended = run(lanes, settings, layout, |thread, word: &Array<u64>| {
    ///     if thread.number() == 0 {
    ///         word.set(0, 7);
    ///         thread.post(3)?;
    ///         return Ok(0);
    ///     }
    ///     thread.wait(3)?;
    ///     Ok(word.get(0))
    /// })?;
    /// assert_eq!(ended.leave()[1].result, 7);
    /// # Ok::<(), foregather_machine::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is no such flag, or a rank is lost or gives up.
    pub fn post(&self, flag: u32) -> Result<(), Error> {
        self.known("flag", flag)?;
        observer::doing(Operation::Post(flag), || block_on(self.requester().post(self.node, FlagId(flag))))
    }

    /// Waits until this flag is posted, and consumes the post. Each post releases one thread, the one that
    /// has waited longest.
    ///
    /// # Errors
    /// As for [`Thread::post`].
    pub fn wait(&self, flag: u32) -> Result<(), Error> {
        self.known("flag", flag)?;
        observer::doing(Operation::Wait(flag), || block_on(self.requester().take(self.node, FlagId(flag))))
    }

    fn known(&self, what: &str, number: u32) -> Result<(), Error> {
        let count = self.settings.locks;
        if number < count {
            return Ok(());
        }
        Err(Cause::Refused { why: format!("there is no {what} {number}, only {count}: set `locks` in the settings") }.into())
    }

    /// Sends all ranks a read-only copy of the minipages that contain these elements, so that they need not
    /// fault.
    ///
    /// # Errors
    /// If a rank is lost, or the array was freed.
    ///
    /// # Panics
    /// If the range is out of bounds.
    pub fn push<T: Plain>(&self, array: &Array<T>, elements: Range<usize>) -> Result<(), Error> {
        array.live()?;
        for minipage in array.minipages(elements) {
            let to = Want::Push(Hosts::all(self.ranks()));
            observer::doing(Operation::Push { minipage }, || block_on(self.requester().tell(self.node, minipage, to)))?;
        }
        Ok(())
    }

    /// Requests the minipages that contain these elements before the first access, as many as the limit on
    /// prefetches allows. Returns how many it requested.
    ///
    /// # Errors
    /// If a rank is lost, or the array was freed.
    ///
    /// # Panics
    /// If the range is out of bounds.
    pub fn prefetch<T: Plain>(&self, array: &Array<T>, elements: Range<usize>, access: Access) -> Result<u32, Error> {
        array.live()?;
        let mut asked = 0;
        for minipage in array.minipages(elements) {
            let ask = || block_on(self.requester().prefetch(self.node, minipage, access, self.settings.prefetches));
            asked += u32::from(observer::doing(Operation::Prefetch { minipage, access }, ask)?);
        }
        Ok(asked)
    }

    /// Announces what this thread will do with these elements, so that it need not wait then. It is only a
    /// hint.
    ///
    /// # Errors
    /// If a rank is lost or gives up, or the array was freed.
    ///
    /// # Panics
    /// If the range is out of bounds.
    pub fn advise<T: Plain>(&self, array: &Array<T>, elements: Range<usize>, advice: Advice) -> Result<(), Error> {
        match advice {
            Advice::WillRead => self.prefetch(array, elements, Access::Read).map(|_| ()),
            Advice::WillWrite => self.prefetch(array, elements, Access::Write).map(|_| ()),
            Advice::AllWillRead => self.push(array, elements),
        }
    }

    /// Starts the clock of the measured part, after caches and copies are warm. All threads call it together.
    /// It is also a barrier.
    ///
    /// # Errors
    /// If a rank is lost.
    pub fn start_clock(&self) -> Result<(), Error> {
        self.barrier()?;
        observer::doing(Operation::Start, || self.requester().forget());
        self.began.set(self.messenger.now());
        Ok(())
    }

    /// Returns the time since then.
    pub fn lap(&self) -> Nanos {
        self.messenger.now() - self.began.get()
    }

    /// Returns how this thread's time was spent since then.
    pub fn stats(&self) -> Stats {
        *self.requester().stats()
    }
}
