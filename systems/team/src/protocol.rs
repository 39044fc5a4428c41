//! A region from either side, in any world that has words: what the leader does until all parts are done, and
//! what a worker does with the parts that it takes. The caller decides what a part is and how it gets from
//! one to the other.
use crate::idle_spin::IdleSpin;
use crate::migration::Migration;
use foregather_barrier::{JoinWork, Leader, NoWork, Worker};
use foregather_machine::{Cause, Cpu, Error, Nanos, Rank};
use foregather_wait::{Adaptive, Policy};

/// How a region went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Course {
    /// How long the leader's own part took.
    pub own: Nanos,
    /// The time from the fork to the join.
    pub whole: Nanos,
    /// Parts of other members that the leader did.
    pub late: u32,
}

/// How long a leader that has done its own part waits for members that have not begun theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum HelpPolicy {
    /// As long again as its own part took: then waiting has cost no more than doing such a part would have.
    AfterOwnTime,
    /// Do not wait: parts that were not begun have nothing left to do.
    AtOnce,
    /// Never help: each part is done by its own member, which may meet the others within it.
    Never,
}

/// A member that is on its processor begins within this.
const READY: Nanos = Nanos::from_us(1);

/// The member that opens regions and works on them itself.
pub struct TeamLeader<C: Cpu> {
    /// The leader's handle.
    pub handle: Leader<C>,
    /// How long a wake-up takes; the policy does longer waits.
    wake: Nanos,
    /// Whether a member was late in the last region, and may be away still.
    late: bool,
}

impl<C: Cpu> TeamLeader<C> {
    /// A leader with that handle, where a wake-up takes `wake`.
    pub fn new(handle: Leader<C>, wake: Nanos) -> Self {
        Self { handle, wake, late: false }
    }

    /// Opens a region and does part 0, the leader's own, by `part`; does the parts that their workers do not
    /// begin in time by `part`, too. Ready when all parts are done.
    ///
    /// # Errors
    /// [`Cause::Poisoned`] or [`Cause::PeerLost`] if a worker has gone; parts may still be under way then.
    #[inline]
    pub async fn region(&mut self, help_after: HelpPolicy, part: impl AsyncFn(Rank)) -> Result<Course, Error> {
        self.region_with(help_after, part, &NoWork).await
    }

    /// [`TeamLeader::region`] of parts that may leave `work`, which only a leader that helps no other member
    /// may do. Ready when all of that is done, too.
    ///
    /// # Errors
    /// As [`TeamLeader::region`].
    #[inline]
    pub async fn region_with(
        &mut self,
        help_after: HelpPolicy,
        part: impl AsyncFn(Rank),
        work: &impl JoinWork<C>,
    ) -> Result<Course, Error> {
        let leader = &mut self.handle;
        let began = leader.now();
        leader.fork()?;
        part(0).await;
        let own = leader.now() - began;
        if leader.join_at_once() {
            self.late = false;
            return Ok(Course { own, whole: own, late: 0 });
        }
        self.wait_or_help(help_after, began, own, part, work).await
    }

    #[cold]
    async fn wait_or_help(
        &mut self,
        help_after: HelpPolicy,
        began: Nanos,
        own: Nanos,
        part: impl AsyncFn(Rank),
        work: &impl JoinWork<C>,
    ) -> Result<Course, Error> {
        let joined = help_after == HelpPolicy::AfterOwnTime && self.in_time(began, own).await?;
        let (leader, mut late) = (&mut self.handle, 0);
        if help_after == HelpPolicy::Never {
            leader.join_with(work).await?;
        } else if !joined {
            while let Some(rank) = leader.steal_part()? {
                part(rank).await;
                leader.finish_stolen()?;
                late += 1;
            }
            leader.join().await?;
        }
        self.late = late > 0;
        Ok(Course { own, whole: self.handle.now() - began, late })
    }

    /// Waits in time for members that have not begun, and without a bound for all others. Returns whether all
    /// is done.
    async fn in_time(&mut self, began: Nanos, own: Nanos) -> Result<bool, Error> {
        // Members that have not begun have no processor, and a waiting leader would keep one from them.
        if self.handle.is_crowded() {
            return Ok(false);
        }
        // A late member that is back begins at once.
        let watch = if self.late { READY } else { own.min(self.wake).max(READY) };
        let leader = &mut self.handle;
        if leader.begun_within(watch).await {
            leader.join().await?;
            return Ok(true);
        }
        let deadline = began + own * 2;
        if self.late || leader.now() >= deadline {
            return Ok(false);
        }
        match leader.join_until(deadline).await {
            Ok(()) => Ok(true),
            // A wait that ended at its deadline is no failure.
            Err(error) if matches!(error.cause(), Cause::TimedOut { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// A member that waits for regions.
pub struct TeamWorker<C: Cpu> {
    handle: Worker<C>,
    /// Learns between which calls it is worth staying hot, and when to change its processor; `None` where the
    /// user has named a policy.
    learned: Option<(IdleSpin, Migration, Adaptive)>,
}

impl<C: Cpu> TeamWorker<C> {
    /// A worker that waits by `policy`, and if that is adaptive, spins for about as long as lies between two
    /// regions.
    pub fn new(handle: Worker<C>, policy: Policy) -> Self {
        let learned = match policy {
            Policy::Adaptive(of) => Some((IdleSpin::new(of.remote), Migration::new(of.remote), of)),
            _ => None,
        };
        Self { handle, learned }
    }

    /// Does this worker's part of every region in which the leader has not taken it, until the leader has
    /// finished.
    ///
    /// # Errors
    /// [`Cause::Poisoned`] or [`Cause::PeerLost`] if the leader has gone.
    pub async fn serve(&mut self, part: impl AsyncFn(Rank)) -> Result<(), Error> {
        self.serve_with(part, &NoWork).await
    }

    /// [`TeamWorker::serve`] in regions of parts that may leave `work`.
    ///
    /// # Errors
    /// As [`TeamWorker::serve`].
    pub async fn serve_with(&mut self, part: impl AsyncFn(Rank), work: &impl JoinWork<C>) -> Result<(), Error> {
        let mut kept_off = false;
        loop {
            let waited = self.handle.wait_with(work).await;
            // The thread gets its mask back however the wait ended.
            if kept_off {
                self.handle.free();
            }
            if waited?.is_none() {
                return Ok(());
            }
            let began = self.sleeps().then(|| self.handle.now());
            if self.handle.is_with_leader() {
                self.make_room(&part).await;
            } else {
                part(self.handle.rank()).await;
            }
            self.handle.done()?;
            // From here on the leader does not wait for this worker.
            kept_off = self.prepare(began);
        }
    }

    /// Whether it sleeps between regions.
    fn sleeps(&self) -> bool {
        self.learned.as_ref().is_some_and(|(idle_spin, ..)| idle_spin.sleeps())
    }

    /// Learns that the part that began at `began` is done; `None` if the worker had not slept. Sets how long
    /// to stay hot; returns whether to keep off the leader's processor.
    fn prepare(&mut self, began: Option<Nanos>) -> bool {
        let Some((idle_spin, migration, of)) = &mut self.learned else { return false };
        let now = self.handle.now();
        if let Some(remote) = idle_spin.done(now) {
            self.handle.set_policy(Policy::Adaptive(Adaptive { remote, ..*of }));
        }
        idle_spin.sleeps() && began.is_some_and(|began| migration.is_long(now - began)) && self.handle.keep_off_leader()
    }

    /// Does its part, elsewhere if that is worth it.
    #[cold]
    async fn make_room(&mut self, part: &impl AsyncFn(Rank)) {
        let began = self.handle.now();
        let tries = self.learned.as_ref().is_some_and(|(_, migration, _)| migration.is_worth_it(began));
        let left = tries && self.handle.leave_leader().await;
        part(self.handle.rank()).await;
        if let Some((_, migration, _)) = &mut self.learned {
            let now = self.handle.now();
            migration.learn(now, now - began, left);
        }
    }
}
