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
    /// Is a region forked and not yet joined?
    open: Cell<bool>,
    /// The worker whose part it has taken and not yet done.
    in_hand: Option<Rank>,
    finished: bool,
}

impl<C: Cpu> Leader<C> {
    pub(super) fn new(end: End<C>) -> Self {
        Self { end, region: 0, open: Cell::new(false), in_hand: None, finished: false }
    }

    /// Releases the workers into the next region and returns its number: 1 at first, up to 2^21 - 1, then 0.
    /// They see all that was written before. It does not wait, not even for a worker that has yet to make its
    /// handle.
    ///
    /// # Errors
    /// [`Cause::Setting`] if the region before was not joined. A worker that has gone is an error of the
    /// join.
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

    /// Ready when all workers have done their part of the region; at once if none was forked. The leader then
    /// sees what they have written. May be dropped and called again.
    ///
    /// # Errors
    /// [`Cause::Poisoned`] or [`Cause::PeerLost`] if a worker has gone, even after its part of this region.
    #[inline]
    pub fn join(&mut self) -> impl Future<Output = Result<(), Error>> {
        self.join_until(Nanos::MAX)
    }

    /// [`Leader::join`], for `span` at most. A leader that gives up may try again.
    ///
    /// # Errors
    /// [`Cause::TimedOut`], naming a worker that has not done its part.
    pub fn join_for(&mut self, span: Nanos) -> impl Future<Output = Result<(), Error>> {
        self.join_until(self.end.cpu.now() + span)
    }

    /// [`Leader::join`], until `deadline` on the leader's clock at most.
    ///
    /// # Errors
    /// As [`Leader::join_for`].
    #[inline]
    pub fn join_until(&mut self, deadline: Nanos) -> impl Future<Output = Result<(), Error>> {
        self.join_by(deadline, &NoWork)
    }

    /// [`Leader::join`] of a region that leaves `work`, of which the leader does some meanwhile: ready when
    /// all of that is done, too.
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

    /// Waits until the open region is over, or for work to do meanwhile.
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
        // In this order: once all parts are done and no work is open, none will be.
        !self.open.get() || self.end.all_done(self.region) && !self.end.has_work()
    }

    /// Joins if that takes only a brief spin, without a look at the clock; `false` leaves everything as it
    /// was.
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

    /// Watches on its processor, for `span` at most, until every part has been begun. Returns whether that is
    /// so; nothing else has changed.
    pub async fn begun_within(&self, span: Nanos) -> bool {
        let (end, last) = (&self.end, before(self.region));
        let begun = || end.workers().all(|worker| end.load(end.team.taken(worker)) != last).then_some(());
        !self.open.get() || begun().is_some() || end.cpu.spin_for(end.team.joined(), span, begun).await.0.is_some()
    }

    /// Takes the part of a worker that has not begun it, for the leader to do; then call
    /// [`Leader::finish_stolen`]. Workers last seen on the leader's processor come first, because they wait
    /// for it; of the others the highest rank, because lower ones begin earlier. `None` if all parts are
    /// taken: those are being done. The worker will find its part taken and wait for the next region.
    ///
    /// # Errors
    /// [`Cause::Setting`] if no region is open, or the part taken before is not done.
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

    /// Records that the part that was taken is done.
    ///
    /// # Errors
    /// [`Cause::Setting`] if no part was taken.
    pub fn finish_stolen(&mut self) -> Result<(), Error> {
        let worker = self.in_hand.take().ok_or_else(|| out_of_turn("`finish_stolen`", "a part from `steal_part`"))?;
        self.end.done(worker, self.region);
        Ok(())
    }

    /// Sends a worker away: regions have no part for it any more, and it sleeps through them. `false`: it was
    /// away before.
    ///
    /// # Errors
    /// [`Cause::Rank`] if there is no such worker; [`Cause::Setting`] before the join of the region.
    pub fn dismiss(&mut self, worker: Rank) -> Result<bool, Error> {
        self.may_change(worker)?;
        // No other member changes the word between two regions, and a worker that is late finds no region in
        // it.
        let leaves = self.end.cpu.compare_exchange(self.end.team.taken(worker), self.region, AWAY).is_ok();
        if leaves {
            self.end.cpu.store(self.end.team.absent(), self.end.load(self.end.team.absent()) + 1);
        }
        Ok(leaves)
    }

    /// Calls a worker back: from the next region on it has a part again. `false`: it was not away.
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

    /// How many members have parts of regions, the leader among them.
    pub fn present(&self) -> u32 {
        self.end.parts() + 1
    }

    /// Are more members present than the leader may use processors? Not known where it must not be moved.
    pub fn is_crowded(&self) -> bool {
        self.end.cpu.affinity().is_some_and(|affinity| self.present() > affinity.width)
    }

    /// Ends the team: the workers' next wait gives `None`.
    ///
    /// # Errors
    /// [`Cause::Setting`] if the region before was not joined; then the workers get an error, too.
    pub fn finish(mut self) -> Result<(), Error> {
        if self.open.get() {
            return Err(unjoined("the end of a team"));
        }
        self.finished = true;
        let end = &self.end;
        end.cpu.store(end.team.ended(), 1);
        end.cpu.publish(end.team.epoch(), self.next());
        // The workers that sleep elsewhere wake to see it.
        end.away().for_each(|worker| end.cpu.publish(end.team.taken(worker), self.region));
        Ok(())
    }

    #[inline]
    fn next(&self) -> u32 {
        (self.region + 1) & REGIONS
    }

    /// Computes for `span` on the leader's own processor.
    pub async fn delay(&self, span: Nanos) {
        self.end.cpu.delay(span).await;
    }

    /// Another thread has this handle from now on, with the processor `cpu`.
    pub fn rebind(&mut self, cpu: C) {
        self.end.enroll(cpu);
    }

    /// Waits by another policy from its next wait on, with a new account.
    pub fn set_policy(&mut self, policy: Policy) {
        self.end.set_policy(policy);
    }

    /// The processor that it waits on.
    pub fn cpu(&self) -> &C {
        &self.end.cpu
    }

    /// The time on the leader's clock.
    pub fn now(&self) -> Nanos {
        self.end.cpu.now()
    }

    /// The outcomes of its joins; a join that found all workers done counts as last. A clone can be read
    /// while it waits.
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
