//! Allocates shared memory before the threads start, with the same calls on every rank.
use super::array::{Array, Plain};
use super::heap::{ArrayLayout, SharedHeap};
use core::panic::Location;
use foregather_machine::Error;

/// Allocates shared memory. Every rank makes the same calls in the same order.
#[derive(Debug)]
pub struct SharedAllocator {
    pub(super) heap: SharedHeap,
    ranks: u32,
    threads: u32,
}

impl SharedAllocator {
    pub(super) fn new(heap: SharedHeap, ranks: u32, threads: u32) -> Self {
        Self { heap, ranks, threads }
    }

    /// Returns the number of ranks.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// Returns the number of threads on all ranks.
    pub fn all(&self) -> u32 {
        self.ranks * self.threads
    }

    /// Allocates `len` elements, initially zero. Every `unit` elements form a minipage, the unit of sharing:
    /// elements that several ranks write at the same time should be in different units.
    ///
    /// # Errors
    /// [`Cause::Setting`](foregather_machine::Cause::Setting) if `len` or `unit` is 0;
    /// [`Cause::Unavailable`](foregather_machine::Cause::Unavailable) if there is not enough memory.
    #[track_caller]
    pub fn array<T: Plain>(&mut self, len: usize, unit: usize) -> Result<Array<T>, Error> {
        self.chunked(len, unit, 1)
    }

    /// Allocates like [`SharedAllocator::array`], with `level` consecutive units per minipage, although each
    /// is an allocation of its own: the chunking level (Itzkovitz & Schuster 1999 §5).
    ///
    /// # Errors
    /// As for [`SharedAllocator::array`].
    #[track_caller]
    pub fn chunked<T: Plain>(&mut self, len: usize, unit: usize, level: u32) -> Result<Array<T>, Error> {
        let array = self.heap.give(ArrayLayout { len, unit, level }, Location::caller())?;
        self.heap.fill(&array)?;
        Ok(array)
    }
}
