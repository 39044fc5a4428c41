//! Consecutive elements, in the memory of this process or behind views.
use super::plain::SharedElement;
use bytemuck::allocation::try_zeroed_slice_box;
use core::ops::Range;
use foregather_dsm::memory as dsm;
use foregather_machine::{Cause, Error};
use std::sync::Arc;

/// A clone has the same elements. They are zeros at first, and take no memory until a rank touches them.
pub(super) enum Elements<T: SharedElement> {
    /// Elements of this process.
    Cells(Arc<Box<[T::Cell]>>),
    /// Elements of ranks each of which has its own memory.
    Views(dsm::Array<T>),
}

impl<T: SharedElement> Clone for Elements<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Cells(cells) => Self::Cells(Arc::clone(cells)),
            Self::Views(array) => Self::Views(array.clone()),
        }
    }
}

impl<T: SharedElement> Elements<T> {
    /// # Errors
    /// [`Cause::Setting`] for no elements, or for elements of no bytes; [`Cause::Unavailable`] if there is no
    /// room.
    pub(super) fn of_this_process(len: usize) -> Result<Self, Error> {
        if len == 0 || T::CELLS == 0 {
            return Err(Cause::Setting { what: "shared memory", needs: "at least one element, of at least one byte" }.into());
        }
        let cells = len.checked_mul(T::CELLS).and_then(|cells| try_zeroed_slice_box(cells).ok());
        let no_room = || Cause::Unavailable {
            what: format!("room for {len} shared elements of {} bytes", size_of::<T>()),
            remedy: "share less, or run where more memory is free".to_owned(),
        };
        Ok(Self::Cells(Arc::new(cells.ok_or_else(no_room)?)))
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Cells(cells) => cells.len() / T::CELLS,
            Self::Views(array) => array.len(),
        }
    }

    #[inline]
    #[track_caller]
    pub(super) fn get(&self, at: usize) -> T {
        match self {
            Self::Cells(cells) => T::load(cells_of::<T>(cells, at)),
            Self::Views(array) => get(array, at),
        }
    }

    #[inline]
    #[track_caller]
    pub(super) fn set(&self, at: usize, value: T) {
        match self {
            Self::Cells(cells) => value.store(cells_of::<T>(cells, at)),
            Self::Views(array) => set(array, at, value),
        }
    }

    pub(super) fn read(&self, first: usize, into: &mut [T]) {
        match self {
            Self::Cells(cells) => {
                let from = cells[within::<T>(first, into.len())].chunks_exact(T::CELLS);
                into.iter_mut().zip(from).for_each(|(to, from)| *to = T::load(from));
            }
            Self::Views(array) => array.load(first, into),
        }
    }

    /// Reads elements that will be written next.
    pub(super) fn read_for_update(&self, first: usize, into: &mut [T]) {
        match self {
            Self::Cells(_) => self.read(first, into),
            Self::Views(array) => array.load_for_update(first, into),
        }
    }

    pub(super) fn write(&self, first: usize, from: &[T]) {
        match self {
            Self::Cells(cells) => {
                let to = cells[within::<T>(first, from.len())].chunks_exact(T::CELLS);
                from.iter().zip(to).for_each(|(from, to)| from.store(to));
            }
            Self::Views(array) => array.store(first, from),
        }
    }
}

/// The cells of one element.
#[inline]
#[track_caller]
fn cells_of<T: SharedElement>(cells: &[T::Cell], at: usize) -> &[T::Cell] {
    let len = cells.len() / T::CELLS;
    if at < len { &cells[at * T::CELLS..][..T::CELLS] } else { no_element(at, len) }
}

/// A function of its own: the way of threads stays short.
#[inline(never)]
#[track_caller]
fn get<T: SharedElement>(array: &dsm::Array<T>, at: usize) -> T {
    if at < array.len() { array.get(at) } else { no_element(at, array.len()) }
}

/// A function of its own, too.
#[inline(never)]
#[track_caller]
fn set<T: SharedElement>(array: &dsm::Array<T>, at: usize, value: T) {
    if at < array.len() { array.set(at, value) } else { no_element(at, array.len()) }
}

#[cold]
#[track_caller]
fn no_element(at: usize, len: usize) -> ! {
    panic!("there is no element {at} of {len}")
}

/// The cells of those elements; the caller has checked that they exist.
fn within<T: SharedElement>(first: usize, len: usize) -> Range<usize> {
    first * T::CELLS..(first + len) * T::CELLS
}
