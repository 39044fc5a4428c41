//! Elements in a row.
use super::elements::Elements;
use super::plain::SharedElement;
use core::fmt;
use core::marker::PhantomData;

/// Elements that all ranks load and store, one by one or copied by ranges.
/// [`Shared::array`](crate::Shared::array) makes one; a clone has the same elements.
///
/// Values go in and out. There is never a reference to shared memory: another rank may write it at any time,
/// locks or not.
///
/// ```
/// let sums = foregather::shared(4, |me| {
///     let squares = me.array::<u64>(1_000)?;
///     for at in me.share(squares.len()) {
///         squares.set(at, (at * at) as u64);
///     }
///     me.barrier()?; // from here on all of it is there for all
///     let mut last = [0; 3];
///     squares.read(997, &mut last);
///     Ok(last)
/// })?;
/// assert_eq!(sums, [[997 * 997, 998 * 998, 999 * 999]; 4]);
/// # Ok::<(), foregather::Error>(())
/// ```
///
/// # Memory model
/// An element of 1, 2, 4 or 8 bytes is loaded and stored whole, by relaxed atomics: it is the old or the new
/// value, and says nothing about other elements. A longer one, a range or a row is whole only behind a
/// barrier or a lock; a barrier orders everything.
///
/// # Cost
/// Threads: about a nanosecond an element, a quarter of one in ranges. Ranks of a launcher: two to ten
/// nanoseconds while this rank has a copy, and a fault, some microseconds within a host, for each page (about
/// 4 KiB) that another rank has written since.
///
/// It belongs to its rank's thread (it is not `Send`): other threads get copies of what they need.
pub struct Array<T: SharedElement> {
    elements: Elements<T>,
    /// A thread that is no rank could not touch it behind views.
    _here: PhantomData<*const ()>,
}

impl<T: SharedElement> Array<T> {
    pub(super) fn of(elements: Elements<T>) -> Self {
        Self { elements, _here: PhantomData }
    }

    /// The number of elements.
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "it has at least one element")]
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// Loads one element.
    ///
    /// # Panics
    /// If there is no such element.
    #[inline]
    #[track_caller]
    pub fn get(&self, at: usize) -> T {
        self.elements.get(at)
    }

    /// Stores one element.
    ///
    /// # Panics
    /// If there is no such element.
    #[inline]
    #[track_caller]
    pub fn set(&self, at: usize, value: T) {
        self.elements.set(at, value);
    }

    /// Copies elements out, from `first` on, as many as `into` has.
    ///
    /// # Panics
    /// If there are fewer elements.
    #[track_caller]
    pub fn read(&self, first: usize, into: &mut [T]) {
        self.has_all(first, into.len());
        self.elements.read(first, into);
    }

    /// Copies elements in, from `first` on.
    ///
    /// # Panics
    /// If there are fewer elements.
    #[track_caller]
    pub fn write(&self, first: usize, from: &[T]) {
        self.has_all(first, from.len());
        self.elements.write(first, from);
    }

    #[track_caller]
    fn has_all(&self, first: usize, count: usize) {
        let len = self.len();
        assert!(first <= len && count <= len - first, "there are no {count} elements from {first} on, of {len}");
    }
}

impl<T: SharedElement> Clone for Array<T> {
    fn clone(&self) -> Self {
        Self::of(self.elements.clone())
    }
}

impl<T: SharedElement> fmt::Debug for Array<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Array").field("len", &self.len()).finish_non_exhaustive()
    }
}
