//! Allocates what is shared from the beginning on: before the threads begin, by the same calls on every rank.
use super::array::{Array, Plain};
use super::heap::{ArrayLayout, Heap};
use core::panic::Location;
use foregather_machine::Error;

/// Hands out shared memory. Every rank makes the same calls in the same order.
#[derive(Debug)]
pub struct SharedAllocator {
    pub(super) heap: Heap,
    ranks: u32,
    threads: u32,
}

impl SharedAllocator {
    pub(super) fn new(heap: Heap, ranks: u32, threads: u32) -> Self {
        Self { heap, ranks, threads }
    }

    /// The number of ranks.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// The number of threads on all ranks.
    pub fn all(&self) -> u32 {
        self.ranks * self.threads
    }

    /// Allocates `len` elements, each `unit` of them a minipage, the unit of sharing: elements that several
    /// ranks write at the same time belong in different units. Zero at first.
    ///
    /// # Errors
    /// [`Cause::Setting`](foregather_machine::Cause::Setting) for no elements or a unit of none;
    /// [`Cause::Unavailable`](foregather_machine::Cause::Unavailable) if there is no room.
    #[track_caller]
    pub fn array<T: Plain>(&mut self, len: usize, unit: usize) -> Result<Array<T>, Error> {
        self.chunked(len, unit, 1)
    }

    /// Allocates as [`SharedAllocator::array`], with `level` consecutive units to a minipage, although each
    /// is an allocation of its own: the chunking level (Itzkovitz & Schuster 1999 §5).
    ///
    /// # Errors
    /// As [`SharedAllocator::array`].
    #[track_caller]
    pub fn chunked<T: Plain>(&mut self, len: usize, unit: usize, level: u32) -> Result<Array<T>, Error> {
        let array = self.heap.give(ArrayLayout { len, unit, level }, Location::caller())?;
        self.heap.fill(&array)?;
        Ok(array)
    }
}
