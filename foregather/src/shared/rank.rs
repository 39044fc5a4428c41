//! The handle of a rank that shares memory.
use super::array::Array;
use super::elements::Elements;
use super::locked::{Locked, LockedValue, PlainLock};
use super::plain::SharedElement;
use super::rows::Rows;
use super::state::{Link, RankLocks};
use core::any::type_name;
use core::ops::Range;
use core::panic::Location;
use core::time::Duration;
use foregather_dsm::memory::{self as dsm, Call};
use foregather_machine::Error;
use foregather_message::collective::{self, Element};

/// A rank that shares memory with others, which [`shared`](crate::shared) passes to the body.
///
/// [`Shared::barrier`], [`sum`](Shared::sum), [`reduce`](Shared::reduce), [`array`](Shared::array),
/// [`rows`](Shared::rows) and [`locked`](Shared::locked) are collective: all ranks must call them in the same
/// order, with the same types and lengths. If calls differ, or a rank returns while others still make
/// collective calls, every rank gets an error and nothing is changed.
///
/// ```
/// // A field of numbers that all ranks smooth, each its own rows.
/// let rough = foregather::shared(3, |me| {
///     let (now, next) = (me.rows::<f64>(12, 32)?, me.rows::<f64>(12, 32)?);
///     if me.rank() == 0 {
///         now.set(5, 16, 1.0);
///     }
///     me.barrier()?;
///     let (mut above, mut below) = ([0.0; 32], [0.0; 32]);
///     for y in me.share(12) {
///         now.read((y + 11) % 12, &mut above);
///         now.read((y + 1) % 12, &mut below);
///         next.update(y, |row| {
///             for x in 0..32 {
///                 row[x] = (above[x] + below[x]) / 2.0;
///             }
///         });
///     }
///     me.barrier()?;
///     me.sum(me.share(12).map(|y| next.get(y, 16)).sum::<f64>())
/// })?;
/// assert_eq!(rough, [1.0; 3]);
/// # Ok::<(), foregather::Error>(())
/// ```
///
/// # Timeouts
/// Every call that waits for other ranks has a variant that returns
/// [`TimedOut`](crate::engine::Cause::TimedOut) after `timeout`, with the name of the call and how long it
/// took. Such a call cannot be repeated, because a collective call or a place in a lock's queue cannot be
/// withdrawn. The rank that timed out gives up: all its later calls fail, and calls of ranks that depend on
/// it fail with [`Poisoned`](crate::engine::Cause::Poisoned), which names its rank. A late rank may still
/// complete the call that timed out, if it already has all the data; its next call fails. Return the error
/// from the body.
pub struct Shared<'a>(&'a RankLocks<'a>);

impl<'a> Shared<'a> {
    /// Runs a rank's body, then waits for all other ranks, because the memory is shared until all have
    /// finished.
    pub(super) fn run<R>(state: &RankLocks<'_>, body: impl Fn(&Shared<'_>) -> Result<R, Error>) -> Result<R, Error> {
        let result = body(&Shared(state))?;
        state.meet("the end", Call::through(state.rank()))?;
        Ok(result)
    }

    /// Returns the rank's number, from 0.
    pub fn rank(&self) -> u32 {
        self.0.rank()
    }

    /// Returns the number of ranks.
    pub fn size(&self) -> u32 {
        match &self.0.link {
            Link::Plain(place) => place.size(),
            Link::Views(views) => views.size(),
        }
    }

    /// Returns this rank's share of `of` items: a contiguous range. Shares differ in length by at most one.
    pub fn share(&self, of: usize) -> Range<usize> {
        dsm::share(self.rank(), self.size(), of)
    }

    /// Waits for all ranks. After the barrier, every rank sees all stores that came before it.
    ///
    /// # Errors
    /// If the barrier cannot complete, with the rank that caused it:
    /// [`Poisoned`](crate::engine::Cause::Poisoned) if that rank failed or panicked,
    /// [`PeerLost`](crate::engine::Cause::PeerLost) if its process died,
    /// [`Closed`](crate::engine::Cause::Closed) if it has returned;
    /// [`Setting`](crate::engine::Cause::Setting) if another rank makes a different call;
    /// [`Refused`](crate::engine::Cause::Refused) inside [`Locked::with`].
    pub fn barrier(&self) -> Result<(), Error> {
        self.barrier_in(None)
    }

    /// Waits like [`Shared::barrier`], for at most `timeout`. After a timeout this rank must
    /// [return](Self#timeouts).
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let end = foregather::shared(2, |me| {
    ///     if me.rank() == 1 {
    ///         std::thread::sleep(Duration::from_millis(50)); // too late
    ///     }
    ///     me.barrier_timeout(Duration::from_millis(10))
    /// });
    /// // `barrier`: rank 0 timed out after 10.06 ms waiting for rank 1; allow more time, or find what holds
    /// // rank 1 up
    /// assert!(end.unwrap_err().is_timed_out());
    /// ```
    ///
    /// # Errors
    /// [`TimedOut`](crate::engine::Cause::TimedOut); otherwise as for [`Shared::barrier`].
    pub fn barrier_timeout(&self, timeout: Duration) -> Result<(), Error> {
        self.barrier_in(Some(timeout))
    }

    fn barrier_in(&self, timeout: Option<Duration>) -> Result<(), Error> {
        self.0.within("`barrier`", timeout, |_| self.0.meet("a barrier", Call::new("barrier", &[])))
    }

    /// Returns the sum of all ranks' values, with the same bits on every rank, whether ranks are threads or
    /// processes. It is also a barrier.
    ///
    /// # Errors
    /// As for [`Shared::barrier`].
    pub fn sum<T: Element + Send + 'static>(&self, value: T) -> Result<T, Error> {
        self.reduce(value, collective::sum)
    }

    /// Adds like [`Shared::sum`], for at most `timeout`. After a timeout this rank must
    /// [return](Self#timeouts).
    ///
    /// # Errors
    /// As for [`Shared::barrier_timeout`].
    pub fn sum_timeout<T: Element + Send + 'static>(&self, value: T, timeout: Duration) -> Result<T, Error> {
        self.reduce_in("`sum`", Some(timeout), value, collective::sum)
    }

    /// Combines the values of all ranks in rank order. Every rank calls `combine` with the same values. It is
    /// also a barrier.
    ///
    /// ```
    /// let greatest = foregather::shared(4, |me| me.reduce(me.rank() * 7 % 5, u32::max))?;
    /// assert_eq!(greatest, [4; 4]);
    /// # Ok::<(), foregather::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Shared::barrier`].
    ///
    /// # Panics
    /// If `combine` panics.
    pub fn reduce<T: Element + Send + 'static>(&self, value: T, combine: impl Fn(T, T) -> T) -> Result<T, Error> {
        self.reduce_in("`reduce`", None, value, combine)
    }

    /// Reduces like [`Shared::reduce`], for at most `timeout`. After a timeout this rank must
    /// [return](Self#timeouts).
    ///
    /// # Errors
    /// As for [`Shared::barrier_timeout`].
    ///
    /// # Panics
    /// If `combine` panics.
    pub fn reduce_timeout<T: Element + Send + 'static>(
        &self,
        value: T,
        combine: impl Fn(T, T) -> T,
        timeout: Duration,
    ) -> Result<T, Error> {
        self.reduce_in("`reduce`", Some(timeout), value, combine)
    }

    fn reduce_in<T: Element + Send + 'static>(
        &self,
        name: &'static str,
        timeout: Option<Duration>,
        value: T,
        combine: impl Fn(T, T) -> T,
    ) -> Result<T, Error> {
        self.0.together("a reduction")?;
        let call = Call::new(type_name::<T>(), &[0]);
        self.0.within(name, timeout, |_| match &self.0.link {
            Link::Plain(place) => Ok(collective::combine_all(&place.exchange(call, value)?, combine)),
            Link::Views(views) => views.reduce(call, value, combine),
        })
    }

    /// Allocates `len` elements that all ranks share, initially zero. It is also a barrier.
    ///
    /// # Errors
    /// As for [`Shared::barrier`]; [`Setting`](crate::engine::Cause::Setting) if `len` is 0,
    /// [`Unavailable`](crate::engine::Cause::Unavailable) if there is not enough memory. After these two all
    /// ranks get the error, nothing has changed, and the program can continue.
    #[track_caller]
    pub fn array<T: SharedElement>(&self, len: usize) -> Result<Array<T>, Error> {
        self.array_in(None, len)
    }

    /// Allocates like [`Shared::array`], for at most `timeout`. After a timeout this rank must
    /// [return](Self#timeouts).
    ///
    /// # Errors
    /// [`TimedOut`](crate::engine::Cause::TimedOut); otherwise as for [`Shared::array`].
    #[track_caller]
    pub fn array_timeout<T: SharedElement>(&self, len: usize, timeout: Duration) -> Result<Array<T>, Error> {
        self.array_in(Some(timeout), len)
    }

    #[track_caller]
    fn array_in<T: SharedElement>(&self, timeout: Option<Duration>, len: usize) -> Result<Array<T>, Error> {
        self.0.together("an allocation")?;
        let (call, place) = (Call::new(type_name::<T>(), &[1, len as u64]), Location::caller());
        let made = self.0.within("`array`", timeout, |_| match &self.0.link {
            Link::Plain(meeting) => meeting.make(call, || Elements::of_this_process(len)),
            Link::Views(views) => views.array(call, len, place),
        });
        made.map(Array::of)
    }

    /// Allocates `rows` rows of `columns` elements that all ranks share, initially zero. It is also a
    /// barrier.
    ///
    /// # Errors
    /// As for [`Shared::array`].
    #[track_caller]
    pub fn rows<T: SharedElement>(&self, rows: usize, columns: usize) -> Result<Rows<T>, Error> {
        self.rows_in(None, (rows, columns))
    }

    /// Allocates like [`Shared::rows`], for at most `timeout`. After a timeout this rank must
    /// [return](Self#timeouts).
    ///
    /// # Errors
    /// As for [`Shared::array_timeout`].
    #[track_caller]
    pub fn rows_timeout<T: SharedElement>(&self, rows: usize, columns: usize, timeout: Duration) -> Result<Rows<T>, Error> {
        self.rows_in(Some(timeout), (rows, columns))
    }

    #[track_caller]
    fn rows_in<T: SharedElement>(&self, timeout: Option<Duration>, (rows, columns): (usize, usize)) -> Result<Rows<T>, Error> {
        self.0.together("an allocation")?;
        let (call, place) = (Call::new(type_name::<T>(), &[2, rows as u64, columns as u64]), Location::caller());
        let made = self.0.within("`rows`", timeout, |_| match &self.0.link {
            Link::Plain(meeting) => meeting.make(call, || Elements::of_this_process(rows.saturating_mul(columns))),
            Link::Views(views) => views.rows(call, (rows, columns), place),
        });
        made.map(|elements| Rows::of(elements, (rows, columns)))
    }

    /// Allocates a value that ranks change one at a time, initially zero. It is also a barrier.
    ///
    /// # Errors
    /// As for [`Shared::array`].
    #[track_caller]
    pub fn locked<T: SharedElement>(&self) -> Result<Locked<'a, T>, Error> {
        self.locked_in(None)
    }

    /// Allocates like [`Shared::locked`], for at most `timeout`. After a timeout this rank must
    /// [return](Self#timeouts).
    ///
    /// # Errors
    /// As for [`Shared::array_timeout`].
    #[track_caller]
    pub fn locked_timeout<T: SharedElement>(&self, timeout: Duration) -> Result<Locked<'a, T>, Error> {
        self.locked_in(Some(timeout))
    }

    #[track_caller]
    fn locked_in<T: SharedElement>(&self, timeout: Option<Duration>) -> Result<Locked<'a, T>, Error> {
        self.0.together("an allocation")?;
        let (call, place) = (Call::new(type_name::<T>(), &[3]), Location::caller());
        let made = self.0.within("`locked`", timeout, |_| match &self.0.link {
            Link::Plain(meeting) => Ok(LockedValue::Plain(meeting, meeting.make(call, PlainLock::zero)?)),
            Link::Views(views) => {
                let array = views.allocate(call, (1, 1), place, "a locked value")?;
                Ok(LockedValue::Views(*views, array, self.0.next_lock()))
            }
        });
        made.map(|value| Locked::of(self.0, value))
    }
}

foregather_machine::debug_by! { [] Shared<'_>, "Shared", |this| rank: this.rank(), size: this.size() }
