//! The worker of a fork-join team.
use super::end::{End, out_of_turn};
use super::join_work::{Found, FoundOf, next_patience};
use super::{AWAY, JoinWork, LEADER, NoWork, before};
use crate::membership::Gone;
use core::cell::Cell;
#[cfg(doc)]
use foregather_machine::Cause;
use foregather_machine::{Cpu, Error, Nanos, Rank, reached};
use foregather_wait::{Account, Policy, Wait, WaitFor};
use std::sync::Arc;

/// A worker's handle. If it is dropped before [`Worker::wait`] has returned `None`, the leader's join fails.
pub struct Worker<C: Cpu> {
    end: End<C>,
    /// The last region that this worker has seen.
    seen: Cell<u32>,
    state: Cell<WorkerState>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WorkerState {
    /// Waits for the next fork.
    Between,
    /// Dismissed; waits to be recalled.
    Away,
    /// Has taken its part of a region whose fork it does not see yet.
    Early,
    /// Has a part to do.
    Inside,
    /// The leader has finished.
    Over,
}

impl<C: Cpu> Worker<C> {
    pub(super) fn new(end: End<C>) -> Self {
        let (seen, state) = match end.load(end.team.taken(end.rank)) {
            AWAY => (0, WorkerState::Away),
            taken => (taken, WorkerState::Between),
        };
        Self { end, seen: Cell::new(seen), state: Cell::new(state) }
    }

    /// Waits for the next region and takes this worker's part of it. Returns the number of the region, or
    /// `None` when the leader has finished. Skips regions in which the leader took the part or this worker
    /// was dismissed. The future may be dropped and the call repeated.
    ///
    /// # Errors
    /// [`Cause::Poisoned`] or [`Cause::PeerLost`] if the leader has left or was lost; [`Cause::Setting`] if
    /// [`Worker::done`] was not called for the previous region.
    #[inline]
    pub fn wait(&mut self) -> impl Future<Output = Result<Option<u32>, Error>> {
        self.wait_until(Nanos::MAX)
    }

    /// Waits like [`Worker::wait`], for at most `span`. After a timeout, the worker may try again.
    ///
    /// # Errors
    /// [`Cause::TimedOut`], which names the leader.
    pub fn wait_for(&mut self, span: Nanos) -> impl Future<Output = Result<Option<u32>, Error>> {
        self.wait_until(self.end.cpu.now() + span)
    }

    /// Waits like [`Worker::wait`] after a region with `work`. The worker does some of the work while it
    /// waits.
    ///
    /// # Errors
    /// As [`Worker::wait`].
    #[inline]
    pub fn wait_with<'a, W: JoinWork<C>>(&'a mut self, work: &'a W) -> impl Future<Output = Result<Option<u32>, Error>> + 'a {
        self.next_region(Nanos::MAX, work)
    }

    #[inline]
    fn wait_until(&mut self, deadline: Nanos) -> impl Future<Output = Result<Option<u32>, Error>> {
        self.next_region(deadline, &NoWork)
    }

    #[inline]
    fn next_region<'a, W: JoinWork<C>>(
        &'a mut self,
        deadline: Nanos,
        work: &'a W,
    ) -> impl Future<Output = Result<Option<u32>, Error>> + 'a {
        let this = &*self;
        let met = (this.state.get() != WorkerState::Inside).then(|| this.look(deadline, work.patience(), work));
        async move {
            let Some(mut met) = met else {
                return Err(out_of_turn("a worker's wait", "`done` for the region before"));
            };
            let mut patience = work.patience();
            // In almost all cases, the first pass finds the worker in the region.
            loop {
                let found = match met {
                    Ok(found) => found,
                    Err(rest) => match rest.await {
                        Ok(found) => {
                            this.may_be_late().await;
                            found
                        }
                        Err(error) => this.end.on_timeout(error, deadline, this.seen.get(), work)?,
                    },
                };
                match found {
                    Found::Event(value) => this.come(value),
                    Found::Work(item) => {
                        // The program must not see that its thread was kept off a processor.
                        this.free();
                        this.end.work_on(work, this.seen.get(), item).await;
                    }
                    Found::Nothing => patience = next_patience(patience, work),
                }
                if matches!(this.state.get(), WorkerState::Inside | WorkerState::Over) {
                    return Ok((this.state.get() == WorkerState::Inside).then(|| this.seen.get()));
                }
                met = this.look(deadline, patience, work);
            }
        }
    }

    /// Waits for the next event of the current state, or for work of the region whose part this worker has
    /// done.
    #[inline]
    #[allow(clippy::type_complexity)]
    fn look<'a, W: JoinWork<C>>(
        &'a self,
        deadline: Nanos,
        patience: Nanos,
        work: &'a W,
    ) -> Result<FoundOf<C, W, u32>, impl Future<Output = Result<FoundOf<C, W, u32>, Error>>> {
        let (end, state, seen) = (&self.end, self.state.get(), self.seen.get());
        let on = if state == WorkerState::Away { end.team.taken(end.rank) } else { end.team.epoch() };
        let come = move || {
            let value = if state == WorkerState::Away { end.load(on) } else { end.epoch() };
            let new = match state {
                WorkerState::Away => value != AWAY,
                WorkerState::Early => value == seen,
                WorkerState::Over => true,
                WorkerState::Between | WorkerState::Inside => value != seen,
            };
            if new {
                return Some(Found::Event(value));
            }
            if state == WorkerState::Between { end.look_for_work(work, seen, patience) } else { None }
        };
        let why = move || {
            let patience = if state == WorkerState::Between { patience } else { Nanos::MAX };
            (end.context(end.until(deadline, patience, seen)).of(LEADER), WaitFor::Leader(end.present(), LEADER))
        };
        match end.wait(on, end.account().sample(), why, come) {
            Wait::Now(found) => Ok(found),
            Wait::Slow(rest) => Err(end.cpu.run_inline(rest)),
        }
    }

    /// A fault point for tests. Between the load of `epoch` and the exchange of `taken`, the leader may take
    /// this worker's part and fork again.
    async fn may_be_late(&self) {
        if self.end.cpu.sometimes("team: late for its part") {
            self.end.cpu.yield_now().await;
        }
    }

    /// Handles the awaited change: the word now has `value`.
    #[inline]
    fn come(&self, value: u32) {
        let (end, state) = (&self.end, self.state.get());
        if state == WorkerState::Away {
            // That region is joined, and the next one may already be forked.
            self.seen.set(value);
            return self.state.set(WorkerState::Between);
        }
        if end.load(end.team.ended()) != 0 {
            if self.seen.get() == 0 {
                reached("barrier:T2");
            }
            return self.state.set(WorkerState::Over);
        }
        if state == WorkerState::Early {
            return self.state.set(WorkerState::Inside);
        }
        self.seen.set(value);
        let taken = end.team.taken(end.rank);
        self.state.set(if end.cpu.compare_exchange(taken, before(value), value).is_err() {
            if end.load(taken) == AWAY {
                reached("barrier:T9");
                WorkerState::Away
            } else {
                reached("barrier:T6");
                WorkerState::Between
            }
        } else if end.epoch() == value {
            WorkerState::Inside
        } else {
            WorkerState::Early
        });
    }

    /// Returns whether this worker is on the processor on which the leader was at its last fork. This is
    /// known only with the adaptive policy.
    #[inline]
    pub fn is_with_leader(&self) -> bool {
        let here = self.end.cpu.place();
        here.is_some() && self.end.roster().cpu_of(&self.end.cpu, LEADER) == here
    }

    /// Moves this worker from the leader's processor to one without a member, if there is one. Returns
    /// whether it was moved.
    pub async fn leave_leader(&mut self) -> bool {
        self.end.present().leave(&self.end.cpu, self.end.rank).await
    }

    /// Keeps this worker off the leader's processor until [`Self::free`], because kernels tend to wake a
    /// thread on the processor of its waker. Does nothing if the worker is there already or must not be
    /// moved. Returns whether it is kept off.
    pub fn keep_off_leader(&self) -> bool {
        self.end.present().keep_off(&self.end.cpu, self.end.rank, LEADER)
    }

    /// Lifts the restriction of [`Self::keep_off_leader`].
    pub fn free(&self) {
        self.end.cpu.keep_off(None);
    }

    /// Records that this worker has done its part of the region. The last worker releases the leader, which
    /// then sees everything that the workers wrote.
    ///
    /// # Errors
    /// [`Cause::Setting`] if this worker is not in a region.
    #[inline]
    pub fn done(&mut self) -> Result<(), Error> {
        if self.state.get() != WorkerState::Inside {
            return Err(out_of_turn("a worker's `done`", "a wait that has given a region"));
        }
        self.state.set(WorkerState::Between);
        self.end.publish_cpu();
        self.end.done(self.end.rank, self.seen.get());
        Ok(())
    }

    /// Computes for `span` on the worker's processor.
    pub async fn delay(&self, span: Nanos) {
        self.end.cpu.delay(span).await;
    }

    /// Returns the time on the worker's clock.
    pub fn now(&self) -> Nanos {
        self.end.cpu.now()
    }

    /// Sets the policy, beginning with the next wait, and starts a new account.
    pub fn set_policy(&mut self, policy: Policy) {
        self.end.set_policy(policy);
    }

    /// Returns the outcomes of the worker's waits. A clone can be read while the worker waits.
    pub fn account(&self) -> &Arc<Account> {
        self.end.account()
    }

    /// Returns the rank of this worker, 1 or higher.
    pub fn rank(&self) -> Rank {
        self.end.rank
    }
}

impl<C: Cpu> Drop for Worker<C> {
    fn drop(&mut self) {
        if self.state.get() != WorkerState::Over {
            self.end.poison(self.end.rank, Gone::Left);
        }
    }
}
