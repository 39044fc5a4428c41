//! A value protected by a lock.
use super::plain::SharedElement;
use super::state::RankLocks;
use super::views::Views;
use bytemuck::allocation::{try_zeroed_box, zeroed_box};
use core::slice::{from_mut, from_ref};
use core::time::Duration;
use foregather_dsm::memory as dsm;
use foregather_dsm::memory::local::RankPlace;
use foregather_machine::{Cause, Error, Nanos, Rank};
use foregather_thread::Word;
use std::sync::{Arc, Mutex};

/// A value that ranks change one at a time, such as a counter or a histogram.
/// [`Shared::locked`](crate::Shared::locked) creates it.
///
/// [`Locked::with`] passes a private copy of the value to a closure and stores the changed copy. There is
/// never a reference to shared memory, and a panic in the closure leaves the value unchanged.
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
/// In [`Locked::with`] the value never tears, whatever its length. The next holder of the lock sees
/// everything that a rank has stored anywhere before it released the lock.
///
/// # Cost
/// Between threads: some tens of nanoseconds, and two copies of the value. Between processes: two messages to
/// the lock's manager and a page fault for the value. Batch changes, so that you take the lock less often.
pub struct Locked<'a, T: SharedElement> {
    rank: &'a RankLocks<'a>,
    value: LockedValue<'a, T>,
}

/// Where the value is stored.
pub(super) enum LockedValue<'a, T: SharedElement> {
    /// In this process.
    Plain(&'a RankPlace<'a>, Arc<PlainLock<T>>),
    /// The only element of an array, protected by the lock with that number.
    Views(Views<'a>, dsm::Array<T>, u32),
}

/// A lock within this process. Ranks wait on its word; the rank that has acquired it finds the mutex free.
pub(super) struct PlainLock<T> {
    word: Word,
    guarded: Mutex<LockedData<T>>,
}

/// The data that the lock protects.
struct LockedData<T> {
    value: Box<T>,
    /// The copy passed to `act`, which replaces the value if `act` returns normally.
    draft: Box<T>,
    /// The rank that holds the lock, or held it last.
    holder: Rank,
}

impl<T: SharedElement> PlainLock<T> {
    /// # Errors
    /// [`Cause::Setting`] for a zero-sized value; [`Cause::Unavailable`] if there is not enough memory.
    pub(super) fn zero() -> Result<Arc<Self>, Error> {
        if T::CELLS == 0 {
            return Err(Cause::Setting { what: "a locked value", needs: "at least one byte" }.into());
        }
        let no_room = |()| Cause::Unavailable {
            what: format!("room for a locked value of {} bytes", size_of::<T>()),
            remedy: "share less, or run where more memory is free".to_owned(),
        };
        let (value, draft) = (try_zeroed_box().map_err(no_room)?, try_zeroed_box().map_err(no_room)?);
        Ok(Arc::new(Self { word: Word::zero(), guarded: Mutex::new(LockedData { value, draft, holder: 0 }) }))
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
    pub(super) fn of(rank: &'a RankLocks<'a>, value: LockedValue<'a, T>) -> Self {
        Self { rank, value }
    }

    /// Waits for the lock, passes a copy of the value to `act`, stores the changed copy, and releases the
    /// lock. Inside `act`, this rank must not take another lock or make a collective call, because two ranks
    /// could then wait for each other; both return an error.
    ///
    /// # Errors
    /// [`Cause::PoisonedLock`] with the rank whose `act` panicked while it held this lock: the value is
    /// unchanged, and no rank can take the lock again. [`Cause::Refused`] inside another `with` of this rank.
    /// Between processes, also if a rank is lost or gives up.
    ///
    /// # Panics
    /// If `act` panics: nothing is stored, the lock is poisoned, and the panic propagates.
    pub fn with<R>(&self, act: impl FnOnce(&mut T) -> R) -> Result<R, Error> {
        self.with_in(None, act)
    }

    /// Calls [`Locked::with`], but waits for the lock for at most `timeout`; `act` may take longer. After a
    /// timeout this rank must [return](crate::Shared#timeouts).
    ///
    /// # Errors
    /// [`Cause::TimedOut`]; otherwise as for [`Locked::with`].
    ///
    /// # Panics
    /// As for [`Locked::with`].
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
                // Released after the mutex.
                let _held = place.lock(&value.word, deadline)?;
                let mut guarded =
                    value.guarded.lock().map_err(|poisoned| Cause::PoisonedLock { by: poisoned.get_ref().holder })?;
                guarded.holder = self.rank.rank();
                let LockedData { value, draft, .. } = &mut *guarded;
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

    /// Returns a copy of the current value.
    ///
    /// # Errors
    /// As for [`Locked::with`].
    pub fn get(&self) -> Result<T, Error> {
        self.with(|value| *value)
    }

    /// Returns a copy of the current value, and waits for the lock for at most `timeout`, like
    /// [`Locked::with_timeout`].
    ///
    /// # Errors
    /// As for [`Locked::with_timeout`].
    pub fn get_timeout(&self, timeout: Duration) -> Result<T, Error> {
        self.with_timeout(timeout, |value| *value)
    }
}

impl<T: SharedElement> Clone for Locked<'_, T> {
    fn clone(&self) -> Self {
        Self::of(self.rank, self.value.clone())
    }
}

foregather_machine::debug_by! { [T: SharedElement] Locked<'_, T>, "Locked", |_this| }
