//! A region from either side, in any world that has words: what the leader does until all parts are done, and what a follower does
//! with those that it takes. What a part is, and how it gets from one to the other, is the caller's affair.
use crate::heat::Heat;
use foregather_barrier::{TeamMaster, TeamSlave};
use foregather_machine::{Cause, Cpu, Error, Nanos, Rank};
use foregather_wait::{Adaptive, Policy};

/// How a region went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Course {
    /// How long the leader's own part took.
    pub own: Nanos,
    /// From the fork to the join.
    pub whole: Nanos,
    /// Parts of others that the leader has done.
    pub late: u32,
}

/// For how long a leader that has done its own part waits for those who have not begun theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// As long again as its own part took: then waiting has cost no more than doing such a part would have.
    AsLongAgain,
    /// Not at all: parts that were not begun have nothing left to do.
    None,
}

/// The member that opens regions and works on them itself.
pub struct Leader<'t, C: Cpu>(pub TeamMaster<'t, C>);

impl<C: Cpu> Leader<'_, C> {
    /// Opens a region, does the leader's part, which is 0, by `part`, and, by the same, those that their slaves do not begin in time.
    /// Ready when all parts are done, by whoever it was.
    ///
    /// # Errors
    /// [`Cause::Poisoned`] or [`Cause::PeerLost`] if a follower has gone; parts may still be under way then.
    #[inline]
    pub async fn region(&mut self, patience: Patience, part: impl AsyncFn(Rank)) -> Result<Course, Error> {
        let master = &mut self.0;
        let began = master.now();
        master.fork()?;
        part(0).await;
        let own = master.now() - began;
        if master.join_at_once() {
            return Ok(Course { own, whole: own, late: 0 });
        }
        self.wait_or_help(patience, began, own, part).await
    }

    #[cold]
    async fn wait_or_help(
        &mut self,
        patience: Patience,
        began: Nanos,
        own: Nanos,
        part: impl AsyncFn(Rank),
    ) -> Result<Course, Error> {
        let master = &mut self.0;
        let mut late = 0;
        let deadline = began + own * 2;
        // Short parts are over before a wait would have begun.
        let joined = match patience {
            Patience::AsLongAgain if master.now() < deadline => in_time(master.join_until(deadline).await)?,
            _ => false,
        };
        if !joined {
            while let Some(rank) = master.take_late()? {
                part(rank).await;
                master.done_late()?;
                late += 1;
            }
            master.join().await?;
        }
        Ok(Course { own, whole: master.now() - began, late })
    }
}

/// A wait that ended at its deadline is no failure.
fn in_time(end: Result<(), Error>) -> Result<bool, Error> {
    match end {
        Ok(()) => Ok(true),
        Err(error) if matches!(error.cause(), Cause::TimedOut { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// A member that waits for regions.
pub struct Follower<'t, C: Cpu> {
    slave: TeamSlave<'t, C>,
    /// Learns between which calls it is worth staying hot; nothing where the user has named a policy.
    heat: Option<(Heat, Adaptive)>,
}

impl<'t, C: Cpu> Follower<'t, C> {
    /// One that waits as `slave` does, and if that is adaptive, spins for about as long as lies between two regions.
    pub fn new(slave: TeamSlave<'t, C>, policy: Policy) -> Self {
        let heat = match policy {
            Policy::Adaptive(of) => Some((Heat::new(of.remote), of)),
            _ => None,
        };
        Self { slave, heat }
    }

    /// Does this slave's part of every region in which nobody else has taken it, until the leader has finished.
    ///
    /// # Errors
    /// [`Cause::Poisoned`] or [`Cause::PeerLost`] if the leader has gone.
    pub async fn serve(&mut self, part: impl AsyncFn(Rank)) -> Result<(), Error> {
        while self.slave.wait().await?.is_some() {
            part(self.slave.rank()).await;
            self.slave.done()?;
            // From here on nobody waits for this slave.
            if let Some((heat, of)) = &mut self.heat
                && let Some(remote) = heat.done(self.slave.now())
            {
                self.slave.wait_by(Policy::Adaptive(Adaptive { remote, ..*of }));
            }
        }
        Ok(())
    }
}
