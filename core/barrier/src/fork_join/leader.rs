//! The member that forks and joins.
use super::end::{End, out_of_turn};
use super::join_work::{Found, FoundOf, next_patience};
use super::{AWAY, JoinWork, LEADER, NoWork, REGIONS, before};
use crate::membership::Gone;
use core::cell::Cell;
use core::future::Future;
use foregather_machine::{Cause, Cpu, Error, Nanos, Rank, reached};
use foregather_wait::{Account, Policy, Wait, WaitFor};
use std::sync::Arc;

/// The leader's handle. Dropping it without [`Leader::finish`] ends its workers with an error.
pub struct Leader<C: Cpu> {
    end: End<C>,
    region: u32,
    /// Whether a region is forked and not yet joined.
    open: Cell<bool>,
    /// The worker whose part the leader has taken and not yet finished.
    in_hand: Option<Rank>,
    finished: bool,
}

impl<C: Cpu> Leader<C> {
    pub(super) fn new(end: End<C>) -> Self {
        Self { end, region: 0, open: Cell::new(false), in_hand: None, finished: false }
    }

    /// Releases the workers into the next region and returns its number, which starts at 1 and wraps from
    /// 2^21 - 1 to 0. The workers see everything that the leader wrote before. The call does not wait, not
    /// even for a worker whose handle does not exist yet.
    ///
    /// # Errors
    /// [`Cause::Setting`] if the previous region was not joined. If a worker has left, the join reports it,
    /// not the fork.
    #[inline]
    pub fn fork(&mut self) -> Result<u32, Error> {
        if self.open.get() {
            return Err(unjoined("a second fork"));
        }
        self.region = self.next();
        self.open.set(true);
        self.end.publish_cpu();
        self.end.cpu.publish(self.end.team.epoch(), self.region);
        Ok(self.region)
    }

    /// Waits until all workers have done their part of the region; returns at once if none was forked. The
    /// leader then sees everything that they wrote. The future may be dropped and the call repeated.
    ///
    /// # Errors
    /// [`Cause::Poisoned`] or [`Cause::PeerLost`] if a worker has left or was lost, even after its part of
    /// this region.
    #[inline]
    pub fn join(&mut self) -> impl Future<Output = Result<(), Error>> {
        self.join_until(Nanos::MAX)
    }

    /// Waits like [`Leader::join`], for at most `span`. After a timeout, the leader may try again.
    ///
    /// # Errors
    /// [`Cause::TimedOut`], which names a worker that has not done its part.
    pub fn join_for(&mut self, span: Nanos) -> impl Future<Output = Result<(), Error>> {
        self.join_until(self.end.cpu.now() + span)
    }

    /// Waits like [`Leader::join`], at most until `deadline` on the leader's clock.
    ///
    /// # Errors
    /// As [`Leader::join_for`].
    #[inline]
    pub fn join_until(&mut self, deadline: Nanos) -> impl Future<Output = Result<(), Error>> {
        self.join_by(deadline, &NoWork)
    }

    /// Waits like [`Leader::join`] for a region with `work`, and until all work is done, too. The leader does
    /// some of the work while it waits.
    ///
    /// # Errors
    /// As [`Leader::join`].
    #[inline]
    pub fn join_with<'a, W: JoinWork<C>>(&'a mut self, work: &'a W) -> impl Future<Output = Result<(), Error>> + 'a {
        self.join_by(Nanos::MAX, work)
    }

    #[inline]
    fn join_by<'a, W: JoinWork<C>>(&'a mut self, deadline: Nanos, work: &'a W) -> impl Future<Output = Result<(), Error>> + 'a {
        let this = &*self;
        let look = move |patience| match this.wait_for_all(deadline, patience, this.end.account().sample(), work) {
            Wait::Now(found) => Ok(found),
            Wait::Slow(rest) => Err(this.end.cpu.run_inline(rest)),
        };
        let met = this.in_hand.is_none().then(|| look(work.patience()));
        async move {
            let Some(mut met) = met else {
                return Err(out_of_turn("a join", "`finish_stolen` for the part that was taken"));
            };
            let mut patience = work.patience();
            loop {
                let found = match met {
                    Ok(found) => found,
                    Err(rest) => match rest.await {
                        Ok(found) => found,
                        Err(error) => this.end.on_timeout(error, deadline, this.region, work)?,
                    },
                };
                match found {
                    Found::Event(()) => break,
                    Found::Work(item) => this.end.work_on(work, this.region, item).await,
                    Found::Nothing => patience = next_patience(patience, work),
                }
                met = look(patience);
            }
            this.open.set(false);
            Ok(())
        }
    }

    /// Waits until the open region is over or there is work to do.
    #[inline]
    #[allow(clippy::type_complexity)]
    fn wait_for_all<'a, W: JoinWork<C>>(
        &'a self,
        deadline: Nanos,
        patience: Nanos,
        timed: bool,
        work: &'a W,
    ) -> Wait<FoundOf<C, W, ()>, impl Future<Output = Result<FoundOf<C, W, ()>, Error>>> {
        let (end, region) = (&self.end, self.region);
        end.cpu.store(end.roster().arrived(LEADER), region);
        let look = move || {
            if self.is_over() { Some(Found::Event(())) } else { end.look_for_work(work, region, patience) }
        };
        let why = move || (end.context(end.until(deadline, patience, region)), WaitFor::All(end.present()));
        end.wait(end.team.joined(), timed, why, look)
    }

    #[inline]
    fn is_over(&self) -> bool {
        // The order matters: once all parts are done and no work is open, no more work appears.
        !self.open.get() || self.end.all_done(self.region) && !self.end.has_work()
    }

    /// Joins if that takes no more than a brief spin; it does not read the clock. Returns false, with nothing
    /// changed, if the region is not over.
    #[inline]
    pub fn join_at_once(&mut self) -> bool {
        let is_over = |end: &End<C>| {
            let why = || (end.context(Nanos::MAX), WaitFor::All(end.present()));
            end.cpu.store(end.roster().arrived(LEADER), self.region);
            matches!(end.wait(end.team.joined(), false, why, || self.is_over().then_some(())), Wait::Now(()))
        };
        let joined = !self.open.get() || self.in_hand.is_none() && is_over(&self.end);
        if joined {
            self.open.set(false);
        }
        joined
    }

    /// Spins for at most `span` until every part has been taken. Returns whether all parts have been taken;
    /// changes nothing.
    pub async fn begun_within(&self, span: Nanos) -> bool {
        let (end, last) = (&self.end, before(self.region));
        let begun = || end.workers().all(|worker| end.load(end.team.taken(worker)) != last).then_some(());
        !self.open.get() || begun().is_some() || end.cpu.spin_for(end.team.joined(), span, begun).await.0.is_some()
    }

    /// Takes the part of a worker that has not begun it. The leader must do the part and then call
    /// [`Leader::finish_stolen`]. Workers last seen on the leader's processor are chosen first, because they
    /// wait for that processor; of the others, the highest rank, because lower ranks begin earlier. Returns
    /// the worker's rank, or `None` if all parts are taken. A worker whose part was taken waits for the next
    /// region.
    ///
    /// # Errors
    /// [`Cause::Setting`] if no region is open, or if the part taken before is not finished.
    pub fn steal_part(&mut self) -> Result<Option<Rank>, Error> {
        if !self.open.get() || self.in_hand.is_some() {
            return Err(out_of_turn("`steal_part`", "an open region, and `finish_stolen` for the part taken before"));
        }
        let (end, region) = (&self.end, self.region);
        let takes = |&worker: &Rank| {
            let taken = end.team.taken(worker);
            let is_free = end.load(taken) == before(region);
            let takes = is_free && end.cpu.compare_exchange(taken, before(region), region).is_ok();
            if is_free && !takes {
                reached("barrier:T10");
            }
            takes
        };
        let here = end.cpu.place();
        let is_here = |&worker: &Rank| here.is_some() && end.roster().cpu_of(&end.cpu, worker) == here;
        self.in_hand = end.workers().filter(is_here).find(takes).or_else(|| end.workers().rev().find(takes));
        Ok(self.in_hand)
    }

    /// Records that the part taken with [`Leader::steal_part`] is done.
    ///
    /// # Errors
    /// [`Cause::Setting`] if no part was taken.
    pub fn finish_stolen(&mut self) -> Result<(), Error> {
        let worker = self.in_hand.take().ok_or_else(|| out_of_turn("`finish_stolen`", "a part from `steal_part`"))?;
        self.end.done(worker, self.region);
        Ok(())
    }

    /// Dismisses a worker: further regions have no part for it, and it sleeps until it is recalled. Returns
    /// false if it was already dismissed.
    ///
    /// # Errors
    /// [`Cause::Rank`] if there is no such worker; [`Cause::Setting`] while a region is open.
    pub fn dismiss(&mut self, worker: Rank) -> Result<bool, Error> {
        self.may_change(worker)?;
        // No other member changes the word between two regions, and a late worker finds `AWAY` in it.
        let leaves = self.end.cpu.compare_exchange(self.end.team.taken(worker), self.region, AWAY).is_ok();
        if leaves {
            self.end.cpu.store(self.end.team.absent(), self.end.load(self.end.team.absent()) + 1);
        }
        Ok(leaves)
    }

    /// Recalls a dismissed worker, which has a part again from the next region on. Returns false if it was
    /// not dismissed.
    ///
    /// # Errors
    /// As [`Leader::dismiss`].
    pub fn recall(&mut self, worker: Rank) -> Result<bool, Error> {
        self.may_change(worker)?;
        let returns = self.end.cpu.compare_exchange(self.end.team.taken(worker), AWAY, self.region).is_ok();
        if returns {
            self.end.cpu.store(self.end.team.absent(), self.end.load(self.end.team.absent()) - 1);
        }
        Ok(returns)
    }

    fn may_change(&self, worker: Rank) -> Result<(), Error> {
        if worker == LEADER || worker >= self.end.team.size {
            return Err(Cause::Rank { rank: worker, size: self.end.team.size }.into());
        }
        if self.open.get() { Err(unjoined("a change of the team")) } else { Ok(()) }
    }

    /// Returns the number of members that take part in regions, including the leader.
    pub fn present(&self) -> u32 {
        self.end.parts() + 1
    }

    /// Returns whether more members are present than the leader may use processors. Returns false if the
    /// leader's affinity is not known.
    pub fn is_crowded(&self) -> bool {
        self.end.cpu.affinity().is_some_and(|affinity| self.present() > affinity.width)
    }

    /// Ends the team: the next wait of each worker returns `None`.
    ///
    /// # Errors
    /// [`Cause::Setting`] if the last region was not joined. The workers then also get an error.
    pub fn finish(mut self) -> Result<(), Error> {
        if self.open.get() {
            return Err(unjoined("the end of a team"));
        }
        self.finished = true;
        let end = &self.end;
        end.cpu.store(end.team.ended(), 1);
        end.cpu.publish(end.team.epoch(), self.next());
        // Dismissed workers sleep on another word and are woken, too.
        end.away().for_each(|worker| end.cpu.publish(end.team.taken(worker), self.region));
        Ok(())
    }

    #[inline]
    fn next(&self) -> u32 {
        (self.region + 1) & REGIONS
    }

    /// Computes for `span` on the leader's processor.
    pub async fn delay(&self, span: Nanos) {
        self.end.cpu.delay(span).await;
    }

    /// Rebinds this handle to another thread, whose processor is `cpu`.
    pub fn rebind(&mut self, cpu: C) {
        self.end.enroll(cpu);
    }

    /// Sets the policy, beginning with the next wait, and starts a new account.
    pub fn set_policy(&mut self, policy: Policy) {
        self.end.set_policy(policy);
    }

    /// Returns the processor on which the leader waits.
    pub fn cpu(&self) -> &C {
        &self.end.cpu
    }

    /// Returns the time on the leader's clock.
    pub fn now(&self) -> Nanos {
        self.end.cpu.now()
    }

    /// Returns the outcomes of the leader's joins. A join that finds all workers done counts as a last
    /// arrival. A clone can be read while the leader waits.
    pub fn account(&self) -> &Arc<Account> {
        self.end.account()
    }
}

#[cold]
fn unjoined(what: &'static str) -> Error {
    out_of_turn(what, "the join of the region before")
}

impl<C: Cpu> Drop for Leader<C> {
    fn drop(&mut self) {
        if !self.finished {
            if self.open.get() {
                reached("barrier:T5");
            }
            self.end.poison(LEADER, Gone::Left);
        }
    }
}
