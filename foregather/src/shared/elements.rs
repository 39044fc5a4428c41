//! Consecutive elements, in this process's memory or in the views of distributed shared memory.
use super::plain::SharedElement;
use foregather_dsm::memory as dsm;
use foregather_dsm::memory::local::{ElementCells, no_element};
use foregather_machine::Error;

/// The elements of an array. A clone refers to the same ones. They are zero at first, and use no memory until
/// a rank touches them.
pub(super) enum Elements<T: SharedElement> {
    /// Elements of this process.
    Cells(ElementCells<T>),
    /// Elements of ranks with separate memories.
    Views(dsm::Array<T>),
}

impl<T: SharedElement> Clone for Elements<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Cells(cells) => Self::Cells(cells.clone()),
            Self::Views(array) => Self::Views(array.clone()),
        }
    }
}

impl<T: SharedElement> Elements<T> {
    /// # Errors
    /// As [`ElementCells::zeroed`].
    pub(super) fn of_this_process(len: usize) -> Result<Self, Error> {
        ElementCells::zeroed(len).map(Self::Cells)
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Cells(cells) => cells.len(),
            Self::Views(array) => array.len(),
        }
    }

    #[inline]
    #[track_caller]
    pub(super) fn get(&self, at: usize) -> T {
        match self {
            Self::Cells(cells) => cells.get(at),
            Self::Views(array) => get(array, at),
        }
    }

    #[inline]
    #[track_caller]
    pub(super) fn set(&self, at: usize, value: T) {
        match self {
            Self::Cells(cells) => cells.set(at, value),
            Self::Views(array) => set(array, at, value),
        }
    }

    pub(super) fn read(&self, first: usize, into: &mut [T]) {
        match self {
            Self::Cells(cells) => cells.read(first, into),
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
            Self::Cells(cells) => cells.write(first, from),
            Self::Views(array) => array.store(first, from),
        }
    }
}

/// Not inlined, to keep the fast path of threads short.
#[inline(never)]
#[track_caller]
fn get<T: SharedElement>(array: &dsm::Array<T>, at: usize) -> T {
    if at < array.len() { array.get(at) } else { no_element(at, array.len()) }
}

/// Not inlined, for the same reason.
#[inline(never)]
#[track_caller]
fn set<T: SharedElement>(array: &dsm::Array<T>, at: usize, value: T) {
    if at < array.len() { array.set(at, value) } else { no_element(at, array.len()) }
}
