//! A value behind a lock.
use super::plain::SharedElement;
use super::state::RankState;
use super::views::Views;
use bytemuck::allocation::{try_zeroed_box, zeroed_box};
use core::fmt;
use core::slice::{from_mut, from_ref};
use core::time::Duration;
use foregather_dsm::memory as dsm;
use foregather_dsm::memory::local::RankPlace;
use foregather_machine::{Cause, Error, Nanos, Rank};
use foregather_thread::Word;
use std::sync::{Arc, Mutex};

/// A value that all ranks change, one at a time: a counter, a histogram.
/// [`Shared::locked`](crate::Shared::locked) makes one.
///
/// [`Locked::with`] lends a private copy of the value and stores the changed copy, so there is never a
/// reference to shared memory, and a panic half-way changes nothing.
///
/// ```
/// let words = ["spin", "then", "park", "and", "wake", "them", "at", "last"];
/// let lengths = foregather::shared(2, |me| {
///     let bins = me.locked::<[u64; 6]>()?;
///     for at in me.share(words.len()) {
///         bins.with(|bins| bins[words[at].len()] += 1)?;
///     }
///     me.barrier()?;
///     bins.get()
/// })?;
/// assert_eq!(lengths, [[0, 0, 1, 1, 6, 0]; 2]);
/// # Ok::<(), foregather::Error>(())
/// ```
///
/// # Memory model
/// The value is whole in [`Locked::with`], whatever its length; the next holder sees what a rank has stored
/// elsewhere before it leaves.
///
/// # Cost
/// Threads: some tens of nanoseconds and two copies of the value. Ranks of a launcher: two messages to the
/// lock's manager and a fault for the value; so gather changes, and take the lock for all of them.
pub struct Locked<'a, T: SharedElement> {
    rank: &'a RankState<'a>,
    value: LockedValue<'a, T>,
}

/// The place of the value.
pub(super) enum LockedValue<'a, T: SharedElement> {
    /// In this process.
    Plain(&'a RankPlace<'a>, Arc<PlainLock<T>>),
    /// The only element of an array, by the lock of that number.
    Views(Views<'a>, dsm::Array<T>, u32),
}

/// A lock of this process. Ranks wait for its word, so the mutex is free for the one that has that.
pub(super) struct PlainLock<T> {
    word: Word,
    guarded: Mutex<Guarded<T>>,
}

/// The data behind it.
struct Guarded<T> {
    value: Box<T>,
    /// The lent copy, which takes the value's place if `act` ends well.
    draft: Box<T>,
    /// The rank that has the lock, or had it last.
    holder: Rank,
}

impl<T: SharedElement> PlainLock<T> {
    /// # Errors
    /// [`Cause::Setting`] for a value of no bytes; [`Cause::Unavailable`] if there is no room.
    pub(super) fn zero() -> Result<Arc<Self>, Error> {
        if T::CELLS == 0 {
            return Err(Cause::Setting { what: "a locked value", needs: "at least one byte" }.into());
        }
        let no_room = |()| Cause::Unavailable {
            what: format!("room for a locked value of {} bytes", size_of::<T>()),
            remedy: "share less, or run where more memory is free".to_owned(),
        };
        let (value, draft) = (try_zeroed_box().map_err(no_room)?, try_zeroed_box().map_err(no_room)?);
        Ok(Arc::new(Self { word: Word::zero(), guarded: Mutex::new(Guarded { value, draft, holder: 0 }) }))
    }
}

impl<T: SharedElement> Clone for LockedValue<'_, T> {
    fn clone(&self) -> Self {
        match self {
            Self::Plain(place, value) => Self::Plain(place, Arc::clone(value)),
            Self::Views(views, array, lock) => Self::Views(*views, array.clone(), *lock),
        }
    }
}

impl<'a, T: SharedElement> Locked<'a, T> {
    pub(super) fn of(rank: &'a RankState<'a>, value: LockedValue<'a, T>) -> Self {
        Self { rank, value }
    }

    /// Waits for the lock, lets `act` change a copy of the value, stores that, and leaves the lock. One value
    /// is changed at a time: within `act` this rank can take no lock and make no call that all ranks make
    /// together, or two ranks might wait for each other.
    ///
    /// # Errors
    /// [`Cause::PoisonedLock`] with the rank whose `act` panicked with this lock: the value is what it was
    /// before, and no rank gets the lock again. [`Cause::Refused`] within another `with` of this rank. Behind
    /// views also when a rank is lost or gives up.
    ///
    /// # Panics
    /// If `act` panics: nothing is stored, the lock is left, and the panic goes on.
    pub fn with<R>(&self, act: impl FnOnce(&mut T) -> R) -> Result<R, Error> {
        self.with_in(None, act)
    }

    /// [`Locked::with`] that gives up when the lock is not free within `timeout`; `act` may take longer. Then
    /// this rank can only [return](crate::Shared#timeouts).
    ///
    /// # Errors
    /// [`Cause::TimedOut`]; else as [`Locked::with`].
    ///
    /// # Panics
    /// As [`Locked::with`].
    pub fn with_timeout<R>(&self, timeout: Duration, act: impl FnOnce(&mut T) -> R) -> Result<R, Error> {
        self.with_in(Some(timeout), act)
    }

    fn with_in<R>(&self, timeout: Option<Duration>, act: impl FnOnce(&mut T) -> R) -> Result<R, Error> {
        let _alone = self.rank.lock()?;
        self.rank.within("`Locked::with`", timeout, |deadline| self.with_until(deadline, act))
    }

    fn with_until<R>(&self, deadline: Nanos, act: impl FnOnce(&mut T) -> R) -> Result<R, Error> {
        match &self.value {
            LockedValue::Plain(place, value) => {
                // Left after the mutex.
                let _held = place.lock(&value.word, deadline)?;
                let mut guarded =
                    value.guarded.lock().map_err(|poisoned| Cause::PoisonedLock { by: poisoned.get_ref().holder })?;
                guarded.holder = self.rank.rank();
                let Guarded { value, draft, .. } = &mut *guarded;
                **draft = **value;
                let result = act(draft);
                core::mem::swap(value, draft);
                Ok(result)
            }
            LockedValue::Views(views, array, lock) => views.locked(*lock, deadline, || {
                let mut own = zeroed_box::<T>();
                array.load_for_update(0, from_mut(&mut own));
                let result = act(&mut own);
                array.store(0, from_ref(&own));
                result
            }),
        }
    }

    /// A whole copy of the present value.
    ///
    /// # Errors
    /// As [`Locked::with`].
    pub fn get(&self) -> Result<T, Error> {
        self.with(|value| *value)
    }

    /// [`Locked::get`] that gives up as [`Locked::with_timeout`] does.
    ///
    /// # Errors
    /// As [`Locked::with_timeout`].
    pub fn get_timeout(&self, timeout: Duration) -> Result<T, Error> {
        self.with_timeout(timeout, |value| *value)
    }
}

impl<T: SharedElement> Clone for Locked<'_, T> {
    fn clone(&self) -> Self {
        Self::of(self.rank, self.value.clone())
    }
}

impl<T: SharedElement> fmt::Debug for Locked<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Locked").finish_non_exhaustive()
    }
}
