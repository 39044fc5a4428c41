//! Owned members of a barrier, with ranks.
use super::BarrierWaitResult;
use core::time::Duration;
use foregather_barrier::Punctual;
use foregather_machine::{Error, WaitError};
use foregather_thread::barrier::NamedMember;
use foregather_wait::Account;
use std::sync::Arc;

/// A member of a barrier, with a rank.
///
/// [`Barrier::members`](crate::Barrier::members) creates it, and one thread at a time owns it. Rank 0 is the
/// leader of every episode.
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
/// # When a member leaves
/// Dropping a member (at the end of its thread, by a panic, or explicitly) makes it leave: every member that
/// still needs it gets [`WaitError::Left`] with its rank and the name of its thread. An episode that is
/// already complete is not affected. A leaked member (`std::mem::forget`) never arrives, but has not left
/// either; a wait with a timeout names it.
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
/// Waits cost the same as with [`Barrier`](crate::Barrier), without the lookup of the thread's slot.
pub struct Member(pub(super) NamedMember);

impl Member {
    /// Returns the member's rank, which is less than the size of the barrier.
    #[must_use]
    #[inline]
    pub fn rank(&self) -> u32 {
        self.0.rank()
    }

    /// Blocks until all members have arrived.
    ///
    /// # Errors
    /// [`WaitError::Left`] if a member has left; the others can then never complete a wait.
    #[inline]
    pub fn wait(&mut self) -> Result<BarrierWaitResult, WaitError> {
        self.0.wait()?;
        Ok(self.met())
    }

    /// Waits like [`Member::wait`], for at most `span`. After a timeout the member still counts as arrived:
    /// its next wait continues the same episode, and returns immediately if the episode has completed.
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
    ///     println!("{error}"); // 1 did not arrive within 5.1ms: rank 1; call again to continue the wait
    /// }
    /// late.join().unwrap()?;
    /// # Ok::<(), WaitError>(())
    /// ```
    ///
    /// # Errors
    /// [`WaitError::TimedOut`] with the ranks of the members that have not arrived, and the names of the
    /// threads on which they waited before; [`WaitError::Left`] as for [`Member::wait`].
    pub fn wait_timeout(&mut self, span: Duration) -> Result<BarrierWaitResult, WaitError> {
        self.0.wait_timeout(span)?;
        Ok(self.met())
    }

    /// Waits like [`Member::wait`], and returns in all members at the same time: `slack` after the last
    /// arrival.
    ///
    /// If members pass different values, the largest applies. With `None`, the member uses a slack that it
    /// has learned from its earlier releases; about one release in 512 is then late. Returns whether this
    /// member was late; it does not know about the others. All members must call this function in the same
    /// episode; a member that calls `wait` instead returns early.
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
    /// println!("{late} of 200"); // discard measurements after a late start
    /// ```
    ///
    /// # Errors
    /// As for [`Member::wait`]. [`Cause::Setting`](crate::engine::Cause::Setting) if `slack` exceeds half a
    /// second; the member then does not count as arrived.
    pub fn harmonize(&mut self, slack: Option<Duration>) -> Result<Punctual, Error> {
        self.0.harmonize(slack)
    }

    /// Returns the statistics of this member's waits: how many ended by spinning, yielding or sleeping, which
    /// rules applied, and the longest wait. A clone of the `Arc` can be read while the member waits.
    #[must_use]
    pub fn account(&self) -> &Arc<Account> {
        self.0.account()
    }

    #[inline]
    fn met(&self) -> BarrierWaitResult {
        BarrierWaitResult { is_leader: self.rank() == 0 }
    }
}

foregather_machine::debug_by! { [] Member, "Member", |this| rank: this.rank() }
