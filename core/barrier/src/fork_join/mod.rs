//! Fork and join: a master releases its slaves into a region of work, and waits until all of them have done their part.
//!
//! That is half a barrier at either end (Guignon 2000 §2): nobody is waited for at the fork, and no slave waits at the join, so
//! a region costs less than two barriers. What is done in a region is the caller's affair.
//!
//! A region has one part a slave. A slave takes its part before it may touch anything of the region, and the master may take
//! those that nobody has taken: so a slave that comes late holds nobody up, and a region is over when all parts are done, whoever
//! did them. Slaves may be sent away, too, and called back. States and named races: `README.md`.
mod end;
mod leader;
mod worker;

pub use leader::Leader;
pub use worker::Worker;

use end::End;
use foregather_machine::{Cause, Cpu, Error, Rank, SharedLines, VALUE_MASK};
use foregather_wait::{Policy, Roster};

/// The master's rank; the slaves have the ranks from 1 on.
const MASTER: Rank = 0;
/// The most members.
const MOST: u32 = 1 << 24;

/// Lines before the roster: the master's, the slaves' counter, and the line of whoever was last.
const HEAD: usize = 3;
/// Words of a member's seat: is its handle out, and which part of it was taken last?
const GIVEN: usize = 0;
const TAKEN: usize = 1;

/// Regions are counted in 29 bits.
const REGIONS: u32 = VALUE_MASK >> 1;
/// No region: this slave has no part in any until it is called back.
const AWAY: u32 = REGIONS + 1;

/// A master and its slaves. Over the words of a segment they may be processes: each makes a team of its own over them.
///
/// A member that is dropped before the master has finished ends the team: whoever waits for it gets [`Cause::Poisoned`] with its
/// rank. After such an error slaves may still be in the region: what they work on must outlive them.
pub struct ForkJoin<C: Cpu> {
    size: u32,
    head: SharedLines<C::Word>,
    roster: SharedLines<C::Word>,
    /// A line a member.
    seats: SharedLines<C::Word>,
}

impl<C: Cpu> ForkJoin<C> {
    /// A team of `size` members, the master among them.
    ///
    /// # Errors
    /// [`Cause::Size`] for none, or more than 2^24.
    pub fn new(size: u32) -> Result<Self, Error> {
        takes(size)?;
        Self::over(SharedLines::own(Self::lines(size)), size)
    }

    /// How many lines that takes.
    pub const fn lines(size: u32) -> usize {
        HEAD + Roster::<C>::lines(size) + size as usize
    }

    /// The same in given lines, which may be in a segment of several processes: all zeros, or in use by others already. All must
    /// name the same size.
    ///
    /// # Errors
    /// [`Cause::Size`] for none, or more than 2^24; [`Cause::Setting`] if there are not [`ForkJoin::lines`] lines.
    pub fn over(lines: SharedLines<C::Word>, size: u32) -> Result<Self, Error> {
        takes(size)?;
        if lines.len() != Self::lines(size) {
            return Err(Error::from(Cause::Setting { what: "the lines of a team", needs: "as many as `Team::lines` says" }));
        }
        let (head, rest) = lines.split(HEAD);
        let (roster, seats) = rest.split(Roster::<C>::lines(size));
        Ok(Self { size, head, roster, seats })
    }

    /// How many members it has, the master among them.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// The master's handle, which waits as the load demands: by the adaptive policy, with the costs that its world knows.
    ///
    /// # Errors
    /// As [`ForkJoin::master`].
    pub fn lead(&self, cpu: C) -> Result<Leader<'_, C>, Error> {
        let policy = Policy::adaptive(&cpu.costs());
        self.master(cpu, policy)
    }

    /// The master's handle, which waits by `policy`.
    ///
    /// # Errors
    /// [`Cause::Rank`] if it was given out before.
    pub fn master(&self, cpu: C, policy: Policy) -> Result<Leader<'_, C>, Error> {
        Ok(Leader::new(self.end(cpu, MASTER, policy)?))
    }

    /// The handle of the slave `rank`, from 1 on, which waits as the load demands.
    ///
    /// # Errors
    /// As [`ForkJoin::slave`].
    pub fn join(&self, cpu: C, rank: Rank) -> Result<Worker<'_, C>, Error> {
        let policy = Policy::adaptive(&cpu.costs());
        self.slave(cpu, rank, policy)
    }

    /// The handle of the slave `rank`, from 1 on, which waits by `policy`. It may be made after the master's first fork.
    ///
    /// # Errors
    /// [`Cause::Rank`] if there is no such slave or its handle was given out before.
    pub fn slave(&self, cpu: C, rank: Rank, policy: Policy) -> Result<Worker<'_, C>, Error> {
        if rank == MASTER {
            return Err(self.no_such(rank));
        }
        Ok(Worker::new(self.end(cpu, rank, policy)?))
    }

    fn end(&self, cpu: C, rank: Rank, policy: Policy) -> Result<End<'_, C>, Error> {
        if rank >= self.size || cpu.fetch_add(&self.seats[rank as usize][GIVEN], 1) != 0 {
            return Err(self.no_such(rank));
        }
        Ok(End::new(self, cpu, rank, policy))
    }

    #[cold]
    fn no_such(&self, rank: Rank) -> Error {
        Cause::Rank { rank, size: self.size }.into()
    }
}

/// The region before.
#[inline]
fn before(region: u32) -> u32 {
    region.wrapping_sub(1) & REGIONS
}

fn takes(size: u32) -> Result<(), Error> {
    let fits = (1..=MOST).contains(&size);
    fits.then_some(()).ok_or_else(|| Cause::Size { what: "team", size, needs: "at least 1 and at most 2^24" }.into())
}
