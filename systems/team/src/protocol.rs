//! The protocol of a region, in any world that has words: the leader's side until all parts are done, and the
//! worker's side for the parts that it takes. The caller decides what a part is and how it is passed on.
use crate::idle_spin::IdleSpin;
use crate::migration::Migration;
use foregather_barrier::{JoinWork, Leader, NoWork, Worker};
use foregather_machine::{Cause, Cpu, Error, Nanos, Rank};
use foregather_wait::{Adaptive, Policy};

/// The timing of a region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Course {
    /// How long the leader's own part took.
    pub own: Nanos,
    /// The time from the fork to the join.
    pub whole: Nanos,
    /// How many parts of other members the leader ran.
    pub late: u32,
}

/// How long a leader that has finished its own part waits for members that have not started theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum HelpPolicy {
    /// For as long again as its own part took, so that waiting costs at most as much as running such a part.
    AfterOwnTime,
    /// Do not wait: parts that have not started have nothing left to do.
    AtOnce,
    /// Never help: each part must run on its own member, because parts may contain a barrier.
    Never,
}

/// A running member starts its part within this time.
const READY: Nanos = Nanos::from_us(1);

/// The member that opens regions and works on them itself.
pub struct TeamLeader<C: Cpu> {
    /// The leader's handle.
    pub handle: Leader<C>,
    /// How long a wake-up takes; longer waits are left to the policy.
    wake: Nanos,
    /// Whether a member was late in the last region, and may still be.
    late: bool,
}

impl<C: Cpu> TeamLeader<C> {
    /// Creates a leader with that handle, for wake-ups that take `wake`.
    pub fn new(handle: Leader<C>, wake: Nanos) -> Self {
        Self { handle, wake, late: false }
    }

    /// Opens a region and calls `part` for part 0, the leader's own, and for the parts that workers do not
    /// start in time. Completes when all parts are done.
    ///
    /// # Errors
    /// [`Cause::Poisoned`] or [`Cause::PeerLost`] if a worker is gone; parts may then still be running.
    #[inline]
    pub async fn region(&mut self, help_after: HelpPolicy, part: impl AsyncFn(Rank)) -> Result<Course, Error> {
        self.region_with(help_after, part, &NoWork).await
    }

    /// Runs a region like [`TeamLeader::region`], with parts that may leave `work` behind, which only
    /// [`HelpPolicy::Never`] allows. Completes when that work is done as well.
    ///
    /// # Errors
    /// As for [`TeamLeader::region`].
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

    /// Waits for a limited time for members that have not started, and without a limit for all others.
    /// Returns whether all parts are done.
    async fn in_time(&mut self, began: Nanos, own: Nanos) -> Result<bool, Error> {
        // Members that have not begun have no processor, and a waiting leader would keep one from them.
        if self.handle.is_crowded() {
            return Ok(false);
        }
        // A late member that is running again starts at once.
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
            // A wait that reached its deadline is not a failure.
            Err(error) if matches!(error.cause(), Cause::TimedOut { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// A member that waits for regions.
pub struct TeamWorker<C: Cpu> {
    handle: Worker<C>,
    /// Learns how long to spin between calls, and when to change the processor; `None` if the user has chosen
    /// a policy.
    learned: Option<(IdleSpin, Migration, Adaptive)>,
}

impl<C: Cpu> TeamWorker<C> {
    /// Creates a worker that waits with `policy`. If that is adaptive, it spins for about the gap between two
    /// regions.
    pub fn new(handle: Worker<C>, policy: Policy) -> Self {
        let learned = match policy {
            Policy::Adaptive(of) => Some((IdleSpin::new(of.remote), Migration::new(of.remote), of)),
            _ => None,
        };
        Self { handle, learned }
    }

    /// Runs this worker's part of every region, unless the leader has taken it, until the leader has
    /// finished.
    ///
    /// # Errors
    /// [`Cause::Poisoned`] or [`Cause::PeerLost`] if the leader is gone.
    pub async fn serve(&mut self, part: impl AsyncFn(Rank)) -> Result<(), Error> {
        self.serve_with(part, &NoWork).await
    }

    /// Serves like [`TeamWorker::serve`], with parts that may leave `work` behind.
    ///
    /// # Errors
    /// As for [`TeamWorker::serve`].
    pub async fn serve_with(&mut self, part: impl AsyncFn(Rank), work: &impl JoinWork<C>) -> Result<(), Error> {
        let mut kept_off = false;
        loop {
            let waited = self.handle.wait_with(work).await;
            // Restore the thread's affinity mask, however the wait ended.
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

    /// Returns whether it blocks between regions.
    fn sleeps(&self) -> bool {
        self.learned.as_ref().is_some_and(|(idle_spin, ..)| idle_spin.sleeps())
    }

    /// Records that the part that began at `began` is done (`None` if the worker had not blocked), and sets
    /// how long to spin. Returns whether to exclude the leader's processor.
    fn prepare(&mut self, began: Option<Nanos>) -> bool {
        let Some((idle_spin, migration, of)) = &mut self.learned else { return false };
        let now = self.handle.now();
        if let Some(remote) = idle_spin.done(now) {
            self.handle.set_policy(Policy::Adaptive(Adaptive { remote, ..*of }));
        }
        idle_spin.sleeps() && began.is_some_and(|began| migration.is_long(now - began)) && self.handle.keep_off_leader()
    }

    /// Runs its part, on another processor if that is worthwhile.
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
