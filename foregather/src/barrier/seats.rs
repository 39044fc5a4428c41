//! The seats that a thread has at barriers: one cache a thread, the barrier that was used last first.
use super::state::{Hold, State};
use super::{BarrierWaitResult, deadline_of};
use core::cell::RefCell;
use core::sync::atomic::Ordering::Relaxed;
use core::time::Duration;
use foregather_barrier::Seat;
use foregather_machine::{Nanos, WaitError, block_on};
use foregather_thread::Thread;
use std::sync::Arc;

// Borrowed while the thread waits: no code of the program runs then.
thread_local! { static SEATS: RefCell<Vec<Entry>> = const { RefCell::new(Vec::new()) } }

/// A seat of this thread at a barrier. When the thread ends, it is vacated.
struct Entry {
    state: Arc<State>,
    seat: Seat<Thread>,
    hold: Option<Hold>,
}

/// This thread waits at the barrier.
#[inline]
pub(super) fn wait(state: &Arc<State>, span: Option<Duration>) -> Result<BarrierWaitResult, WaitError> {
    let waited = SEATS.try_with(|seats| {
        let mut seats = seats.borrow_mut();
        match seats.first_mut() {
            Some(first) if Arc::ptr_eq(&first.state, state) => first.wait(span),
            _ => find(&mut seats, state).wait(span),
        }
    });
    // The thread is ending and has no seats any more: it meets as a guest, and cannot resume an arrival.
    waited.unwrap_or_else(|_| Entry { state: Arc::clone(state), seat: Seat::guest(Thread::current()), hold: None }.wait(span))
}

#[cold]
#[inline(never)]
fn find<'s>(seats: &'s mut Vec<Entry>, state: &Arc<State>) -> &'s mut Entry {
    match seats.iter().position(|entry| Arc::ptr_eq(&entry.state, state)) {
        Some(at) => seats.swap(0, at),
        None => {
            seats.retain(|entry| !entry.state.dropped.load(Relaxed));
            seats.insert(0, Entry::sit_down(state, None));
        }
    }
    &mut seats[0]
}

impl Entry {
    /// Takes a seat if there is one, and goes on with the meeting in which this thread has arrived.
    fn sit_down(state: &Arc<State>, pending: Option<u64>) -> Self {
        let cpu = Thread::current();
        let hold = state.claim(&cpu);
        let seat = match hold {
            Some(hold) => Seat::new(cpu, state.roster(), hold.rank),
            None => Seat::guest(cpu),
        };
        Self { state: Arc::clone(state), seat: seat.resume(pending), hold }
    }

    #[inline]
    fn wait(&mut self, span: Option<Duration>) -> Result<BarrierWaitResult, WaitError> {
        self.state.check()?;
        if self.seat.is_taken(self.state.roster()) {
            self.sit_elsewhere();
        }
        let (began, deadline) = span.map_or((Nanos::ZERO, Nanos::MAX), deadline_of);
        match self.seat.try_wait(&self.state.central(), self.state.roster()) {
            Some(is_leader) => Ok(BarrierWaitResult { is_leader }),
            None => self.wait_longer(began, deadline),
        }
    }

    /// A function of its own, so that the shortest waits stay short.
    #[cold]
    #[inline(never)]
    fn wait_longer(&mut self, began: Nanos, deadline: Nanos) -> Result<BarrierWaitResult, WaitError> {
        let (state, seat) = (&self.state, &self.seat);
        let meeting = seat.pending().unwrap_or_default();
        block_on(seat.wait(&state.central(), state.roster(), deadline))
            .map_err(|error| state.explain(seat.cpu(), meeting, began, &error))?;
        // A guest takes a seat that has become free: a thread vacates its seat some time after it was joined.
        if self.hold.is_none() {
            self.sit_elsewhere();
        }
        Ok(BarrierWaitResult { is_leader: false })
    }

    /// Another thread has the seat now, or there was none.
    #[cold]
    fn sit_elsewhere(&mut self) {
        let pending = self.seat.pending();
        self.hold = None;
        *self = Self::sit_down(&Arc::clone(&self.state), pending);
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if let Some(hold) = self.hold {
            self.state.vacate(self.seat.cpu(), hold);
        }
    }
}
