//! Access for any thread to a central barrier.
use crate::{Arrival, Central};
use core::cell::Cell;
use core::future::Future;
use foregather_machine::{Cause, Cpu, Error, Nanos, Rank, VALUE_MASK, WaitContext};
use foregather_wait::{Account, Policy, Roster, Wait, WaitFor, Waiter};
use std::sync::Arc;

/// How long a guest spins before it sleeps.
const GUEST_SPIN: Nanos = Nanos::from_us(20);
/// The number of episodes that a thread must have missed before another thread may take its slot.
const IDLE_MEETINGS: u32 = 8;

/// A thread's slot in the roster of a barrier that any threads may use; a thread without a slot is a guest.
///
/// Arrivals are counted with tickets, so the slot does not matter for correctness. It is only a hint: it
/// shows other threads where this thread runs, so that all can use the adaptive policy. If two threads use
/// the same slot, the worst result is that threads spin at the wrong time.
pub struct Seat<C: Cpu> {
    cpu: C,
    waiter: Waiter,
    rank: Option<Rank>,
    /// The value that this thread last wrote into its `arrived` word. A different value was written by
    /// another thread.
    arrived: Cell<u32>,
    /// The episode after this thread's last one. This is its next one, unless other threads arrive in
    /// between.
    next: Cell<u64>,
    /// The episode in which this thread has arrived but from which it has not been released.
    pending: Cell<Option<u64>>,
}

impl<C: Cpu> Seat<C> {
    /// Takes slot `rank` and publishes where the thread runs. The thread waits with the adaptive policy.
    pub fn new(cpu: C, roster: Roster<'_, C>, rank: Rank) -> Self {
        roster.enroll(&cpu, rank);
        let (waiter, arrived) = (Waiter::new(Policy::adaptive(&cpu.costs()), rank), cpu.load(roster.arrived(rank)));
        Self { arrived: Cell::new(arrived), ..Self::with(cpu, waiter, Some(rank)) }
    }

    /// Creates a guest. A guest synchronises with the other threads and waits with a two-phase policy, but
    /// does not publish where it runs.
    pub fn guest(cpu: C) -> Self {
        Self::with(cpu, Waiter::new(Policy::TwoPhase { spin: GUEST_SPIN }, 0), None)
    }

    fn with(cpu: C, waiter: Waiter, rank: Option<Rank>) -> Self {
        Self { cpu, waiter, rank, arrived: Cell::new(0), next: Cell::new(0), pending: Cell::new(None) }
    }

    /// Returns the slot of this thread; `None` for a guest.
    #[inline]
    pub fn rank(&self) -> Option<Rank> {
        self.rank
    }

    /// Returns the episode in which this thread has arrived, if it has not been released yet.
    pub fn pending(&self) -> Option<u64> {
        self.pending.get()
    }

    /// Continues with an episode in which the same thread has arrived with another slot.
    #[must_use]
    pub fn resume(self, pending: Option<u64>) -> Self {
        self.pending.set(pending);
        self
    }

    /// Returns the processor of its thread.
    pub fn cpu(&self) -> &C {
        &self.cpu
    }

    /// Returns the outcomes of the waits of this thread.
    pub fn account(&self) -> &Arc<Account> {
        self.waiter.account()
    }

    /// Returns whether the thread of slot `rank` has missed at least `IDLE_MEETINGS` episodes before episode
    /// `now`: then another thread may take the slot.
    pub fn is_idle(cpu: &C, roster: Roster<'_, C>, rank: Rank, now: u64) -> bool {
        let missed = (now as u32).wrapping_sub(cpu.load(roster.arrived(rank))) & VALUE_MASK;
        (IDLE_MEETINGS..VALUE_MASK / 2).contains(&missed)
    }

    /// Returns whether another thread has taken this slot.
    #[inline]
    pub fn is_taken(&self, roster: Roster<'_, C>) -> bool {
        self.rank.is_some_and(|rank| self.cpu.load(roster.arrived(rank)) != self.arrived.get())
    }

    /// Arrives, unless it has already, and polls briefly. Returns `Some(true)` for the last thread of each
    /// episode, `Some(false)` for the others, and `None` if the episode is not complete; then call
    /// [`Seat::wait`].
    #[inline]
    pub fn try_wait(&self, central: &Central<'_, C>, roster: Roster<'_, C>) -> Option<bool> {
        let meeting = match self.pending.get() {
            Some(meeting) => meeting,
            None => {
                let Arrival { meeting, is_last } = self.arrive(central, roster);
                if is_last {
                    self.waiter.came_last();
                    self.waiter.leave(&self.cpu);
                    return Some(true);
                }
                meeting
            }
        };
        let timed = self.waiter.account().sample();
        match self.wait_on(central, meeting, timed, || (WaitContext::new("barrier", 0), WaitFor::All(roster))) {
            Wait::Now(()) => {
                self.leave();
                Some(false)
            }
            Wait::Slow(_) => {
                self.pending.set(Some(meeting));
                None
            }
        }
    }

    /// Waits for the end of the episode in which this thread has arrived. The thread must not be the last to
    /// arrive.
    ///
    /// # Errors
    /// [`Cause::TimedOut`] when `deadline` has passed: the arrival still counts, and the next wait continues
    /// with it.
    /// [`Cause::Poisoned`] if the epoch is poisoned.
    #[cold]
    pub async fn wait(&self, central: &Central<'_, C>, roster: Roster<'_, C>, deadline: Nanos) -> Result<(), Error> {
        let (rank, whom) = self.rank.map_or((0, WaitFor::Unknown), |rank| (rank, WaitFor::All(roster)));
        let meeting = self.pending.get().unwrap_or_default();
        // The thread has already spun briefly in `try_wait`. A timed wait does not begin with another brief
        // spin.
        match self.wait_on(central, meeting, true, || (WaitContext::new("barrier", rank).until(deadline), whom)).finish().await {
            Ok(()) => self.leave(),
            Err(error) if matches!(error.cause(), Cause::TimedOut { .. }) => return Err(error),
            Err(error) => {
                self.pending.set(None);
                return Err(error);
            }
        }
        Ok(())
    }

    #[inline]
    fn wait_on<'a>(
        &'a self,
        central: &'a Central<'a, C>,
        meeting: u64,
        timed: bool,
        why: impl FnOnce() -> (WaitContext, WaitFor<'a, C>) + 'a,
    ) -> Wait<(), impl Future<Output = Result<(), Error>>> {
        self.waiter.wait(&self.cpu, central.epoch(), timed, why, move || central.released(&self.cpu, meeting))
    }

    #[inline]
    fn arrive(&self, central: &Central<'_, C>, roster: Roster<'_, C>) -> Arrival {
        let (cpu, waiter, next) = (&self.cpu, &self.waiter, self.next.get());
        waiter.arrive(cpu);
        if let Some(rank) = self.rank {
            waiter.publish_cpu(cpu, roster, rank);
            // The episode is published before it is certain, so that the others are released sooner; it is
            // only a hint.
            self.note(roster, rank, next);
        }
        let arrival = central.arrive_near(cpu, next);
        self.next.set(arrival.meeting.wrapping_add(1));
        if let Some(rank) = self.rank.filter(|_| arrival.meeting != next) {
            self.note(roster, rank, arrival.meeting);
        }
        arrival
    }

    /// Publishes that this thread has arrived in episode `meeting`.
    #[inline]
    fn note(&self, roster: Roster<'_, C>, rank: Rank, meeting: u64) {
        let arrived = meeting.wrapping_add(1) as u32 & VALUE_MASK;
        self.cpu.store(roster.arrived(rank), arrived);
        self.arrived.set(arrived);
    }

    #[inline]
    fn leave(&self) {
        self.pending.set(None);
        self.waiter.leave(&self.cpu);
    }
}
