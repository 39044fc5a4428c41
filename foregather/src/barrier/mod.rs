//! A barrier for any threads, and its members.
mod member;

pub use self::member::Member;

use core::time::Duration;
use foregather_machine::WaitError;
use foregather_thread::barrier::{ThreadBarrier, members};
use foregather_thread::own;
use std::sync::Arc;

/// A reusable barrier: threads wait until a given number of them have arrived.
///
/// Any thread can wait through `&self`, as with [`std::sync::Barrier`]. In addition, waits adapt to the load,
/// can have a timeout and be continued after it, and errors name the missing threads.
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
/// # Which threads may wait
/// Any number of threads may use the barrier. Each episode releases the next `size` threads that arrive, and
/// exactly one of them is the leader. With fewer than `size` threads, all wait forever, as with std. Two
/// tasks that wait on the same thread of an async executor also block forever.
///
/// # When a thread exits
/// If a thread exits, normally or by a panic, the others keep waiting, because another thread may arrive in
/// its place. Three features detect the loss:
/// - [`Barrier::wait_timeout`] reports which threads that used the barrier before have not arrived, and
///   whether they have exited;
/// - [`Barrier::guard`] ends the other threads' waits if this thread panics; [`Barrier::abort`] ends them
///   immediately;
/// - [`Barrier::members`] returns owned members; if one is dropped, the others get an error.
///
/// In a child of a fork, which has none of its parent's threads, waits at the parent's barrier return
/// [`WaitError::Left`].
///
/// # Panics
/// No wait panics. [`Barrier::new`] panics above 16,777,216 members.
///
/// # Cost
/// If every thread has its own processor, a wait costs two cache-line transfers (50 to 400 ns), the same as
/// spinning. A longer wait gives up the processor; when it does depends on where the other threads run. A
/// thread's first wait at a barrier takes a lock and some system calls. The barrier uses 128 bytes per member
/// for up to 1,024 members. With more threads than processors *and* background load, `pthread_barrier` is
/// currently faster: [`guide`](crate::guide) has the numbers.
pub struct Barrier(Arc<ThreadBarrier>);

/// The result of a wait for one thread. [`BarrierWaitResult::is_leader`] selects one thread for work that
/// must be done only once.
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

/// A guard that breaks the barrier permanently if the thread panics: all waits, current and later, return
/// [`WaitError::Left`]. [`Barrier::guard`] creates it. A panic that is caught before it reaches the guard has
/// no effect.
///
/// ```
/// use foregather::{Barrier, WaitError};
///
/// fn work(barrier: &Barrier, rows: &mut [u32]) -> Result<(), WaitError> {
///     let _guard = barrier.guard(); // if a product overflows, the others get an error
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
/// Nothing unless the thread panics. A leaked guard has no effect.
#[must_use = "a guard that is dropped at once guards nothing"]
#[derive(Debug)]
pub struct PanicGuard<'b>(&'b Barrier);

impl BarrierWaitResult {
    /// Returns whether this thread is the leader of the episode: the last thread to arrive or, among members
    /// with ranks, rank 0.
    #[must_use]
    #[inline]
    pub fn is_leader(self) -> bool {
        self.is_leader
    }
}

impl Barrier {
    /// Creates a barrier for `size` threads; 0 is treated as 1, as in std.
    ///
    /// # Panics
    /// If `size` exceeds 16,777,216.
    #[must_use]
    pub fn new(size: usize) -> Self {
        Self(Arc::new(ThreadBarrier::new(size)))
    }

    /// Blocks until `size` threads have arrived.
    ///
    /// # Errors
    /// [`WaitError::Left`] if a thread with a [`PanicGuard`] panicked, if [`Barrier::abort`] was called, or
    /// in a forked child.
    #[inline]
    pub fn wait(&self) -> Result<BarrierWaitResult, WaitError> {
        self.0.wait(None).map(|is_leader| BarrierWaitResult { is_leader })
    }

    /// Waits like [`Barrier::wait`], for at most `span`. After a timeout the thread still counts as arrived:
    /// its next wait continues the same episode, and returns immediately if the episode has completed.
    ///
    /// ```
    /// use foregather::{Barrier, WaitError};
    /// use std::time::Duration;
    ///
    /// let barrier = Barrier::new(2);
    /// std::thread::scope(|threads| {
    ///     let error = barrier.wait_timeout(Duration::from_millis(5)).unwrap_err();
    ///     assert!(error.is_timed_out()); // "1 did not arrive within 5.0ms; call again to continue the wait"
    ///     threads.spawn(|| barrier.wait());
    ///     barrier.wait() // continues the same episode
    /// })?;
    /// # Ok::<(), WaitError>(())
    /// ```
    ///
    /// # Errors
    /// [`WaitError::TimedOut`] has the number of threads that have not arrived, and the names of those that
    /// used the barrier before; [`WaitError::Left`] as for [`Barrier::wait`].
    pub fn wait_timeout(&self, span: Duration) -> Result<BarrierWaitResult, WaitError> {
        self.0.wait(Some(span)).map(|is_leader| BarrierWaitResult { is_leader })
    }

    /// Returns a guard. If this thread panics while the guard is alive, all waits at the barrier fail
    /// permanently with an error that names this thread.
    ///
    /// After a thread has exited, a panic cannot be distinguished from a normal return, so a thread must
    /// register in advance.
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

    /// Breaks the barrier permanently: all current and future waits return [`WaitError::Left`]. An episode
    /// that is already complete is not affected.
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

    /// Returns owned members with ranks, one for each thread. Dropping a member makes it leave, and the
    /// others get an error. Members still in the iterator leave when the iterator is dropped.
    ///
    /// This consumes the barrier, because members with ranks and threads without ranks must not be mixed.
    pub fn members(self) -> impl ExactSizeIterator<Item = Member> + Send {
        members(self.0.size()).map(Member)
    }
}

impl Drop for Barrier {
    fn drop(&mut self) {
        self.0.retire();
    }
}

foregather_machine::debug_by! { [] Barrier, "Barrier", |this| size: this.0.size() }

impl Drop for PanicGuard<'_> {
    fn drop(&mut self) {
        if own::is_panicking() {
            self.0.abort();
        }
    }
}
