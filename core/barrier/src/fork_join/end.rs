//! The common part of leader and worker: the words of the team, and the wait on one of them.
use super::join_work::{Found, FoundOf};
use super::{AWAY, JoinWork, LEADER, REGIONS, TeamWords};
use crate::membership::Gone;
use core::future::Future;
use foregather_machine::{Cause, Cpu, Error, Nanos, Rank, WaitContext, reached};
use foregather_wait::{Account, Outcome, Policy, Roster, Wait, WaitFor, Waited, Waiter};
use std::sync::Arc;

/// The primitive's name in errors.
const WHAT: &str = "team";

/// The state of one member.
pub(super) struct End<C: Cpu> {
    pub(super) cpu: C,
    pub(super) rank: Rank,
    pub(super) team: Arc<TeamWords<C>>,
    waiter: Waiter,
}

impl<C: Cpu> End<C> {
    pub(super) fn new(team: &Arc<TeamWords<C>>, cpu: C, rank: Rank, policy: Policy) -> Result<Self, Error> {
        team.membership().claim(&cpu, rank)?;
        team.roster().enroll(&cpu, rank);
        Ok(Self { cpu, rank, team: Arc::clone(team), waiter: Waiter::new(policy, rank) })
    }

    /// Rebinds this member to another thread, whose processor is `cpu`.
    pub(super) fn enroll(&mut self, cpu: C) {
        self.team.roster().enroll(&cpu, self.rank);
        self.cpu = cpu;
    }

    /// Sets the policy, beginning with the next wait.
    pub(super) fn set_policy(&mut self, policy: Policy) {
        self.waiter = Waiter::new(policy, self.rank);
    }

    #[inline]
    pub(super) fn roster(&self) -> Roster<'_, C> {
        self.team.roster()
    }

    /// Returns the roster that this member reads while it waits. It contains the present members, provided
    /// that those dismissed have the highest ranks, and this member. Its contents are hints.
    pub(super) fn present(&self) -> Roster<'_, C> {
        self.team.first((self.parts() + 1).max(self.rank + 1))
    }

    #[inline]
    pub(super) fn load(&self, word: &C::Word) -> u32 {
        self.cpu.load(word)
    }

    /// Returns the ranks of all workers.
    #[inline]
    pub(super) fn workers(&self) -> impl DoubleEndedIterator<Item = Rank> + use<C> {
        LEADER + 1..self.team.size
    }

    /// Returns the number of parts of a region, not counting the leader's.
    #[inline]
    pub(super) fn parts(&self) -> u32 {
        self.team.size - 1 - self.load(self.team.absent())
    }

    /// Records that the part of `worker` is done. The last part releases the leader.
    #[inline]
    pub(super) fn done(&self, worker: Rank, region: u32) {
        let team = &*self.team;
        self.cpu.store(team.roster().arrived(worker), region);
        // Read before the addition, after which the region may be over.
        let last = self.parts() - 1;
        if self.cpu.fetch_add(team.count(), 1) == last {
            // The order matters: the leader may fork the next region before this worker continues.
            self.cpu.store(team.count(), 0);
            self.cpu.publish(team.joined(), region);
        }
    }

    pub(super) fn account(&self) -> &Arc<Account> {
        self.waiter.account()
    }

    pub(super) fn context(&self, deadline: Nanos) -> WaitContext {
        WaitContext::new(WHAT, self.rank).until(deadline)
    }

    /// Publishes where this member runs.
    #[inline]
    pub(super) fn publish_cpu(&self) {
        self.waiter.publish_cpu(&self.cpu, self.roster(), self.rank);
    }

    /// Returns the last region that the leader has forked.
    #[inline]
    pub(super) fn epoch(&self) -> u32 {
        self.load(self.team.epoch()) & REGIONS
    }

    /// Returns whether all parts of the region are done.
    #[inline]
    pub(super) fn all_done(&self, region: u32) -> bool {
        self.parts() == 0 || self.load(self.team.joined()) & REGIONS == region
    }

    /// Takes work of `region`, whose part this member has done. Returns `Found::Nothing` if the patience has
    /// changed, because there is work that this member may take only after it has slept.
    #[inline]
    pub(super) fn look_for_work<E, W: JoinWork<C>>(&self, work: &W, region: u32, patience: Nanos) -> Option<FoundOf<C, W, E>> {
        if !self.has_work() {
            return None;
        }
        let has_changed = || patience == Nanos::MAX && work.patience() < Nanos::MAX;
        self.find(work, region, true).map(Found::Work).or_else(|| has_changed().then_some(Found::Nothing))
    }

    /// Returns whether the region has queued work that is not done.
    #[inline]
    pub(super) fn has_work(&self) -> bool {
        self.load(&self.team.open_work.0) != 0
    }

    /// Runs a piece of work of `region`, and more as long as it finds any at once.
    pub(super) async fn work_on<W: JoinWork<C>>(&self, work: &W, region: u32, item: W::Item) {
        let next = || if self.has_work() { self.find(work, region, true) } else { None };
        work.run(&self.cpu, self.rank, item, next).await;
    }

    #[inline]
    fn find<W: JoinWork<C>>(&self, work: &W, region: u32, is_patient: bool) -> Option<W::Item> {
        let item = work.find(&self.cpu, self.rank, is_patient)?;
        // Work of this region keeps the region open. Work of a later region appears only after its fork.
        if self.epoch() == region {
            return Some(item);
        }
        reached("barrier:T11");
        work.put_back(&self.cpu, self.rank, item);
        None
    }

    /// Returns until when a member that has done its part of `region` may sleep. While the region may be
    /// open, the member must look again for work that no ring announces.
    pub(super) fn until(&self, deadline: Nanos, patience: Nanos, region: u32) -> Nanos {
        let leader_has_come = || self.load(self.roster().arrived(LEADER)) == region;
        let is_over = || leader_has_come() && self.all_done(region) && !self.has_work();
        if patience == Nanos::MAX || is_over() { deadline } else { deadline.min(self.cpu.now() + patience) }
    }

    /// Handles an error of a wait. If only the patience is over, it takes any work; otherwise it returns the
    /// error.
    #[cold]
    pub(super) fn on_timeout<E, W: JoinWork<C>>(
        &self,
        error: Error,
        deadline: Nanos,
        region: u32,
        work: &W,
    ) -> Result<FoundOf<C, W, E>, Error> {
        let is_over = matches!(error.cause(), Cause::TimedOut { .. }) && self.cpu.now() < deadline;
        if !is_over {
            return Err(self.fails(error));
        }
        Ok(self.find(work, region, false).map_or(Found::Nothing, Found::Work))
    }

    /// Waits on a word. The first check happens in the call; only the rest of the wait is a future. Dropping
    /// the future changes nothing. The caller passes an error to [`End::fails`], unless it continues the
    /// wait.
    #[inline]
    pub(super) fn wait<'a, T: 'a>(
        &'a self,
        on: &'a C::Word,
        timed: bool,
        why: impl FnOnce() -> (WaitContext, WaitFor<'a, C>) + 'a,
        probe: impl Fn() -> Option<T> + 'a,
    ) -> Wait<T, impl Future<Output = Result<T, Error>>> {
        self.waiter.arrive(&self.cpu);
        self.publish_cpu();
        match self.waiter.wait_part(&self.cpu, on, timed, why, probe) {
            Wait::Now((found, waited)) => {
                self.met(waited);
                Wait::Now(found)
            }
            Wait::Slow(rest) => Wait::Slow(async move {
                let (found, waited) = rest.await?;
                self.met(waited);
                Ok(found)
            }),
        }
    }

    #[inline]
    fn met(&self, waited: Waited) {
        // A leader that finds all parts done arrived last and has not waited.
        if self.rank == LEADER && waited.outcome == Outcome::FirstLook {
            self.account().last();
        } else {
            self.account().waited(waited);
        }
        self.waiter.leave(&self.cpu);
    }

    /// Records how `rank` left, and poisons the words on which members wait for it.
    #[cold]
    pub(super) fn poison(&self, rank: Rank, gone: Gone) {
        reached("barrier:T4");
        self.team.membership().blame(&self.cpu, rank, gone);
        if rank != LEADER {
            return self.cpu.poison(self.team.joined());
        }
        self.cpu.poison(self.team.epoch());
        self.away().for_each(|worker| self.cpu.poison(self.team.taken(worker)));
    }

    /// Returns the dismissed workers.
    pub(super) fn away(&self) -> impl Iterator<Item = Rank> {
        self.workers().filter(|&worker| self.load(self.team.taken(worker)) == AWAY)
    }

    /// Counts the wait as failed, and adds the culprit or the missing worker to the error.
    #[cold]
    pub(super) fn fails(&self, error: Error) -> Error {
        self.account().failed();
        let poison = |lost| self.poison(lost, Gone::Lost);
        self.team.membership().explain(&self.cpu, WHAT, error, || self.missing(), poison)
    }

    /// Returns the lowest worker that has not done its part of the region that the leader is joining.
    fn missing(&self) -> Option<Rank> {
        let (team, roster) = (&*self.team, self.roster());
        let region = self.load(roster.arrived(self.rank));
        let behind = |&worker: &Rank| self.load(roster.arrived(worker)) != region && self.load(team.taken(worker)) != AWAY;
        self.workers().find(behind)
    }
}

#[cold]
pub(super) fn out_of_turn(what: &'static str, needs: &'static str) -> Error {
    Cause::Setting { what, needs }.into()
}
