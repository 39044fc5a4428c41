//! Members of a barrier that own their place, with ranks.
use super::BarrierWaitResult;
use core::fmt;
use core::time::Duration;
use foregather_barrier::Punctual;
use foregather_machine::{Error, WaitError};
use foregather_thread_barrier::NamedMember;
use foregather_wait::Account;
use std::sync::Arc;

/// One member of a barrier, with a rank: made by [`Barrier::members`](crate::Barrier::members), owned by one
/// thread at a time. Rank 0 leads every meeting.
///
/// ```
/// use foregather::Barrier;
///
/// let threads: Vec<_> = Barrier::new(3)
///     .members()
///     .map(|mut member| {
///         std::thread::spawn(move || -> Result<u32, foregather::WaitError> {
///             for _ in 0..100 {
///                 // ... compute ...
///                 member.wait()?;
///             }
///             Ok(member.rank())
///         })
///     })
///     .collect();
/// for (rank, thread) in (0..).zip(threads) {
///     assert_eq!(thread.join().unwrap()?, rank);
/// }
/// # Ok::<(), foregather::WaitError>(())
/// ```
///
/// # When a member goes away
/// A member that is dropped, at the end of its thread, by a panic or by hand, has left: every member that
/// still needs it gets [`WaitError::Left`] with its rank and the name of its thread. A meeting that is
/// complete is not disturbed. A member that is leaked (`std::mem::forget`) never comes, and has not left; a
/// bounded wait names it.
///
/// ```
/// use foregather::{Barrier, WaitError};
///
/// let mut members = Barrier::new(2).members();
/// let (mut first, second) = (members.next().unwrap(), members.next().unwrap());
/// drop(second);
/// let error = first.wait().unwrap_err();
/// assert!(matches!(error, WaitError::Left(_)));
/// assert_eq!(error.missing()[0].rank, Some(1));
/// ```
///
/// # Cost
/// It waits as [`Barrier`](crate::Barrier) does, without looking up the thread's seat.
pub struct Member(pub(super) NamedMember);

impl Member {
    /// Its number, below the size of the barrier.
    #[must_use]
    #[inline]
    pub fn rank(&self) -> u32 {
        self.0.rank()
    }

    /// Waits until all members have come.
    ///
    /// # Errors
    /// [`WaitError::Left`] if a member has gone away: the others can never meet again.
    #[inline]
    pub fn wait(&mut self) -> Result<BarrierWaitResult, WaitError> {
        self.0.wait()?;
        Ok(self.met())
    }

    /// [`Member::wait`] for `span` at most. When the time is over the member has arrived all the same: its
    /// next wait goes on with this meeting, and returns at once if that has ended meanwhile.
    ///
    /// ```
    /// use foregather::{Barrier, WaitError};
    /// use std::time::Duration;
    ///
    /// let mut members = Barrier::new(2).members();
    /// let (mut first, mut late) = (members.next().unwrap(), members.next().unwrap());
    /// let late = std::thread::spawn(move || {
    ///     std::thread::sleep(Duration::from_millis(20));
    ///     late.wait().map(drop)
    /// });
    /// while let Err(error) = first.wait_timeout(Duration::from_millis(5)) {
    ///     if !error.is_timed_out() {
    ///         return Err(error);
    ///     }
    ///     println!("{error}"); // 1 did not come within 5.1ms: rank 1; the next call waits on
    /// }
    /// late.join().unwrap()?;
    /// # Ok::<(), WaitError>(())
    /// ```
    ///
    /// # Errors
    /// [`WaitError::TimedOut`] with the ranks of the members that have not come, and the names of the threads
    /// in which they have waited before; [`WaitError::Left`] as [`Member::wait`].
    pub fn wait_timeout(&mut self, span: Duration) -> Result<BarrierWaitResult, WaitError> {
        self.0.wait_timeout(span)?;
        Ok(self.met())
    }

    /// [`Member::wait`], and leaves with the others at one moment: `slack` after the last has come, the
    /// longest if members ask for different ones. `None` is a slack that this member has learnt from its own
    /// releases, by which about one in 512 is late. Returns whether this member was late; of the others it
    /// knows nothing. All members of a meeting call this: one that waits instead leaves before.
    ///
    /// ```
    /// use foregather::{Barrier, engine::Punctual};
    ///
    /// let late: usize = std::thread::scope(|threads| {
    ///     let late = |mut member: foregather::Member| {
    ///         let starts = (0..100).map(move |_| member.harmonize(None));
    ///         threads.spawn(|| starts.filter(|start| !matches!(start, Ok(Punctual::Met))).count())
    ///     };
    ///     let running: Vec<_> = Barrier::new(2).members().map(late).collect();
    ///     running.into_iter().map(|thread| thread.join().unwrap()).sum()
    /// });
    /// println!("{late} of 200"); // what is measured after such a start is about the start
    /// ```
    ///
    /// # Errors
    /// As [`Member::wait`]; [`Cause::Setting`](crate::engine::Cause::Setting) for a slack above half a
    /// second, without having come.
    pub fn harmonize(&mut self, slack: Option<Duration>) -> Result<Punctual, Error> {
        self.0.harmonize(slack)
    }

    /// The record of its waits: how many spun, yielded, slept, by which rules, and the longest. A clone can
    /// be read while it waits.
    #[must_use]
    pub fn account(&self) -> &Arc<Account> {
        self.0.account()
    }

    #[inline]
    fn met(&self) -> BarrierWaitResult {
        BarrierWaitResult { is_leader: self.rank() == 0 }
    }
}

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Member").field("rank", &self.rank()).finish_non_exhaustive()
    }
}
