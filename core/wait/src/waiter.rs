//! The wait loop that all policies share. A member that waits repeatedly owns a [`Waiter`] and calls
//! [`Waiter::wait`].
//!
//! The waiter checks once, spins briefly without reading a clock, and only then creates a future. The future
//! takes the [`Step`]s of the member's [`Strategy`], one after another, until the event has occurred or can
//! no longer occur.
use crate::wait_for::{Around, publish_cpu};
use crate::{Account, Effect, Interest, Outcome, Policy, Progress, Roster, Step, Strategy, Surroundings, WaitFor, Waited};
use core::cell::{Cell, RefCell};
use core::future::Future;
use foregather_machine::{Cause, Clock, Cpu, CpuId, Error, Fabric, Nanos, Rank, WaitContext, reached};
use std::sync::Arc;

/// How long a spinner runs before it checks whether its wait can still succeed.
const CHECK_INTERVAL: Nanos = Nanos::from_ms(1);

/// Waits on behalf of one member with the member's strategy, and records the waits in an account.
pub struct Waiter {
    strategy: RefCell<Box<dyn Strategy>>,
    interest: Interest,
    /// Whether the next wait begins with a brief spin.
    spins: Cell<bool>,
    /// The processor that this member last published.
    published: Cell<Option<CpuId>>,
    account: Arc<Account>,
}

/// A wait that is over, or a future for the rest of it. The shortest waits therefore create no future.
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

    /// Waits on the word `on` until `probe` returns `Some`, and records the wait in the account. The first
    /// check and a brief spin happen in the call itself; the rest happens when the future is polled. The
    /// first poll calls `why` for the context and the awaited members. Errors are those of
    /// [`Park::check`](foregather_machine::Park::check). With `timed`, even the shortest waits are timed.
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

    /// Waits like [`Waiter::wait`], but does not record the wait. Use it if an episode has several waits,
    /// which the caller combines and records as one.
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

    /// Waits on the bell of a lane (a message channel) until `probe` returns `Some`. `sender` is the rank
    /// whose message is awaited; `None` means any rank.
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

    /// Waits like [`Waiter::on_lane`], for at most `patience`. Returns `None` if `probe` found nothing in
    /// that time. A next call with the same `context.since` continues the wait; the account counts both calls
    /// as one wait.
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

    /// The part of a wait that follows the brief spin. It starts when called, not when polled, and is a
    /// separate function to keep the callers' code short.
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
        // A continued wait keeps the time at which it first began.
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

    /// Takes steps until the wait is over. It is not generic over the probe, so it is compiled once for each
    /// `C`.
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

    /// Takes a step other than parking. Returns whether the event was found during the step, and the effect
    /// of the step.
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
                // The next check reports why the wait must end; a change since `prepare_park` ends the sleep.
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

    /// Records that the member arrived last and does not have to wait.
    #[inline]
    pub fn came_last(&self) {
        self.account.last();
        if self.interest.waits {
            self.learn(Waited::first_look(false));
        }
    }

    /// Records that the member arrives at an episode, if the strategy is interested in episodes.
    #[inline]
    pub fn arrive(&self, clock: &impl Clock) {
        if self.interest.episodes {
            self.strategy.borrow_mut().arrive(clock.now());
            self.spins.set(self.strategy.borrow().spins());
        }
    }

    /// Records that the episode is over for this member, whether or not it had to wait.
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

/// Sleeps until the event has occurred or can no longer occur.
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
        // A park may end spuriously, so skipping one is correct, too.
        if !cpu.sometimes("wait: wakes for nothing") {
            cpu.park(on, prepared, context.deadline).await;
        }
    }
}

/// Checks once more after an error. A peer may have done its part before it exited, so the wait has failed
/// only if the event is still missing.
#[cold]
fn last_look(lost: Error, look: &mut dyn FnMut() -> bool) -> Result<(), Error> {
    if !look() {
        return Err(lost);
    }
    reached("adaptive:2");
    Ok(())
}
