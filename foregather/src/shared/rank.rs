//! A rank among those that share memory.
use super::array::Array;
use super::elements::Elements;
use super::locked::{Locked, LockedValue, PlainLock};
use super::plain::SharedElement;
use super::rows::Rows;
use super::state::{Link, RankState};
use core::any::type_name;
use core::fmt;
use core::ops::Range;
use core::panic::Location;
use core::time::Duration;
use foregather_dsm::memory::{self as dsm, Call};
use foregather_machine::Error;
use foregather_message::collective::{self, Element};

/// One of the ranks that share memory, as [`shared`](crate::shared) passes it to the body.
///
/// All ranks call [`Shared::barrier`], [`sum`](Shared::sum), [`reduce`](Shared::reduce),
/// [`array`](Shared::array), [`rows`](Shared::rows) and [`locked`](Shared::locked) together: in the same
/// order, with the same types and lengths. Calls that differ are an error on every rank, and change nothing;
/// so is a rank that returns while others still call.
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
/// Every call that waits for other ranks has a form that gives up after a `timeout` with
/// [`TimedOut`](crate::engine::Cause::TimedOut), which names the call and how long it lasted. What all
/// ranks have begun, or a place in line for a lock, cannot be taken back, so this rank gives up: its own
/// further calls end with [`Poisoned`](crate::engine::Cause::Poisoned) by its rank, and so do those of
/// all ranks that need it. A rank that arrives late may still complete this one call, if
/// this rank had sent all that it needs; its next call fails. Return the error.
pub struct Shared<'a>(&'a RankState<'a>);

impl<'a> Shared<'a> {
    /// Runs a rank from its beginning to its end, which all reach together: memory is shared until then.
    pub(super) fn run<R>(state: &RankState<'_>, body: impl Fn(&Shared<'_>) -> Result<R, Error>) -> Result<R, Error> {
        let result = body(&Shared(state))?;
        state.meet("the end", Call::through(state.rank()))?;
        Ok(result)
    }

    /// Its number, from 0 on.
    pub fn rank(&self) -> u32 {
        self.0.rank()
    }

    /// The number of ranks.
    pub fn size(&self) -> u32 {
        match &self.0.link {
            Link::Plain(place) => place.size(),
            Link::Views(views) => views.size(),
        }
    }

    /// This rank's share of `of` things: as even as can be, in order.
    pub fn share(&self, of: usize) -> Range<usize> {
        dsm::share(self.rank(), self.size(), of)
    }

    /// Waits for all ranks. Behind it all ranks load what a rank has stored before it.
    ///
    /// # Errors
    /// When it cannot succeed, with the culprit's rank: [`Poisoned`](crate::engine::Cause::Poisoned) if that
    /// has failed or panicked, [`PeerLost`](crate::engine::Cause::PeerLost) if its process has died,
    /// [`Closed`](crate::engine::Cause::Closed) if it has returned;
    /// [`Setting`](crate::engine::Cause::Setting) if another rank calls something else;
    /// [`Refused`](crate::engine::Cause::Refused) within [`Locked::with`].
    pub fn barrier(&self) -> Result<(), Error> {
        self.barrier_in(None)
    }

    /// [`Shared::barrier`] that gives up after `timeout`. Then this rank can only [return](Self#timeouts).
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
    /// [`TimedOut`](crate::engine::Cause::TimedOut); else as [`Shared::barrier`].
    pub fn barrier_timeout(&self, timeout: Duration) -> Result<(), Error> {
        self.barrier_in(Some(timeout))
    }

    fn barrier_in(&self, timeout: Option<Duration>) -> Result<(), Error> {
        self.0.within("`barrier`", timeout, |_| self.0.meet("a barrier", Call::new("barrier", &[])))
    }

    /// The sum of all ranks' values, of the same bits on every rank, whether ranks are threads or processes.
    /// A barrier, too.
    ///
    /// # Errors
    /// As [`Shared::barrier`].
    pub fn sum<T: Element + Send + 'static>(&self, value: T) -> Result<T, Error> {
        self.reduce(value, collective::sum)
    }

    /// [`Shared::sum`] that gives up after `timeout`. Then this rank can only [return](Self#timeouts).
    ///
    /// # Errors
    /// As [`Shared::barrier_timeout`].
    pub fn sum_timeout<T: Element + Send + 'static>(&self, value: T, timeout: Duration) -> Result<T, Error> {
        self.reduce_in("`sum`", Some(timeout), value, collective::sum)
    }

    /// Combines the values of all ranks, in rank order: `combine` is called on every rank, with the same
    /// values. A barrier, too.
    ///
    /// ```
    /// let greatest = foregather::shared(4, |me| me.reduce(me.rank() * 7 % 5, u32::max))?;
    /// assert_eq!(greatest, [4; 4]);
    /// # Ok::<(), foregather::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Shared::barrier`].
    ///
    /// # Panics
    /// If `combine` panics.
    pub fn reduce<T: Element + Send + 'static>(&self, value: T, combine: impl Fn(T, T) -> T) -> Result<T, Error> {
        self.reduce_in("`reduce`", None, value, combine)
    }

    /// [`Shared::reduce`] that gives up after `timeout`. Then this rank can only [return](Self#timeouts).
    ///
    /// # Errors
    /// As [`Shared::barrier_timeout`].
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

    /// Makes `len` elements that all ranks share, zeros at first. A barrier, too.
    ///
    /// # Errors
    /// As [`Shared::barrier`]; [`Setting`](crate::engine::Cause::Setting) for no elements,
    /// [`Unavailable`](crate::engine::Cause::Unavailable) if there is no room. Then all ranks get the error,
    /// nothing has changed, and the program can go on.
    #[track_caller]
    pub fn array<T: SharedElement>(&self, len: usize) -> Result<Array<T>, Error> {
        self.array_in(None, len)
    }

    /// [`Shared::array`] that gives up after `timeout`. Then this rank can only [return](Self#timeouts).
    ///
    /// # Errors
    /// [`TimedOut`](crate::engine::Cause::TimedOut); else as [`Shared::array`].
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

    /// Makes `rows` rows of `columns` elements that all ranks share, zeros at first. A barrier, too.
    ///
    /// # Errors
    /// As [`Shared::array`].
    #[track_caller]
    pub fn rows<T: SharedElement>(&self, rows: usize, columns: usize) -> Result<Rows<T>, Error> {
        self.rows_in(None, (rows, columns))
    }

    /// [`Shared::rows`] that gives up after `timeout`. Then this rank can only [return](Self#timeouts).
    ///
    /// # Errors
    /// As [`Shared::array_timeout`].
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

    /// Makes a value that ranks change one at a time, zero at first. A barrier, too.
    ///
    /// # Errors
    /// As [`Shared::array`].
    #[track_caller]
    pub fn locked<T: SharedElement>(&self) -> Result<Locked<'a, T>, Error> {
        self.locked_in(None)
    }

    /// [`Shared::locked`] that gives up after `timeout`. Then this rank can only [return](Self#timeouts).
    ///
    /// # Errors
    /// As [`Shared::array_timeout`].
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

impl fmt::Debug for Shared<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("rank", &self.rank()).field("size", &self.size()).finish_non_exhaustive()
    }
}
