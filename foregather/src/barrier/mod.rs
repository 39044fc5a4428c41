//! A barrier for any threads, and its members.
mod member;

pub use self::member::Member;

use core::time::Duration;
use foregather_machine::WaitError;
use foregather_thread::own;
use foregather_thread_barrier::{ThreadBarrier, members};
use std::sync::Arc;

/// A point where a number of threads meet, again and again.
///
/// Any thread may wait, by `&self`, as with [`std::sync::Barrier`]; but waits adapt to the load, can be
/// bounded and repeated, and name the missing threads.
///
/// `cargo add foregather --no-default-features`
///
/// ```
/// use foregather::Barrier;
///
/// let barrier = Barrier::new(4);
/// std::thread::scope(|threads| {
///     for _ in 0..4 {
///         threads.spawn(|| {
///             for step in 0..1_000 {
///                 // ... compute ...
///                 if barrier.wait()?.is_leader() && step == 999 {
///                     println!("all have come a thousand times");
///                 }
///             }
///             Ok::<_, foregather::WaitError>(())
///         });
///     }
/// });
/// ```
///
/// # Which threads
/// Any number of threads may take turns: each meeting has the next `size` threads that come, and exactly one
/// of them is its leader. With fewer threads than members all wait for ever, as with std; so do two tasks of
/// an async executor that wait on one thread.
///
/// # A thread that ends
/// A thread that ends, normally or by a panic, is only late: the others wait on, since another thread may
/// come in its place. Three things do more:
/// - a bounded wait, [`Barrier::wait_timeout`], names the threads that have been here before and have not
///   come, and whether they have ended;
/// - [`Barrier::guard`] makes a panic of a thread end the waits of the others, and [`Barrier::abort`] ends
///   them at once;
/// - [`Barrier::members`] gives owned members, each of which says when it has left.
///
/// A child of a fork has none of its parent's threads: there the parent's barrier gives an error,
/// [`WaitError::Left`].
///
/// # Panics
/// No wait panics. [`Barrier::new`] panics above 16,777,216 members.
///
/// # Cost
/// A wait of threads that have processors of their own costs two transfers of a cache line, as a spin does,
/// 50 to 400 ns; a longer wait gives its processor away, by a decision table that looks where the other
/// threads run. A thread's first wait at a barrier takes a lock and some system calls. 128 bytes a member, up
/// to 1,024 members. Beside other busy programs *and* with more threads than processors `pthread_barrier` is
/// faster today: [`guide`](crate::guide) has the numbers.
pub struct Barrier(Arc<ThreadBarrier>);

/// The result of a wait, as one of the threads sees it: [`BarrierWaitResult::is_leader`] chooses the
/// thread for work that only one must do.
///
/// ```
/// use foregather::Barrier;
///
/// let barrier = Barrier::new(3);
/// let leaders = std::thread::scope(|threads| {
///     let running: Vec<_> = (0..3).map(|_| threads.spawn(|| barrier.wait().unwrap().is_leader())).collect();
///     running.into_iter().map(|thread| thread.join().unwrap()).filter(|&is_leader| is_leader).count()
/// });
/// assert_eq!(leaders, 1);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BarrierWaitResult {
    is_leader: bool,
}

/// When a panic drops it, it ends the waits of the others with [`WaitError::Left`], for all and for ever.
/// Made by [`Barrier::guard`]; a panic that is caught before it reaches the guard does nothing.
///
/// ```
/// use foregather::{Barrier, WaitError};
///
/// fn work(barrier: &Barrier, rows: &mut [u32]) -> Result<(), WaitError> {
///     let _guard = barrier.guard(); // a product that overflows panics, and the others are told
///     for row in rows {
///         *row = row.checked_mul(2).expect("small numbers");
///         barrier.wait()?;
///     }
///     Ok(())
/// }
/// work(&Barrier::new(1), &mut [1, 2, 3])?;
/// # Ok::<(), WaitError>(())
/// ```
///
/// # Cost
/// Nothing while the thread does not panic. A guard that is leaked guards nothing.
#[must_use = "a guard that is dropped at once guards nothing"]
#[derive(Debug)]
pub struct PanicGuard<'b>(&'b Barrier);

impl BarrierWaitResult {
    /// Whether this thread is the leader of the meeting. Exactly one of its threads is: the last to come, or,
    /// of members with ranks, rank 0.
    #[must_use]
    #[inline]
    pub fn is_leader(self) -> bool {
        self.is_leader
    }
}

impl Barrier {
    /// Makes a barrier for `size` threads; 0 means 1, as with std.
    ///
    /// # Panics
    /// Above 16,777,216.
    #[must_use]
    pub fn new(size: usize) -> Self {
        Self(Arc::new(ThreadBarrier::new(size)))
    }

    /// Waits until as many threads have come as the barrier has members.
    ///
    /// # Errors
    /// [`WaitError::Left`] if a thread with a [`PanicGuard`] has panicked, or one has called
    /// [`Barrier::abort`].
    #[inline]
    pub fn wait(&self) -> Result<BarrierWaitResult, WaitError> {
        self.0.wait(None).map(|is_leader| BarrierWaitResult { is_leader })
    }

    /// [`Barrier::wait`] for `span` at most. When the time is over this thread has arrived all the same: its
    /// next wait here goes on with this meeting, and returns at once if that has ended meanwhile.
    ///
    /// ```
    /// use foregather::{Barrier, WaitError};
    /// use std::time::Duration;
    ///
    /// let barrier = Barrier::new(2);
    /// std::thread::scope(|threads| {
    ///     let error = barrier.wait_timeout(Duration::from_millis(5)).unwrap_err();
    ///     assert!(error.is_timed_out()); // "1 did not come within 5.0ms; the next call waits on"
    ///     threads.spawn(|| barrier.wait());
    ///     barrier.wait() // goes on with the same meeting
    /// })?;
    /// # Ok::<(), WaitError>(())
    /// ```
    ///
    /// # Errors
    /// [`WaitError::TimedOut`] says how many threads have not come, and which of those that have been here
    /// before; [`WaitError::Left`] as [`Barrier::wait`].
    pub fn wait_timeout(&self, span: Duration) -> Result<BarrierWaitResult, WaitError> {
        self.0.wait(Some(span)).map(|is_leader| BarrierWaitResult { is_leader })
    }

    /// While the guard lives, a panic of this thread ends the waits of the others, for all and for ever, with
    /// its name.
    ///
    /// Once a thread's stack is gone, an end by a panic cannot be told from a normal one; so the thread says
    /// beforehand that it is needed.
    ///
    /// ```
    /// use foregather::{Barrier, WaitError};
    ///
    /// let barrier = Barrier::new(2);
    /// let error = std::thread::scope(|threads| {
    ///     let waiting = threads.spawn(|| barrier.wait().unwrap_err());
    ///     let _ = std::thread::Builder::new().name("reader".to_owned()).spawn_scoped(threads, || {
    ///         let _guard = barrier.guard();
    ///         panic!("bad input");
    ///     }).unwrap().join();
    ///     waiting.join().unwrap()
    /// });
    /// assert_eq!(error.missing()[0].name.as_deref(), Some("reader"));
    /// ```
    pub fn guard(&self) -> PanicGuard<'_> {
        PanicGuard(self)
    }

    /// Ends the waits of all threads with [`WaitError::Left`], those that wait now and those that come, for
    /// all and for ever. A meeting that is complete is not disturbed.
    ///
    /// ```
    /// use foregather::{Barrier, WaitError};
    ///
    /// let barrier = Barrier::new(2);
    /// std::thread::scope(|threads| {
    ///     let waiting = threads.spawn(|| barrier.wait());
    ///     barrier.abort();
    ///     assert!(matches!(waiting.join().unwrap(), Err(WaitError::Left(_))));
    /// });
    /// ```
    pub fn abort(&self) {
        self.0.abort();
    }

    /// Owned members with ranks, each for a thread of its own. A member that is dropped has left, and the
    /// others are told; so has a member that is never taken from the iterator, when that is dropped.
    ///
    /// The barrier is used up: members with ranks and threads without must not mix.
    pub fn members(self) -> impl ExactSizeIterator<Item = Member> + Send {
        members(self.0.size()).map(Member)
    }
}

impl Drop for Barrier {
    fn drop(&mut self) {
        self.0.retire();
    }
}

impl core::fmt::Debug for Barrier {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Barrier").field("size", &self.0.size()).finish_non_exhaustive()
    }
}

impl Drop for PanicGuard<'_> {
    fn drop(&mut self) {
        if own::is_panicking() {
            self.0.abort();
        }
    }
}
