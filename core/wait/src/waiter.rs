//! The wait that all policies share: a member that waits often owns a [`Waiter`] and calls [`Waiter::wait`].
//!
//! It checks once, spins briefly without reading a clock, and only then creates a future, which takes one
//! [`Step`] of the member's [`Strategy`] after another until the event has occurred or can no longer occur.
use crate::wait_for::{Around, publish_cpu};
use crate::{Account, Effect, Interest, Outcome, Policy, Progress, Roster, Step, Strategy, Surroundings, WaitFor, Waited};
use core::cell::{Cell, RefCell};
use core::future::Future;
use foregather_machine::{Cause, Clock, Cpu, CpuId, Error, Fabric, Nanos, Rank, WaitContext, reached};
use std::sync::Arc;

/// How long a spinner runs before it checks whether its wait can still succeed.
const CHECK_INTERVAL: Nanos = Nanos::from_ms(1);

/// Waits for one member with its strategy, and keeps the account of its waits.
pub struct Waiter {
    strategy: RefCell<Box<dyn Strategy>>,
    interest: Interest,
    /// Whether the next wait begins with a brief spin.
    spins: Cell<bool>,
    /// Where the others believe this member to be.
    published: Cell<Option<CpuId>>,
    account: Arc<Account>,
}

/// A wait that is over, or the rest of it: so the shortest waits cost no future.
#[must_use = "a wait that is not over does nothing unless it is awaited"]
pub enum Wait<T, F> {
    /// The result of the probe.
    Now(T),
    /// Continues the wait when polled.
    Slow(F),
}

impl<T, F: Future<Output = Result<T, Error>>> Wait<T, F> {
    /// Continues the wait until it is over.
    ///
    /// # Errors
    /// If the wait can no longer succeed: poisoned word, passed deadline, lost peer.
    #[inline]
    pub async fn finish(self) -> Result<T, Error> {
        match self {
            Self::Now(found) => Ok(found),
            Self::Slow(rest) => rest.await,
        }
    }
}

impl Waiter {
    /// Creates a waiter for `rank` with `policy`. Two waiters with the same policy and rank that observe the
    /// same events take the same steps.
    pub fn new(policy: Policy, rank: Rank) -> Self {
        Self::by(policy.strategy(rank))
    }

    /// Creates a waiter with this strategy.
    pub fn by(strategy: Box<dyn Strategy>) -> Self {
        let (interest, spins) = (strategy.interest(), Cell::new(strategy.spins()));
        let account = Arc::new(Account::of(strategy.rules()));
        Self { strategy: RefCell::new(strategy), interest, spins, published: Cell::new(None), account }
    }

    /// Returns the outcomes of its waits. Other threads can read a clone while this one waits.
    #[inline]
    pub fn account(&self) -> &Arc<Account> {
        &self.account
    }

    /// Returns whether the next wait begins by spinning.
    #[inline]
    pub fn spins(&self) -> bool {
        self.spins.get()
    }

    /// Waits on `on` until `probe` returns something, and records the wait in the account. It checks and
    /// spins briefly when called; the rest starts when the future is polled, which calls `why` for the
    /// context and the awaited members. Errors are those of [`Park::check`](foregather_machine::Park::check).
    /// With `timed`, even the shortest waits are timed.
    #[inline]
    pub fn wait<'a, C: Cpu, T: 'a>(
        &'a self,
        cpu: &'a C,
        on: &'a C::Word,
        timed: bool,
        why: impl FnOnce() -> (WaitContext, WaitFor<'a, C>) + 'a,
        mut probe: impl FnMut() -> Option<T> + 'a,
    ) -> Wait<T, impl Future<Output = Result<T, Error>>> {
        match self.try_wait(cpu, timed, &mut probe) {
            Some((found, waited)) => {
                self.account.waited(waited);
                Wait::Now(found)
            }
            None => Wait::Slow(async move {
                let (found, waited) = self.wait_slow(cpu, on, why, probe).await.inspect_err(|_| self.account.failed())?;
                self.account.waited(waited);
                Ok(found)
            }),
        }
    }

    /// Waits like [`Waiter::wait`], for one of several waits of an episode, which the caller records in the
    /// account together.
    #[inline]
    pub fn wait_part<'a, C: Cpu, T: 'a>(
        &'a self,
        cpu: &'a C,
        on: &'a C::Word,
        timed: bool,
        why: impl FnOnce() -> (WaitContext, WaitFor<'a, C>) + 'a,
        mut probe: impl FnMut() -> Option<T> + 'a,
    ) -> Wait<(T, Waited), impl Future<Output = Result<(T, Waited), Error>>> {
        match self.try_wait(cpu, timed, &mut probe) {
            Some(found) => Wait::Now(found),
            None => Wait::Slow(async move { self.wait_slow(cpu, on, why, probe).await }),
        }
    }

    /// Waits for a message on a lane (a message channel) until `probe` returns something from `sender` or
    /// from any rank.
    ///
    /// # Errors
    /// If the wait can no longer succeed: poisoned word, passed deadline, lost peer.
    #[inline]
    pub async fn on_lane<F: Fabric, T>(
        &self,
        lane: &F,
        context: WaitContext,
        sender: Option<Rank>,
        probe: impl FnMut() -> Option<T>,
    ) -> Result<T, Error> {
        let (cpu, roster) = (lane.cpu(), Roster::new(lane.roster()));
        self.publish_cpu(cpu, roster, context.rank);
        self.wait(cpu, lane.bell(), false, || (context, WaitFor::Message(roster, sender)), probe).finish().await
    }

    /// Waits like [`Waiter::on_lane`] for a limited time: `None` if nothing was found by then. With the same
    /// `since` the next call continues that wait, which the account counts once.
    ///
    /// # Errors
    /// As [`Waiter::on_lane`].
    #[inline]
    pub async fn on_lane_for<F: Fabric, T>(
        &self,
        lane: &F,
        context: WaitContext,
        whom: WaitFor<'_, F::Cpu>,
        patience: Nanos,
        probe: impl FnMut() -> Option<T>,
    ) -> Result<Option<T>, Error> {
        let cpu = lane.cpu();
        self.publish_cpu(cpu, Roster::new(lane.roster()), context.rank);
        let why = || (context.until(context.deadline.min(cpu.now() + patience)), whom);
        let (found, waited) = match self.wait_part(cpu, lane.bell(), false, why, probe) {
            Wait::Now(end) => end,
            Wait::Slow(rest) => match rest.await {
                Ok((found, waited)) if context.since == Nanos::ZERO => (found, waited),
                Ok((found, waited)) => (found, Waited { waited: cpu.now() - context.since, ..waited }),
                Err(error) if matches!(error.cause(), Cause::TimedOut { .. }) && cpu.now() < context.deadline => return Ok(None),
                Err(error) => {
                    self.account.failed();
                    return Err(error);
                }
            },
        };
        self.account.waited(waited);
        Ok(Some(found))
    }

    /// Checks once, and spins briefly unless the wait must be timed.
    #[inline]
    fn try_wait<C: Cpu, T>(&self, cpu: &C, timed: bool, mut probe: impl FnMut() -> Option<T>) -> Option<(T, Waited)> {
        let spins = self.spins.get();
        let found = match probe() {
            Some(found) => (found, Waited::first_look(spins)),
            None if !spins || timed => return None,
            None => (cpu.spin_briefly(probe)?, Waited { outcome: Outcome::Spun, ..Waited::first_look(true) }),
        };
        if self.interest.waits {
            self.learn(found.1);
        }
        Some(found)
    }

    /// Acts when called. It is a function of its own so that the callers' code stays short.
    #[cold]
    #[inline(never)]
    fn wait_slow<'a, C: Cpu, T>(
        &'a self,
        cpu: &'a C,
        on: &'a C::Word,
        why: impl FnOnce() -> (WaitContext, WaitFor<'a, C>),
        mut probe: impl FnMut() -> Option<T>,
    ) -> impl Future<Output = Result<(T, Waited), Error>> {
        let (mut context, whom) = why();
        let began = cpu.now();
        // A wait that continues after a pause began earlier.
        if context.since == Nanos::ZERO {
            context.since = began;
        }
        let around = Around { cpu, rank: context.rank, whom, published: &self.published, turn: RefCell::new(None) };
        cpu.run_inline(async move {
            let mut found = None;
            let mut look = || {
                found = probe();
                found.is_some()
            };
            let result = self.step_by_step(began, on, &context, &around, &mut look).await;
            if let (Ok(waited), true) = (&result, self.interest.waits) {
                self.learn(*waited);
            }
            self.spins.set(self.strategy.borrow().spins());
            result.map(|waited| (found.expect("a wait that is well over has found something"), waited))
        })
    }

    /// Compiled once for each `C`, whatever the wait is for.
    async fn step_by_step<C: Cpu>(
        &self,
        began: Nanos,
        on: &C::Word,
        context: &WaitContext,
        around: &Around<'_, C>,
        look: &mut dyn FnMut() -> bool,
    ) -> Result<Waited, Error> {
        let cpu = around.cpu;
        let waited = Waited { outcome: Outcome::Spun, ..Waited::first_look(false) };
        let mut wait = Progress { waited, began, max_spin: cpu.max_spin(), account: &self.account, around };
        wait.waited.began_spinning = self.strategy.borrow_mut().begin(&wait);
        let found = loop {
            let step = self.strategy.borrow_mut().next(&wait);
            if step == Step::Park {
                wait.waited.outcome = Outcome::Parked;
                break sleep(cpu, on, context, look).await;
            }
            if let Err(lost) = cpu.check(on, context) {
                break last_look(lost, look);
            }
            let (found, effect) = self.take(step, on, context, around, look).await;
            wait.note(effect);
            self.strategy.borrow_mut().done(effect, &wait);
            around.end_move();
            if found || look() {
                if let Effect::Asked(_) = effect {
                    reached("adaptive:7");
                }
                break Ok(());
            }
        };
        self.strategy.borrow_mut().end(&wait, found.is_ok());
        found.map(|()| Waited { waited: cpu.now() - began, ..wait.waited })
    }

    /// Takes a step other than parking. A spin also says whether it has found something.
    async fn take<C: Cpu>(
        &self,
        step: Step,
        on: &C::Word,
        context: &WaitContext,
        around: &Around<'_, C>,
        look: &mut dyn FnMut() -> bool,
    ) -> (bool, Effect) {
        let cpu = around.cpu;
        let before = if self.interest.spans { cpu.now() } else { Nanos::ZERO };
        let span = || if self.interest.spans { cpu.now() - before } else { Nanos::ZERO };
        let effect = match step {
            Step::Spin(budget) => {
                // A deadline that is nearer than the next check ends the spin.
                let left = if context.deadline < Nanos::MAX { context.deadline - cpu.now() } else { Nanos::MAX };
                let (found, used) = cpu.spin_for(on, budget.min(CHECK_INTERVAL).min(left), || look().then_some(())).await;
                return (found.is_some(), Effect::Spun { used, span: span() });
            }
            Step::Yield => {
                cpu.yield_now().await;
                Effect::Yielded(span())
            }
            Step::Ask(rank) => Effect::Asked((around as &dyn Surroundings).is_running(rank)),
            Step::Scout(target) => Effect::Scouted(cpu.idle(target)),
            Step::Move(target) => Effect::Moved(cpu.move_to(target).await),
            Step::Pull(thread) => Effect::Pulled(cpu.pull(thread).await),
            Step::Doze(until) => {
                let prepared = cpu.prepare_park(on);
                if look() {
                    return (true, Effect::Dozed);
                }
                // What ends the wait is told by the next check; a change since `prepare_park` ends the sleep.
                if cpu.check(on, context).is_ok() {
                    cpu.park(on, prepared, until.min(context.deadline)).await;
                }
                Effect::Dozed
            }
            Step::Park => unreachable!("the last step of a wait"),
        };
        (false, effect)
    }

    #[cold]
    #[inline(never)]
    fn learn(&self, waited: Waited) {
        let mut strategy = self.strategy.borrow_mut();
        strategy.learn(waited);
        self.spins.set(strategy.spins());
    }

    /// Publishes where the member runs, before others wait for it.
    #[inline]
    pub fn publish_cpu<C: Cpu>(&self, cpu: &C, roster: Roster<'_, C>, rank: Rank) {
        if self.interest.places {
            publish_cpu(cpu, Some(roster), rank, &self.published);
        }
    }

    /// Records that the member arrived last and waits for no other.
    #[inline]
    pub fn came_last(&self) {
        self.account.last();
        if self.interest.waits {
            self.learn(Waited::first_look(false));
        }
    }

    /// The member arrives at an episode.
    #[inline]
    pub fn arrive(&self, clock: &impl Clock) {
        if self.interest.episodes {
            self.strategy.borrow_mut().arrive(clock.now());
            self.spins.set(self.strategy.borrow().spins());
        }
    }

    /// The episode is over for this member, whether it had to wait or not.
    #[inline]
    pub fn leave(&self, clock: &impl Clock) {
        if self.interest.episodes {
            self.strategy.borrow_mut().leave(clock.now());
        }
    }
}

impl Progress<'_> {
    fn note(&mut self, effect: Effect) {
        let waited = &mut self.waited;
        match effect {
            Effect::Spun { used, .. } => {
                waited.spun += used;
                waited.began_spinning |= waited.yields == 0;
            }
            Effect::Yielded(_) | Effect::Pulled(true) => {
                waited.yields = waited.yields.saturating_add(1);
                waited.outcome = Outcome::Yielded;
            }
            _ => {}
        }
    }
}

/// Sleeps until the event has come or cannot come any more.
async fn sleep<C: Cpu>(cpu: &C, on: &C::Word, context: &WaitContext, look: &mut dyn FnMut() -> bool) -> Result<(), Error> {
    if cpu.sometimes("wait: late to bed") {
        cpu.yield_now().await;
    }
    loop {
        let prepared = cpu.prepare_park(on);
        if look() {
            return Ok(());
        }
        if let Err(lost) = cpu.check(on, context) {
            return last_look(lost, look);
        }
        // A sleep may end without a reason, so skipping one is as good.
        if !cpu.sometimes("wait: wakes for nothing") {
            cpu.park(on, prepared, context.deadline).await;
        }
    }
}

/// A peer may have done its part and then gone away: only a wait that is still unsatisfied has failed.
#[cold]
fn last_look(lost: Error, look: &mut dyn FnMut() -> bool) -> Result<(), Error> {
    if !look() {
        return Err(lost);
    }
    reached("adaptive:2");
    Ok(())
}
