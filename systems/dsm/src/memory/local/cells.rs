//! Arrays in the memory of this process.
use bytemuck::Zeroable;
use bytemuck::allocation::try_zeroed_slice_box;
use core::ops::Range;
use foregather_machine::{Cause, Error};
use std::sync::Arc;

/// A value as cells that are loaded and stored one by one with relaxed atomics, so that two threads that
/// access a cell cause no data race.
pub trait InCells: Sized {
    /// One cell.
    type Cell: Zeroable + Send + Sync;
    /// The number of cells of a value.
    const CELLS: usize;
    /// Loads the value from its cells.
    fn load(from: &[Self::Cell]) -> Self;
    /// Stores it into its cells.
    fn store(self, to: &[Self::Cell]);
}

macro_rules! numbers {
    ($($number:ident in $cell:ident: $pack:expr, $unpack:expr;)*) => {$(
        impl InCells for $number {
            type Cell = core::sync::atomic::$cell;
            const CELLS: usize = 1;

            #[inline]
            fn load(from: &[Self::Cell]) -> Self {
                $unpack(from[0].load(core::sync::atomic::Ordering::Relaxed))
            }

            #[inline]
            fn store(self, to: &[Self::Cell]) {
                to[0].store($pack(self), core::sync::atomic::Ordering::Relaxed);
            }
        }
    )*};
}

use core::convert::identity;
numbers! {
    u8 in AtomicU8: identity, identity;
    u16 in AtomicU16: identity, identity;
    u32 in AtomicU32: identity, identity;
    u64 in AtomicU64: identity, identity;
    usize in AtomicUsize: identity, identity;
    i8 in AtomicI8: identity, identity;
    i16 in AtomicI16: identity, identity;
    i32 in AtomicI32: identity, identity;
    i64 in AtomicI64: identity, identity;
    isize in AtomicIsize: identity, identity;
    f32 in AtomicU32: f32::to_bits, f32::from_bits;
    f64 in AtomicU64: f64::to_bits, f64::from_bits;
}

impl<T: InCells, const N: usize> InCells for [T; N] {
    type Cell = T::Cell;
    const CELLS: usize = N * T::CELLS;

    #[inline]
    fn load(from: &[Self::Cell]) -> Self {
        core::array::from_fn(|at| T::load(&from[at * T::CELLS..][..T::CELLS]))
    }

    #[inline]
    fn store(self, to: &[Self::Cell]) {
        for (at, value) in self.into_iter().enumerate() {
            value.store(&to[at * T::CELLS..][..T::CELLS]);
        }
    }
}

/// Elements in the memory of this process. A clone refers to the same ones. They are zero at first, and use
/// no memory until a thread touches them.
pub struct ElementCells<T: InCells>(Arc<Box<[T::Cell]>>);

impl<T: InCells> Clone for ElementCells<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: InCells> ElementCells<T> {
    /// Allocates that many elements, initially zero.
    ///
    /// # Errors
    /// [`Cause::Setting`] for no elements or zero-sized elements; [`Cause::Unavailable`] if there is not
    /// enough memory.
    pub fn zeroed(len: usize) -> Result<Self, Error> {
        if len == 0 || T::CELLS == 0 {
            return Err(Cause::Setting { what: "shared memory", needs: "at least one element, of at least one byte" }.into());
        }
        let cells = len.checked_mul(T::CELLS).and_then(|cells| try_zeroed_slice_box(cells).ok());
        let no_room = || Cause::Unavailable {
            what: format!("room for {len} shared elements of {} bytes", size_of::<T>()),
            remedy: "share less, or run where more memory is free".to_owned(),
        };
        Ok(Self(Arc::new(cells.ok_or_else(no_room)?)))
    }

    /// Returns the number of elements.
    #[inline]
    #[allow(clippy::len_without_is_empty, reason = "there is at least one")]
    pub fn len(&self) -> usize {
        self.0.len() / T::CELLS
    }

    /// Loads the element at index `at`.
    ///
    /// # Panics
    /// If `at` is out of bounds.
    #[inline]
    #[track_caller]
    pub fn get(&self, at: usize) -> T {
        T::load(self.of(at))
    }

    /// Stores `value` at index `at`.
    ///
    /// # Panics
    /// If `at` is out of bounds.
    #[inline]
    #[track_caller]
    pub fn set(&self, at: usize, value: T) {
        value.store(self.of(at));
    }

    /// Loads elements from index `first` on. The caller has checked the range.
    pub fn read(&self, first: usize, into: &mut [T]) {
        let from = self.0[within::<T>(first, into.len())].chunks_exact(T::CELLS);
        into.iter_mut().zip(from).for_each(|(to, from)| *to = T::load(from));
    }

    /// Stores elements from index `first` on. The caller has checked the range.
    pub fn write(&self, first: usize, from: &[T])
    where
        T: Copy,
    {
        let to = self.0[within::<T>(first, from.len())].chunks_exact(T::CELLS);
        from.iter().zip(to).for_each(|(from, to)| from.store(to));
    }

    /// Returns the cells of one element.
    #[inline]
    #[track_caller]
    fn of(&self, at: usize) -> &[T::Cell] {
        if at < self.len() { &self.0[at * T::CELLS..][..T::CELLS] } else { no_element(at, self.len()) }
    }
}

/// Panics, because index `at` is out of bounds.
#[cold]
#[track_caller]
pub fn no_element(at: usize, len: usize) -> ! {
    panic!("there is no element {at} of {len}")
}

fn within<T: InCells>(first: usize, len: usize) -> Range<usize> {
    first * T::CELLS..(first + len) * T::CELLS
}
