//! What is shared: said once, before the threads begin, by the same calls on every rank, so that all agree without a word.
use super::array::{Array, Plain};
use crate::views::{Allocator, Extent, Space, Wish};
use foregather_machine::{Cause, Error};
use std::sync::Arc;

/// Hands out shared memory. Every rank makes the same calls in the same order.
#[derive(Debug)]
pub struct Layout {
    pub(super) allocator: Allocator,
    pub(super) space: Arc<Space>,
    site: u32,
}

impl Layout {
    pub(super) fn new(allocator: Allocator, space: Arc<Space>) -> Self {
        Self { allocator, space, site: 0 }
    }

    /// `len` elements, each `unit` of them a minipage: what is shared as one, so what several ranks write at the same time belongs
    /// into different units. Zero at first.
    ///
    /// # Errors
    /// [`Cause::Setting`] for no elements or a unit of none; [`Cause::Missing`] if there is no room.
    pub fn array<T: Plain>(&mut self, len: usize, unit: usize) -> Result<Array<T>, Error> {
        self.chunked(len, unit, 1)
    }

    /// The same, with `level` consecutive units to a minipage, although each is an allocation of its own: the chunking level
    /// (Itzkovitz & Schuster 1999 §5).
    ///
    /// # Errors
    /// As [`Layout::array`].
    pub fn chunked<T: Plain>(&mut self, len: usize, unit: usize, level: u32) -> Result<Array<T>, Error> {
        if len == 0 || unit == 0 || level == 0 {
            let needs = "at least one element, one of them to a unit, and one unit to a chunk";
            return Err(Cause::Setting { what: "a shared array", needs }.into());
        }
        self.site += 1;
        let bytes = unit.saturating_mul(size_of::<T>());
        let mut units = Vec::with_capacity(len.div_ceil(unit));
        for _ in 0..len.div_ceil(unit) {
            let given = self.allocator.allocate(Wish { site: self.site, bytes, chunk: level })?;
            units.push((given.minipage, Extent { bytes, ..given.extent }));
        }
        Ok(Array::new(Arc::clone(&self.space), units, len, unit))
    }
}
