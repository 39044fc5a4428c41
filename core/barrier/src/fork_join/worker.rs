//! A member that is released into regions.
use super::end::{End, out_of_turn};
use super::{AWAY, LEADER, before};
use crate::membership::Gone;
use core::cell::Cell;
#[cfg(doc)]
use foregather_machine::Cause;
use foregather_machine::{Cpu, Error, Nanos, Rank, reached};
use foregather_wait::{Account, Policy, Wait, WaitFor};
use std::sync::Arc;

/// A worker's handle. Dropping it before [`Worker::wait`] has given `None` fails the leader's join.
pub struct Worker<C: Cpu> {
    end: End<C>,
    /// The last region that it has seen.
    seen: Cell<u32>,
    state: Cell<State>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Waits for a region to be forked.
    Between,
    /// Sent away; waits to be called back.
    Away,
    /// Has taken a part of a region that it does not see yet.
    Early,
    /// Has a part to do.
    Inside,
    /// No regions are left.
    Over,
}

impl<C: Cpu> Worker<C> {
    pub(super) fn new(end: End<C>) -> Self {
        Self { end, seen: Cell::new(0), state: Cell::new(State::Between) }
    }

    /// Ready with the number of a region when this worker has taken its part of it, or with `None` when the
    /// leader has finished. It skips regions in which the leader took the part, or to which this worker is
    /// not called. May be dropped and called again.
    ///
    /// # Errors
    /// [`Cause::Poisoned`] or [`Cause::PeerLost`] if the leader has gone; [`Cause::Setting`] without
    /// [`Worker::done`] for the region before.
    #[inline]
    pub fn wait(&mut self) -> impl Future<Output = Result<Option<u32>, Error>> {
        self.wait_until(Nanos::MAX)
    }

    /// [`Worker::wait`], for `span` at most. A worker that gives up may try again.
    ///
    /// # Errors
    /// [`Cause::TimedOut`], naming the leader.
    pub fn wait_for(&mut self, span: Nanos) -> impl Future<Output = Result<Option<u32>, Error>> {
        self.wait_until(self.end.cpu.now() + span)
    }

    #[inline]
    fn wait_until(&mut self, deadline: Nanos) -> impl Future<Output = Result<Option<u32>, Error>> {
        let this = &*self;
        let met = (this.state.get() != State::Inside).then(|| this.look(deadline));
        async move {
            match met {
                None => return Err(out_of_turn("a worker's wait", "`done` for the region before")),
                Some(Ok(value)) => this.come(value),
                Some(Err(rest)) => {
                    let value = rest.await?;
                    this.may_be_late().await;
                    this.come(value);
                }
            }
            // Nearly always the worker is in the region now.
            while !matches!(this.state.get(), State::Inside | State::Over) {
                let value = match this.look(deadline) {
                    Ok(value) => value,
                    Err(rest) => {
                        let value = rest.await?;
                        this.may_be_late().await;
                        value
                    }
                };
                this.come(value);
            }
            Ok((this.state.get() == State::Inside).then(|| this.seen.get()))
        }
    }

    /// Waits for the next event of this state.
    #[inline]
    fn look(&self, deadline: Nanos) -> Result<u32, impl Future<Output = Result<u32, Error>>> {
        let (end, state, seen) = (&self.end, self.state.get(), self.seen.get());
        let on = if state == State::Away { end.team.taken(end.rank) } else { end.team.epoch() };
        let come = move || {
            let value = end.load(on);
            let new = match state {
                State::Away => value != AWAY,
                State::Early => value == seen,
                State::Over => true,
                State::Between | State::Inside => value != seen,
            };
            new.then_some(value)
        };
        let why = move || (end.context(deadline).of(LEADER), WaitFor::Leader(end.present(), LEADER));
        match end.wait(on, end.account().sample(), why, come) {
            Wait::Now(value) => Ok(value),
            Wait::Slow(rest) => Err(end.cpu.run_inline(rest)),
        }
    }

    /// Between a look at `epoch` and the exchange of `taken` the leader may take this worker's part, and fork
    /// again.
    async fn may_be_late(&self) {
        if self.end.cpu.sometimes("team: late for its part") {
            self.end.cpu.yield_now().await;
        }
    }

    /// The awaited change has come: the word has that value.
    #[inline]
    fn come(&self, value: u32) {
        let (end, state) = (&self.end, self.state.get());
        if state == State::Away {
            return self.state.set(State::Between);
        }
        if end.load(end.team.ended()) != 0 {
            if self.seen.get() == 0 {
                reached("barrier:T2");
            }
            return self.state.set(State::Over);
        }
        if state == State::Early {
            return self.state.set(State::Inside);
        }
        self.seen.set(value);
        let taken = end.team.taken(end.rank);
        self.state.set(if end.cpu.compare_exchange(taken, before(value), value).is_err() {
            if end.load(taken) == AWAY {
                reached("barrier:T9");
                State::Away
            } else {
                reached("barrier:T6");
                State::Between
            }
        } else if end.load(end.team.epoch()) == value {
            State::Inside
        } else {
            State::Early
        });
    }

    /// Is it on the processor where the leader was at its last fork? Only the adaptive policy can tell.
    #[inline]
    pub fn is_with_leader(&self) -> bool {
        let here = self.end.cpu.place();
        here.is_some() && self.end.roster().cpu_of(&self.end.cpu, LEADER) == here
    }

    /// Leaves the leader's processor for one without a member, if there is one. Returns whether it has left.
    pub async fn leave_leader(&mut self) -> bool {
        self.end.present().leave(&self.end.cpu, self.end.rank).await
    }

    /// Keeps it off the leader's processor, if it is elsewhere and may be moved, until [`Self::free`]:
    /// kernels wake a thread where its waker runs. Returns whether it is kept off.
    pub fn keep_off_leader(&self) -> bool {
        self.end.present().keep_off(&self.end.cpu, self.end.rank, LEADER)
    }

    /// Lets it run again wherever it might before [`Self::keep_off_leader`].
    pub fn free(&self) {
        self.end.cpu.keep_off(None);
    }

    /// Records that it has done its part of the region: the last worker lets the leader go on, which then
    /// sees what the workers have written.
    ///
    /// # Errors
    /// [`Cause::Setting`] if it is in no region.
    #[inline]
    pub fn done(&mut self) -> Result<(), Error> {
        if self.state.get() != State::Inside {
            return Err(out_of_turn("a worker's `done`", "a wait that has given a region"));
        }
        self.state.set(State::Between);
        self.end.publish_cpu();
        self.end.done(self.end.rank, self.seen.get());
        Ok(())
    }

    /// Computes for `span` on the worker's own processor.
    pub async fn delay(&self, span: Nanos) {
        self.end.cpu.delay(span).await;
    }

    /// The time on the worker's clock.
    pub fn now(&self) -> Nanos {
        self.end.cpu.now()
    }

    /// Waits by another policy from its next wait on, with a new account.
    pub fn wait_by(&mut self, policy: Policy) {
        self.end.wait_by(policy);
    }

    /// The outcomes of its waits. A clone can be read while it waits.
    pub fn account(&self) -> &Arc<Account> {
        self.end.account()
    }

    /// Its own number, from 1 on.
    pub fn rank(&self) -> Rank {
        self.end.rank
    }
}

impl<C: Cpu> Drop for Worker<C> {
    fn drop(&mut self) {
        if self.state.get() != State::Over {
            self.end.poison(self.end.rank, Gone::Left);
        }
    }
}
