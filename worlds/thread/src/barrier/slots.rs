//! The slots that a thread has at barriers: one cache a thread, the barrier that was used last first.
use super::deadline_of;
use super::state::{SlotClaim, ThreadBarrier};
use crate::Thread;
use core::cell::RefCell;
use core::time::Duration;
use foregather_barrier::Seat;
use foregather_machine::{Nanos, WaitError, block_on};
use std::sync::Arc;

// Borrowed while the thread waits: no code of the program runs then.
thread_local! { static SLOTS: RefCell<Vec<HeldSlot>> = const { RefCell::new(Vec::new()) } }

/// A slot of this thread at a barrier. When the thread ends, it is vacated.
struct HeldSlot {
    state: Arc<ThreadBarrier>,
    seat: Seat<Thread>,
    hold: Option<SlotClaim>,
}

impl ThreadBarrier {
    /// Waits until as many threads have arrived as the barrier has members, or for `span` at most. When the
    /// time is over this thread has arrived all the same: its next wait goes on with this episode. Returns
    /// whether this thread is the leader: exactly one of each episode is.
    ///
    /// # Errors
    /// [`WaitError::Left`] if a thread has called [`ThreadBarrier::abort`]; [`WaitError::TimedOut`] with the
    /// number of threads that have not arrived, and the names of those of them that have been here before.
    #[inline]
    pub fn wait(self: &Arc<Self>, span: Option<Duration>) -> Result<bool, WaitError> {
        let waited = SLOTS.try_with(|slots| {
            let mut slots = slots.borrow_mut();
            match slots.first_mut() {
                Some(first) if Arc::ptr_eq(&first.state, self) => first.wait(span),
                _ => find(&mut slots, self).wait(span),
            }
        });
        waited.unwrap_or_else(|_| wait_as_guest(self, span))
    }
}

/// The thread is ending and has no slots any more: it cannot resume an arrival.
#[cold]
#[inline(never)]
fn wait_as_guest(state: &Arc<ThreadBarrier>, span: Option<Duration>) -> Result<bool, WaitError> {
    HeldSlot { state: Arc::clone(state), seat: Seat::guest(Thread::current()), hold: None }.wait(span)
}

#[cold]
#[inline(never)]
fn find<'s>(slots: &'s mut Vec<HeldSlot>, state: &Arc<ThreadBarrier>) -> &'s mut HeldSlot {
    match slots.iter().position(|entry| Arc::ptr_eq(&entry.state, state)) {
        Some(at) => slots.swap(0, at),
        None => {
            slots.retain(|entry| !entry.state.is_retired());
            slots.insert(0, HeldSlot::take_slot(state, None));
        }
    }
    &mut slots[0]
}

impl HeldSlot {
    /// Takes a slot if there is one, and goes on with the episode in which this thread has arrived.
    fn take_slot(state: &Arc<ThreadBarrier>, pending: Option<u64>) -> Self {
        let cpu = Thread::current();
        let hold = state.claim(&cpu);
        let seat = match hold {
            Some(hold) => Seat::new(cpu, state.roster(), hold.rank),
            None => Seat::guest(cpu),
        };
        Self { state: Arc::clone(state), seat: seat.resume(pending), hold }
    }

    #[inline]
    fn wait(&mut self, span: Option<Duration>) -> Result<bool, WaitError> {
        self.state.check()?;
        if self.seat.is_taken(self.state.roster()) {
            self.take_other_slot();
        }
        let (began, deadline) = span.map_or((Nanos::ZERO, Nanos::MAX), deadline_of);
        match self.seat.try_wait(&self.state.central(), self.state.roster()) {
            Some(is_leader) => Ok(is_leader),
            None => self.wait_longer(began, deadline),
        }
    }

    /// A function of its own, so that the shortest waits stay short.
    #[cold]
    #[inline(never)]
    fn wait_longer(&mut self, began: Nanos, deadline: Nanos) -> Result<bool, WaitError> {
        let (state, seat) = (&self.state, &self.seat);
        let meeting = seat.pending().unwrap_or_default();
        block_on(seat.wait(&state.central(), state.roster(), deadline))
            .map_err(|error| state.explain(seat.cpu(), meeting, began, &error))?;
        // A guest takes a slot that has become free: a thread vacates its own some time after it was joined.
        if self.hold.is_none() {
            self.take_other_slot();
        }
        Ok(false)
    }

    /// Another thread has the slot now, or there was none.
    #[cold]
    fn take_other_slot(&mut self) {
        let pending = self.seat.pending();
        self.hold = None;
        *self = Self::take_slot(&Arc::clone(&self.state), pending);
    }
}

impl Drop for HeldSlot {
    fn drop(&mut self) {
        if let Some(hold) = self.hold {
            self.state.vacate(self.seat.cpu(), hold);
        }
    }
}
