//! Arrays of shared elements.
use super::elements::Elements;
use super::plain::SharedElement;
use core::marker::PhantomData;

/// Elements that all ranks can load and store, one at a time or in ranges.
/// [`Shared::array`](crate::Shared::array) creates it; a clone refers to the same elements.
///
/// Values are copied in and out. There is never a reference to shared memory, because another rank may write
/// it at any time, even while a lock is held.
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
/// Loads and stores of an element of 1, 2, 4 or 8 bytes are relaxed atomics: a load returns the old or the
/// new value, and does not order accesses to other elements. Accesses to a longer element, a range or a row
/// may tear unless a barrier or a lock separates them. A barrier orders all accesses.
///
/// # Cost
/// Between threads: about 1 ns per element, 0.25 ns in ranges. Between processes: 2 to 10 ns per element that
/// this rank has a copy of, and a page fault, some microseconds within a host, for each page (about 4 KiB)
/// that another rank has written since.
///
/// An array belongs to its rank's thread (it is not `Send`); copy out the elements that other threads need.
pub struct Array<T: SharedElement> {
    elements: Elements<T>,
    /// Not `Send`: between processes, only a rank's thread can access the elements.
    _here: PhantomData<*const ()>,
}

impl<T: SharedElement> Array<T> {
    pub(super) fn of(elements: Elements<T>) -> Self {
        Self { elements, _here: PhantomData }
    }

    /// Returns the number of elements.
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "it has at least one element")]
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// Loads the element at index `at`.
    ///
    /// # Panics
    /// If `at` is out of bounds.
    #[inline]
    #[track_caller]
    pub fn get(&self, at: usize) -> T {
        self.elements.get(at)
    }

    /// Stores `value` at index `at`.
    ///
    /// # Panics
    /// If `at` is out of bounds.
    #[inline]
    #[track_caller]
    pub fn set(&self, at: usize, value: T) {
        self.elements.set(at, value);
    }

    /// Copies elements from index `first` on into `into`, until it is full.
    ///
    /// # Panics
    /// If the range is out of bounds.
    #[track_caller]
    pub fn read(&self, first: usize, into: &mut [T]) {
        self.has_all(first, into.len());
        self.elements.read(first, into);
    }

    /// Copies `from` into the elements from index `first` on.
    ///
    /// # Panics
    /// If the range is out of bounds.
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

foregather_machine::debug_by! { [T: SharedElement] Array<T>, "Array", |this| len: this.len() }
