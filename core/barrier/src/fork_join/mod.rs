//! Fork and join: a leader releases its workers into a region of work, and waits until all of them have done
//! their part.
//!
//! The fork and the join are each half a barrier (master and slaves, Guignon 2000 §2): the fork waits for no
//! worker, and no worker waits at the join, so a region costs less than two barriers. The caller decides what
//! a region does.
//!
//! A region has one part for each worker. A worker takes its part before it may touch anything of the region,
//! and the leader may take the parts that no worker has taken. So a late worker delays no other member, and a
//! region is complete when all parts are done, by whichever member. Workers can also be suspended and
//! resumed. `README.md` has the states and named races.
mod end;
mod join_work;
mod leader;
mod worker;

pub use join_work::{JoinWork, NoWork};
pub use leader::Leader;
pub use worker::Worker;

use crate::membership::Membership;
use end::End;
use foregather_machine::{CachePadded, Cause, Cpu, Error, Rank, SharedLines};
use foregather_wait::{Policy, Roster};
use std::sync::Arc;

/// The leader's rank; the workers have the ranks from 1 on.
const LEADER: Rank = 0;
/// The most members.
const MOST: u32 = 1 << 24;

/// Lines before the roster: the leader's, the workers' counter, and the line of the part that was done last.
const HEAD: usize = 3;

/// Region numbers have 21 bits. In the words on which members sleep, the bits above them count rings.
const REGIONS: u32 = (1 << 21) - 1;
/// No region: a worker with this value has no part in any region until it is called back.
const AWAY: u32 = REGIONS + 1;
/// What a ring adds.
const RING: u32 = REGIONS + 1;

/// A leader and its workers. Over the words of a segment they may be processes, each with a team of its own
/// over them.
///
/// A member that is dropped before the leader has finished ends the team: those that wait for it get
/// [`Cause::Poisoned`] with its rank. After such an error workers may still be in the region: what they work
/// on must outlive them.
///
/// A clone is a handle of the same team.
pub struct ForkJoin<C: Cpu>(Arc<TeamWords<C>>);

/// The words of a team.
struct TeamWords<C: Cpu> {
    size: u32,
    /// [`HEAD`], the roster, and a line for each member.
    lines: SharedLines<C::Word>,
    /// Nonzero while work that the region's parts have left is not done.
    open_work: Arc<CachePadded<C::Word>>,
}

impl<C: Cpu> Clone for ForkJoin<C> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<C: Cpu> ForkJoin<C> {
    /// A team of `size` members, the leader among them.
    ///
    /// # Errors
    /// [`Cause::Size`] for none, or more than 2^24.
    pub fn new(size: u32) -> Result<Self, Error> {
        takes(size)?;
        Self::over(SharedLines::own(Self::lines(size)), size)
    }

    /// The number of lines that a team of `size` takes.
    pub const fn lines(size: u32) -> usize {
        HEAD + Roster::<C>::lines(size) + size as usize
    }

    /// A team in given lines, which may be in a segment of several processes: all zeros, or in use already.
    /// All processes must name the same size.
    ///
    /// # Errors
    /// [`Cause::Size`] for none, or more than 2^24; [`Cause::Setting`] if there are not [`ForkJoin::lines`]
    /// lines.
    pub fn over(lines: SharedLines<C::Word>, size: u32) -> Result<Self, Error> {
        takes(size)?;
        if lines.len() != Self::lines(size) {
            return Err(Error::from(Cause::Setting { what: "the lines of a team", needs: "as many as `ForkJoin::lines` says" }));
        }
        Ok(Self(Arc::new(TeamWords { size, lines, open_work: Arc::default() })))
    }

    /// The words on which members sleep that wait [with work](JoinWork), and what a ring adds to each.
    #[inline]
    pub fn bells(&self) -> [(&C::Word, u32); 2] {
        [(self.0.epoch(), RING), (self.0.joined(), RING)]
    }

    /// Counts, in any unit, the [work](crate::JoinWork) of the open region that is not done. It is this
    /// process's alone.
    pub fn open_work(&self) -> &Arc<CachePadded<C::Word>> {
        &self.0.open_work
    }

    /// The number of members, the leader among them.
    pub fn size(&self) -> u32 {
        self.0.size
    }

    /// The leader's handle, which waits as the load demands: by the adaptive policy, with the costs that its
    /// world knows.
    ///
    /// # Errors
    /// As [`ForkJoin::leader`].
    pub fn lead(&self, cpu: C) -> Result<Leader<C>, Error> {
        let policy = Policy::adaptive(&cpu.costs());
        self.leader(cpu, policy)
    }

    /// The leader's handle, which waits by `policy`.
    ///
    /// # Errors
    /// [`Cause::Rank`] if it was given out before.
    pub fn leader(&self, cpu: C, policy: Policy) -> Result<Leader<C>, Error> {
        Ok(Leader::new(End::new(&self.0, cpu, LEADER, policy)?))
    }

    /// The handle of the worker `rank`, from 1 on, which waits as the load demands.
    ///
    /// # Errors
    /// As [`ForkJoin::worker`].
    pub fn join(&self, cpu: C, rank: Rank) -> Result<Worker<C>, Error> {
        let policy = Policy::adaptive(&cpu.costs());
        self.worker(cpu, rank, policy)
    }

    /// The handle of the worker `rank`, from 1 on, which waits by `policy`. It may be made after the leader's
    /// first fork.
    ///
    /// # Errors
    /// [`Cause::Rank`] if there is no such worker or its handle was given out before.
    pub fn worker(&self, cpu: C, rank: Rank, policy: Policy) -> Result<Worker<C>, Error> {
        if rank == LEADER {
            return Err(Cause::Rank { rank, size: self.0.size }.into());
        }
        Ok(Worker::new(End::new(&self.0, cpu, rank, policy)?))
    }
}

impl<C: Cpu> TeamWords<C> {
    #[inline]
    fn roster(&self) -> Roster<'_, C> {
        self.first(self.size)
    }

    /// The roster of the first `count` members.
    fn first(&self, count: u32) -> Roster<'_, C> {
        Roster::new(&self.lines[HEAD..HEAD + Roster::<C>::lines(count)])
    }

    fn membership(&self) -> Membership<'_, C> {
        Membership::new(self.roster(), &self.lines[0][2])
    }

    /// The last region that the leader has forked, below a count of rings.
    #[inline]
    fn epoch(&self) -> &C::Word {
        &self.lines[0][0]
    }

    /// Nonzero once there is no further region. Written before the last change of `epoch`.
    #[inline]
    fn ended(&self) -> &C::Word {
        &self.lines[0][1]
    }

    /// How many workers have no part of the regions. It changes only between two regions.
    #[inline]
    fn absent(&self) -> &C::Word {
        &self.lines[0][3]
    }

    /// How many parts of the region are done.
    #[inline]
    fn count(&self) -> &C::Word {
        &self.lines[1][0]
    }

    /// The last region of which all parts are done, below a count of rings.
    #[inline]
    fn joined(&self) -> &C::Word {
        &self.lines[2][0]
    }

    /// The last region of which the part of `worker` was taken, or [`AWAY`]. The member that changes it from
    /// the region before to the present one has taken the part.
    #[inline]
    fn taken(&self, worker: Rank) -> &C::Word {
        &self.lines[HEAD + Roster::<C>::lines(self.size) + worker as usize][0]
    }
}

/// The number of the region before `region`.
#[inline]
fn before(region: u32) -> u32 {
    region.wrapping_sub(1) & REGIONS
}

fn takes(size: u32) -> Result<(), Error> {
    let fits = (1..=MOST).contains(&size);
    fits.then_some(()).ok_or_else(|| Cause::Size { what: "team", size, needs: "at least 1 and at most 2^24" }.into())
}
