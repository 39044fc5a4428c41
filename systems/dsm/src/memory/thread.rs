//! What a thread can do with shared memory besides loading and storing.
use super::array::{Array, Plain};
use super::catcher::Seats;
use super::mapped::Mapped;
use super::observer;
use crate::Access;
use crate::journal::What;
use crate::node::{Kind, Requester, Site, Tally};
use crate::protocol::{Hosts, LockId, Want};
use core::ops::Range;
use foregather_barrier::{BarrierMember, dissemination};
use foregather_machine::{Clock, Error, Fabric, Member, Nanos, Rank, run_ready};
use foregather_message::Messenger;
use foregather_thread as threads;
use std::cell::{Cell, RefCell};
use std::sync::MutexGuard;

/// One of the threads that share memory: all threads of all ranks are numbered, those of one rank next to each other.
pub struct Thread<'d, F: Fabric> {
    pub(super) site: &'d Site<F::Cpu, Mapped>,
    pub(super) seats: &'d Seats<F>,
    /// From 1 on.
    pub(super) seat: u32,
    /// Of this rank.
    pub(super) threads: u32,
    pub(super) ahead: u32,
    pub(super) messenger: &'d Messenger<F>,
    pub(super) beside: RefCell<BarrierMember<'d, threads::Thread>>,
    /// What is measured begins here.
    pub(super) began: Cell<Nanos>,
}

impl<F: Fabric> Thread<'_, F> {
    /// The rank.
    pub fn rank(&self) -> Rank {
        self.messenger.rank()
    }

    /// How many ranks there are.
    pub fn ranks(&self) -> u32 {
        self.messenger.size()
    }

    /// This thread's number among all of all ranks.
    pub fn number(&self) -> u32 {
        self.rank() * self.threads + self.seat - 1
    }

    /// How many threads there are on all ranks.
    pub fn all(&self) -> u32 {
        self.ranks() * self.threads
    }

    /// This thread's share of so many things: as even as can be, in order.
    pub fn share(&self, of: usize) -> Range<usize> {
        let (number, all) = (self.number() as usize, self.all() as usize);
        of * number / all..of * (number + 1) / all
    }

    /// Messages between threads of this number of all ranks: for reductions and all that is no memory.
    pub fn messenger(&self) -> &Messenger<F> {
        self.messenger
    }

    fn requester(&self) -> MutexGuard<'_, Requester<F>> {
        self.seats.of(self.seat)
    }

    /// Waits for all threads of all ranks.
    ///
    /// # Errors
    /// When a rank is lost.
    pub fn barrier(&self) -> Result<(), Error> {
        observer::doing(What::Barrier, || {
            let began = self.messenger.now();
            let mut beside = self.beside.borrow_mut();
            run_ready(beside.wait())?;
            if self.seat == 1 {
                run_ready(dissemination(self.messenger))?;
            }
            run_ready(beside.wait())?;
            self.requester().note(Kind::Barrier, self.messenger.now() - began);
            Ok(())
        })
    }

    /// Does something while it has a lock; who asks first gets it first.
    ///
    /// # Errors
    /// If this thread has it already; when a rank is lost.
    pub fn locked<R>(&self, lock: u32, act: impl FnOnce() -> R) -> Result<R, Error> {
        observer::doing(What::Lock(lock), || run_ready(self.requester().lock(self.site, LockId(lock))))?;
        let result = act();
        observer::doing(What::Unlock(lock), || run_ready(self.requester().unlock(self.site, LockId(lock))))?;
        Ok(result)
    }

    /// Gives all ranks a copy to read of the minipages that hold these elements: they need not fault for it.
    ///
    /// # Errors
    /// When a rank is lost.
    ///
    /// # Panics
    /// If there are no such elements.
    pub fn push<T: Plain>(&self, array: &Array<T>, elements: Range<usize>) -> Result<(), Error> {
        for minipage in array.minipages(elements) {
            let to = Want::Push(Hosts::all(self.ranks()));
            observer::doing(What::Push { minipage }, || run_ready(self.requester().tell(self.site, minipage, to)))?;
        }
        Ok(())
    }

    /// Asks for the minipages that hold these elements ahead of the first touch, as many as may be under way. How many it asked for.
    ///
    /// # Errors
    /// When a rank is lost.
    ///
    /// # Panics
    /// If there are no such elements.
    pub fn prefetch<T: Plain>(&self, array: &Array<T>, elements: Range<usize>, access: Access) -> Result<u32, Error> {
        let mut asked = 0;
        for minipage in array.minipages(elements) {
            let ask = || run_ready(self.requester().prefetch(self.site, minipage, access, self.ahead));
            asked += u32::from(observer::doing(What::Prefetch { minipage, access }, ask)?);
        }
        Ok(asked)
    }

    /// What is measured begins now, and not when the thread did: after what is cold is warm. For all threads together, behind a barrier.
    ///
    /// # Errors
    /// When a rank is lost.
    pub fn start_clock(&self) -> Result<(), Error> {
        self.barrier()?;
        observer::doing(What::Start, || self.requester().forget());
        self.began.set(self.messenger.now());
        Ok(())
    }

    /// How long ago that was.
    pub fn lap(&self) -> Nanos {
        self.messenger.now() - self.began.get()
    }

    /// Where this thread's time went since then.
    pub fn tally(&self) -> Tally {
        *self.requester().tally()
    }
}
