//! A barrier between processes of one host.
use crate::long_wait::in_slices;
use crate::seated::RankHandle;
use core::time::Duration;
use foregather_barrier::{Algorithm, BarrierMember, Group};
use foregather_machine::{Cause, Error, Nanos, block_on};
use foregather_shm::{Process, Seats, Segment, SegmentKind};
use foregather_wait::Account;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// The name of this object in error messages.
const WHAT: &str = "barrier";
/// The maximum number of members: that of the central barrier.
const MOST: u32 = 1_023;

/// A barrier whose members are threads of any processes of one host.
///
/// ```
/// use foregather::processes::SharedBarrier;
///
/// let barrier = SharedBarrier::create(2)?;
/// std::thread::scope(|threads| {
///     for rank in 0..2 {
///         let mut member = barrier.member(rank)?;
///         threads.spawn(move || (0..100).try_for_each(|_| member.wait()));
///     }
///     Ok::<(), foregather::Error>(())
/// })?;
/// # Ok::<(), foregather::Error>(())
/// ```
///
/// Another process gets the memory's [descriptor](SharedBarrier::as_fd) and opens the barrier with
/// [`SharedBarrier::attach`]. If a process dies, the other members get `Cause::PeerLost` with its rank within
/// 60 ms. If a member is dropped or panics, they get `Cause::Poisoned`.
#[derive(Clone)]
pub struct SharedBarrier {
    segment: Arc<Segment>,
    seats: Seats,
    group: Group<Process>,
}

impl SharedBarrier {
    /// Creates a barrier of `size` members.
    ///
    /// # Errors
    /// `Cause::Size` unless `size` is 1 to 1023; an error if the system has no shared memory.
    pub fn create(size: u32) -> Result<Self, Error> {
        if !(1..=MOST).contains(&size) {
            return Err(Cause::Size { what: WHAT, size, needs: "1 to 1023 members" }.into());
        }
        Self::over(Segment::of_kind(SegmentKind::Barrier, lines(size), 0)?, size)
    }

    /// Opens a barrier that another process created, through a descriptor of its memory.
    ///
    /// # Errors
    /// `Cause::Unavailable` if the descriptor is something else, such as a queue or a barrier of another
    /// version of this library.
    pub fn attach(descriptor: OwnedFd) -> Result<Self, Error> {
        let segment = Segment::attach_kind(descriptor, SegmentKind::Barrier)?;
        let size = (1..=MOST).find(|&size| lines(size) == segment.words() as usize).ok_or_else(|| Cause::Unavailable {
            what: "a barrier of processes in the descriptor".to_owned(),
            remedy: "its memory was overwritten: create the barrier again".to_owned(),
        })?;
        Self::over(segment, size)
    }

    fn over(segment: Segment, size: u32) -> Result<Self, Error> {
        let segment = Arc::new(segment);
        let (seats, group) = segment.lines().split(size as usize);
        let group = Group::over(group, Algorithm::Central, size)?;
        Ok(Self { segment, seats: Seats::over(seats), group })
    }

    /// Returns the number of members.
    #[must_use]
    pub fn size(&self) -> u32 {
        self.group.size()
    }

    /// Takes the handle of `rank` (0 and up) for the calling process.
    ///
    /// # Errors
    /// `Cause::Rank` if there is no such rank, or if its handle was already taken, here or in another
    /// process.
    pub fn member(&self, rank: u32) -> Result<SharedMember, Error> {
        let all = 0..self.size();
        let make = |cpu, policy| self.group.member(cpu, rank, policy);
        RankHandle::new(WHAT, &self.seats, (rank, None), all, make, drop).map(SharedMember)
    }
}

/// Returns the number of lines of a barrier: the slots of the processes, and the group's lines.
fn lines(size: u32) -> usize {
    size as usize + Group::<Process>::lines(Algorithm::Central, size)
}

/// `as_fd` returns the descriptor of the memory, for another process.
impl AsFd for SharedBarrier {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.segment.fd()
    }
}

impl core::fmt::Debug for SharedBarrier {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "SharedBarrier {{ size: {} }}", self.size())
    }
}

/// One rank of a [`SharedBarrier`]. After it is dropped, waits of the other members that still need it fail.
pub struct SharedMember(RankHandle<BarrierMember<Process>>);

impl SharedMember {
    /// Waits until all members have arrived.
    ///
    /// # Errors
    /// `Cause::Poisoned` or `Cause::PeerLost` with the rank of a member that has left, failed or died.
    pub fn wait(&mut self) -> Result<(), Error> {
        self.wait_within(None)
    }

    /// Waits like [`SharedMember::wait`], for at most `timeout`.
    ///
    /// # Errors
    /// `Cause::TimedOut`, which names a member that has not arrived. This member still counts as arrived:
    /// call again to continue the wait. Otherwise as [`SharedMember::wait`].
    pub fn wait_timeout(&mut self, timeout: Duration) -> Result<(), Error> {
        self.wait_within(Some(timeout))
    }

    #[inline]
    fn wait_within(&mut self, limit: Option<Duration>) -> Result<(), Error> {
        let wait = |member: &mut Self, slice: Duration| {
            let span = Nanos(u64::try_from(slice.as_nanos()).unwrap_or(u64::MAX));
            block_on(member.0.own()?.wait_for(span))
        };
        in_slices(self, WHAT, limit, wait, |member, _| member.missing().unwrap_or_default())
    }

    /// Returns the members that have not arrived at the barrier where this one waits, each with the process
    /// ID of its holder if its rank is taken.
    ///
    /// # Errors
    /// If this is a forked child of the process that took this rank.
    pub fn missing(&mut self) -> Result<Vec<(u32, Option<u32>)>, Error> {
        let ranks = self.0.own()?.missing();
        Ok(self.0.with_processes(ranks))
    }

    /// Returns the statistics of this member's waits.
    ///
    /// # Errors
    /// If this is a forked child of the process that took this rank.
    pub fn account(&mut self) -> Result<Arc<Account>, Error> {
        self.0.own().map(|member| member.account().clone())
    }
}

impl core::fmt::Debug for SharedMember {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "SharedMember of rank {}", self.0.rank())
    }
}
