//! Vectors in a caller's memory: a pointer, a length and an increment, behind functions that cannot leave
//! them.
//!
//! References would not do: elements that lie between those of a vector may belong to another member of the
//! team.
use crate::error::{Cause, Error};
use crate::scalar::Scalar;
use std::marker::PhantomData;
use std::ops::Range;

/// A vector that is read.
#[derive(Debug)]
pub struct Vector<'a, T> {
    pub(super) first: *const T,
    pub(super) len: usize,
    pub(super) inc: isize,
    held: PhantomData<&'a [T]>,
}

/// A vector that is written.
#[derive(Debug)]
pub struct VectorMut<'a, T> {
    pub(super) first: *mut T,
    pub(super) len: usize,
    pub(super) inc: isize,
    held: PhantomData<&'a mut [T]>,
}

// SAFETY: it gives out no more than a shared slice does, which can be sent if `T: Sync`.
unsafe impl<T: Sync> Send for Vector<'_, T> {}
// SAFETY: it gives out no more than a shared slice does, which can be shared if `T: Sync`.
unsafe impl<T: Sync> Sync for Vector<'_, T> {}
// SAFETY: it gives out no more than an exclusive slice does, which can be sent if `T: Send`.
unsafe impl<T: Send> Send for VectorMut<'_, T> {}
// SAFETY: through a shared reference it only reads, as a shared reference to an exclusive slice does.
unsafe impl<T: Sync> Sync for VectorMut<'_, T> {}

impl<T> Clone for Vector<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Vector<'_, T> {}

/// Fails unless `given` elements are enough; returns where the first element of the vector lies.
fn fit(given: usize, len: usize, inc: isize) -> Result<usize, Error> {
    let back = len.saturating_sub(1).checked_mul(inc.unsigned_abs());
    let wanted = if len == 0 { 0 } else { back.map_or(usize::MAX, |back| back.saturating_add(1)) };
    if given < wanted {
        return Err(Error { routine: "vector", position: 1, name: "slice", cause: Cause::Short { given, wanted } });
    }
    Ok(if inc < 0 { wanted.saturating_sub(1) } else { 0 })
}

/// Where the first element lies if `lowest` is the lowest address, as the standard has it for negative
/// increments.
#[inline]
fn first_of(len: usize, inc: isize) -> isize {
    if inc < 0 { (1 - len.max(1) as isize) * inc } else { 0 }
}

impl<'a, T: Scalar> Vector<'a, T> {
    /// `len` elements of a slice, `inc` apart; with a negative increment the first is at the end, as the
    /// standard has it.
    ///
    /// # Errors
    /// If the slice is too short.
    pub fn new(slice: &'a [T], len: usize, inc: isize) -> Result<Self, Error> {
        let first = fit(slice.len(), len, inc)?;
        Ok(Self { first: slice.as_ptr().wrapping_add(first), len, inc, held: PhantomData })
    }

    /// `len` elements that lie `inc` apart, the lowest address being `lowest`.
    ///
    /// # Safety
    /// For `'a` all these elements can be read, and no thread writes them. `lowest` may be anything if `len`
    /// is nought.
    pub unsafe fn from_raw(lowest: *const T, len: usize, inc: isize) -> Self {
        Self { first: lowest.wrapping_offset(first_of(len, inc)), len, inc, held: PhantomData }
    }

    pub(super) fn from_parts(first: *const T, len: usize, inc: isize) -> Self {
        Self { first, len, inc, held: PhantomData }
    }

    /// Its number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Element `at`, from nought.
    ///
    /// # Panics
    /// If there is none.
    #[inline(always)]
    #[must_use]
    pub fn get(&self, at: usize) -> T {
        assert!(at < self.len, "element {at} of a vector of {}", self.len);
        // SAFETY: the constructors have seen to it that all `len` elements can be read.
        unsafe { *self.first.offset(at as isize * self.inc) }
    }

    /// The elements in a run of indices.
    ///
    /// # Panics
    /// If the run leaves the vector.
    #[inline(always)]
    #[must_use]
    pub fn range(self, range: Range<usize>) -> Self {
        assert!(range.start <= range.end && range.end <= self.len, "{range:?} of a vector of {}", self.len);
        Self { first: self.first.wrapping_offset(range.start as isize * self.inc), len: range.len(), ..self }
    }

    /// The elements as a slice, if they lie side by side.
    #[inline(always)]
    #[must_use]
    pub fn as_slice(&self) -> Option<&'a [T]> {
        if self.len == 0 {
            return Some(&[]);
        }
        // SAFETY: the elements lie side by side and can be read for `'a`.
        (self.inc == 1 || self.len == 1).then(|| unsafe { std::slice::from_raw_parts(self.first, self.len) })
    }

    /// The elements in order.
    pub fn iter(self) -> impl Iterator<Item = T> + use<'a, T> {
        (0..self.len).map(move |at| self.get(at))
    }
}

impl<'a, T: Scalar> VectorMut<'a, T> {
    /// `len` elements of a slice, `inc` apart; with a negative increment the first is at the end, as the
    /// standard has it.
    ///
    /// # Errors
    /// If the slice is too short.
    pub fn new(slice: &'a mut [T], len: usize, inc: isize) -> Result<Self, Error> {
        let first = fit(slice.len(), len, inc)?;
        Ok(Self { first: slice.as_mut_ptr().wrapping_add(first), len, inc, held: PhantomData })
    }

    /// `len` elements that lie `inc` apart, the lowest address being `lowest`.
    ///
    /// # Safety
    /// For `'a` all these elements can be read and written, and no other thread or view does. `lowest` may be
    /// anything if `len` is nought.
    pub unsafe fn from_raw(lowest: *mut T, len: usize, inc: isize) -> Self {
        Self { first: lowest.wrapping_offset(first_of(len, inc)), len, inc, held: PhantomData }
    }

    pub(super) fn from_parts(first: *mut T, len: usize, inc: isize) -> Self {
        Self { first, len, inc, held: PhantomData }
    }

    /// Its number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether all elements have places of their own: an increment of nought puts them all into one.
    pub(crate) fn is_spread(&self) -> bool {
        self.inc != 0 || self.len <= 1
    }

    /// The same elements, to read.
    #[inline(always)]
    #[must_use]
    pub fn view(&self) -> Vector<'_, T> {
        Vector::from_parts(self.first, self.len, self.inc)
    }

    /// The same elements, for a shorter time.
    #[inline(always)]
    pub fn reborrow(&mut self) -> VectorMut<'_, T> {
        VectorMut::from_parts(self.first, self.len, self.inc)
    }

    /// Element `at`, from nought.
    ///
    /// # Panics
    /// If there is none.
    #[inline(always)]
    #[must_use]
    pub fn get(&self, at: usize) -> T {
        self.view().get(at)
    }

    /// Writes element `at`.
    ///
    /// # Panics
    /// If there is none.
    #[inline(always)]
    pub fn set(&mut self, at: usize, value: T) {
        assert!(at < self.len, "element {at} of a vector of {}", self.len);
        // SAFETY: the constructors have seen to it that all `len` elements can be written, and this borrow is
        // exclusive.
        unsafe { *self.first.offset(at as isize * self.inc) = value }
    }

    /// Changes every element.
    #[inline(always)]
    pub(crate) fn map(&mut self, mut change: impl FnMut(T) -> T) {
        for at in 0..self.len {
            self.set(at, change(self.get(at)));
        }
    }

    /// The elements in a run of indices.
    ///
    /// # Panics
    /// If the run leaves the vector.
    #[inline(always)]
    #[must_use]
    pub fn range(self, range: Range<usize>) -> Self {
        assert!(range.start <= range.end && range.end <= self.len, "{range:?} of a vector of {}", self.len);
        Self { first: self.first.wrapping_offset(range.start as isize * self.inc), len: range.len(), ..self }
    }

    /// The elements before `at`, and the others. With an increment of nought the second half is empty.
    ///
    /// # Panics
    /// If there are fewer.
    #[must_use]
    pub fn split(self, at: usize) -> (Self, Self) {
        assert!(at <= self.len && (self.inc != 0 || at == self.len || at == 0), "element {at} of a vector of {}", self.len);
        let after = self.first.wrapping_offset(at as isize * self.inc);
        (Self::from_parts(self.first, at, self.inc), Self::from_parts(after, self.len - at, self.inc))
    }

    /// The elements as a slice, if they lie side by side.
    #[inline(always)]
    #[must_use]
    pub fn into_slice(self) -> Option<&'a mut [T]> {
        if self.len == 0 {
            return Some(&mut []);
        }
        // SAFETY: the elements lie side by side, can be written for `'a`, and this view of them is given up.
        (self.inc == 1 || self.len == 1).then(|| unsafe { std::slice::from_raw_parts_mut(self.first, self.len) })
    }
}

impl<'a, T: Scalar> From<&'a [T]> for Vector<'a, T> {
    fn from(slice: &'a [T]) -> Self {
        Self::from_parts(slice.as_ptr(), slice.len(), 1)
    }
}

impl<'a, T: Scalar> From<&'a mut [T]> for VectorMut<'a, T> {
    fn from(slice: &'a mut [T]) -> Self {
        Self::from_parts(slice.as_mut_ptr(), slice.len(), 1)
    }
}
