//! Fork and join: a leader releases its workers into a parallel region and waits until all of them have done
//! their part.
//!
//! The fork and the join are each half a barrier (master and slaves, Guignon 2000 §2). The fork waits for no
//! worker, and no worker waits at the join, so a region costs less than two barriers. The caller defines the
//! work of a region.
//!
//! A region has one part for each worker. A worker must take its part before it accesses any data of the
//! region, and the leader may take parts that no worker has taken. So a late worker delays no other member,
//! and a region is complete when all parts are done, no matter by which member. Workers can also be suspended
//! and resumed. `README.md` describes the states and the named races.
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

/// The leader's rank. The ranks of the workers begin at 1.
const LEADER: Rank = 0;
/// The maximum number of members.
const MOST: u32 = 1 << 24;

/// The number of lines before the roster: the leader's line, the workers' counter, and the line with the last
/// joined region.
const HEAD: usize = 3;

/// Region numbers have 21 bits. In the words on which members sleep, the bits above them count rings.
const REGIONS: u32 = (1 << 21) - 1;
/// Stands for no region: a worker with this value has no part in any region until it is recalled.
const AWAY: u32 = REGIONS + 1;
/// The number that a ring adds.
const RING: u32 = REGIONS + 1;

/// A leader and its workers. They may be processes if the words are in a shared-memory segment; each process
/// then creates its own `ForkJoin` over the same words.
///
/// If a member is dropped before the leader has finished, the team ends: members that wait for it get
/// [`Cause::Poisoned`] with its rank. After such an error, workers may still be running the region, so its
/// data must outlive them.
///
/// A clone is another handle of the same team.
pub struct ForkJoin<C: Cpu>(Arc<TeamWords<C>>);

/// The words of a team.
struct TeamWords<C: Cpu> {
    size: u32,
    /// [`HEAD`] lines, the roster, and one line for each member.
    lines: SharedLines<C::Word>,
    /// Nonzero while work that parts of the region have queued is not done.
    open_work: Arc<CachePadded<C::Word>>,
}

impl<C: Cpu> Clone for ForkJoin<C> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<C: Cpu> ForkJoin<C> {
    /// Creates a team of `size` members, including the leader.
    ///
    /// # Errors
    /// [`Cause::Size`] for a size of 0 or above 2^24.
    pub fn new(size: u32) -> Result<Self, Error> {
        takes(size)?;
        Self::over(SharedLines::own(Self::lines(size)), size)
    }

    /// Returns the number of lines that a team of `size` members needs.
    pub const fn lines(size: u32) -> usize {
        HEAD + Roster::<C>::lines(size) + size as usize
    }

    /// Creates a team over existing lines, which may be in a shared-memory segment. They must be all zeros or
    /// already in use by the same team. All processes must pass the same size.
    ///
    /// # Errors
    /// [`Cause::Size`] for a size of 0 or above 2^24; [`Cause::Setting`] if the number of lines is not
    /// [`ForkJoin::lines`].
    pub fn over(lines: SharedLines<C::Word>, size: u32) -> Result<Self, Error> {
        takes(size)?;
        if lines.len() != Self::lines(size) {
            return Err(Error::from(Cause::Setting { what: "the lines of a team", needs: "as many as `ForkJoin::lines` says" }));
        }
        Ok(Self(Arc::new(TeamWords { size, lines, open_work: Arc::default() })))
    }

    /// Returns the words on which members sleep while they wait [with work](JoinWork), and the number that a
    /// ring adds to each.
    #[inline]
    pub fn bells(&self) -> [(&C::Word, u32); 2] {
        [(self.0.epoch(), RING), (self.0.joined(), RING)]
    }

    /// Returns the word that counts, in any unit, the [work](crate::JoinWork) of the open region that is not
    /// done. It is private to this process.
    pub fn open_work(&self) -> &Arc<CachePadded<C::Word>> {
        &self.0.open_work
    }

    /// Returns the number of members, including the leader.
    pub fn size(&self) -> u32 {
        self.0.size
    }

    /// Returns the leader's handle, which waits with the adaptive policy and the costs that its world
    /// reports.
    ///
    /// # Errors
    /// As [`ForkJoin::leader`].
    pub fn lead(&self, cpu: C) -> Result<Leader<C>, Error> {
        let policy = Policy::adaptive(&cpu.costs());
        self.leader(cpu, policy)
    }

    /// Returns the leader's handle, which waits with `policy`.
    ///
    /// # Errors
    /// [`Cause::Rank`] if it was already created.
    pub fn leader(&self, cpu: C, policy: Policy) -> Result<Leader<C>, Error> {
        Ok(Leader::new(End::new(&self.0, cpu, LEADER, policy)?))
    }

    /// Returns the handle of worker `rank` (1 or higher), which waits with the adaptive policy.
    ///
    /// # Errors
    /// As [`ForkJoin::worker`].
    pub fn join(&self, cpu: C, rank: Rank) -> Result<Worker<C>, Error> {
        let policy = Policy::adaptive(&cpu.costs());
        self.worker(cpu, rank, policy)
    }

    /// Returns the handle of worker `rank` (1 or higher), which waits with `policy`. It may be created after
    /// the leader's first fork.
    ///
    /// # Errors
    /// [`Cause::Rank`] if there is no such worker or its handle was already created.
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

    /// Returns the roster of the first `count` members.
    fn first(&self, count: u32) -> Roster<'_, C> {
        Roster::new(&self.lines[HEAD..HEAD + Roster::<C>::lines(count)])
    }

    fn membership(&self) -> Membership<'_, C> {
        Membership::new(self.roster(), &self.lines[0][2])
    }

    /// Returns the word with the last region that the leader has forked; the bits above it count rings.
    #[inline]
    fn epoch(&self) -> &C::Word {
        &self.lines[0][0]
    }

    /// Returns the word that becomes nonzero when there are no more regions. It is written before the last
    /// change of `epoch`.
    #[inline]
    fn ended(&self) -> &C::Word {
        &self.lines[0][1]
    }

    /// Returns the word that counts the dismissed workers, which have no part in regions. It changes only
    /// between two regions.
    #[inline]
    fn absent(&self) -> &C::Word {
        &self.lines[0][3]
    }

    /// Returns the word that counts the finished parts of the region.
    #[inline]
    fn count(&self) -> &C::Word {
        &self.lines[1][0]
    }

    /// Returns the word with the last region whose parts are all done; the bits above it count rings.
    #[inline]
    fn joined(&self) -> &C::Word {
        &self.lines[2][0]
    }

    /// Returns the word with the last region in which the part of `worker` was taken, or [`AWAY`]. The member
    /// that changes it from the previous region to the current one takes the part.
    #[inline]
    fn taken(&self, worker: Rank) -> &C::Word {
        &self.lines[HEAD + Roster::<C>::lines(self.size) + worker as usize][0]
    }
}

/// Returns the number of the region before `region`.
#[inline]
fn before(region: u32) -> u32 {
    region.wrapping_sub(1) & REGIONS
}

fn takes(size: u32) -> Result<(), Error> {
    let fits = (1..=MOST).contains(&size);
    fits.then_some(()).ok_or_else(|| Cause::Size { what: "team", size, needs: "at least 1 and at most 2^24" }.into())
}
