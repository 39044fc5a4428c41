//! Allocates and frees shared memory. Every rank makes the same calls in the same order, so all ranks agree
//! without messages.
use super::array::{Array, Known, Lot, Plain, Unit};
use crate::Minipage;
use crate::views::{Allocator, PAGE, Wish};
use core::panic::Location;
use foregather_machine::{Cause, Error};
use serde::{Deserialize, Serialize};

/// An allocation of the program and its source location, for reports. If several sites contain a minipage, it
/// was freed in between and belongs to the last one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    /// File and line of the call.
    pub place: String,
    /// Bytes of an element.
    pub element_bytes: u32,
    /// Bytes of a unit, each of which is a separate allocation.
    pub unit_bytes: u32,
    /// Units per minipage.
    pub level: u32,
    /// Its minipages, in order. Each contains `level` units; the last one may contain fewer.
    pub minipages: Vec<Minipage>,
}

/// How an array is laid out.
#[derive(Clone, Copy, Debug)]
pub(super) struct ArrayLayout {
    /// Elements.
    pub(super) len: usize,
    /// Elements per unit.
    pub(super) unit: usize,
    /// Units per minipage.
    pub(super) level: u32,
}

/// How many pages get memory at a time: 1 MiB.
const FILLED_AT_ONCE: u32 = 256;

/// The shared memory of one rank.
#[derive(Debug)]
pub(super) struct SharedHeap {
    allocator: Allocator,
    known: Known,
    sites: Vec<Site>,
    /// The number of arrays allocated so far: only units of the same array are chunked together.
    calls: u32,
}

impl SharedHeap {
    pub(super) fn new(allocator: Allocator, known: Known) -> Self {
        Self { allocator, known, sites: vec![], calls: 0 }
    }

    /// Returns all allocations and their source locations.
    pub(super) fn into_sites(self) -> Vec<Site> {
        self.sites
    }

    /// Returns an upper bound of all minipage numbers that were ever assigned.
    pub(super) fn numbers(&self) -> u32 {
        self.allocator.numbers()
    }

    /// # Errors
    /// [`Cause::Setting`] for no elements or an empty unit; [`Cause::Unavailable`] if there is not enough
    /// memory, and then nothing has changed.
    pub(super) fn give<T: Plain>(&mut self, shape: ArrayLayout, place: &'static Location<'static>) -> Result<Array<T>, Error> {
        let ArrayLayout { len, unit, level } = shape;
        if len == 0 || unit == 0 || level == 0 {
            let needs = "at least one element, one of them to a unit, and one unit to a chunk";
            return Err(Cause::Setting { what: "a shared array", needs }.into());
        }
        let bytes = unit.saturating_mul(size_of::<T>());
        if bytes.saturating_mul(len.div_ceil(unit)) > self.known.space.bytes() {
            return Err(self.allocator.full(Wish { site: self.calls, bytes, chunk: level }));
        }
        self.calls += 1;
        let mut units = Vec::new();
        for _ in 0..len.div_ceil(unit) {
            match self.unit(Wish { site: self.calls, bytes, chunk: level }) {
                Ok(unit) => units.push(unit),
                Err(error) => {
                    let gone = self.free(&units)?;
                    self.retire(&gone);
                    return Err(error);
                }
            }
        }
        let mut minipages: Vec<Minipage> = units.iter().map(|unit| unit.minipage).collect();
        minipages.dedup();
        let (element_bytes, unit_bytes) = (size_of::<T>() as u32, bytes as u32);
        let site = Site { place: place.to_string(), element_bytes, unit_bytes, level, minipages };
        // A loop that repeatedly allocates and frees adds only one site.
        self.sites.retain(|other| *other != site);
        self.sites.push(site);
        Ok(Array::new(&self.known, units, (len, unit), Lot::at(place)))
    }

    /// Allocates memory for an array. This is separate from finding room, which has the same result on all
    /// ranks, because this may fail on one rank only.
    ///
    /// # Errors
    /// [`Cause::Os`](foregather_machine::Cause::Os) if this machine has too little memory.
    pub(super) fn fill<T>(&self, array: &Array<T>) -> Result<(), Error> {
        let last = array.last_byte() / PAGE;
        // One call serves many small arrays.
        let pages = (last as u32 + 1).next_multiple_of(FILLED_AT_ONCE).min(self.known.space.pages());
        self.known.space.fill(pages)
    }

    fn unit(&mut self, wish: Wish) -> Result<Unit, Error> {
        let given = self.allocator.allocate(wish)?;
        let first = self.allocator.table().extent(given.minipage).map_or(0, |extent| extent.offset);
        let (minipage, extent) = (given.minipage, given.extent);
        Ok(Unit { minipage, view: extent.view, offset: extent.offset, within: (extent.offset - first) as u32 })
    }

    /// Returns whether the array belongs to this heap.
    pub(super) fn has<T>(&self, array: &Array<T>) -> bool {
        array.is_of(&self.known.space)
    }

    /// Frees units. Returns the minipages that are empty now; [retire](Self::retire) them when all copies are
    /// closed.
    ///
    /// # Errors
    /// [`Cause::Unavailable`] if one of them was freed before.
    pub(super) fn free(&mut self, units: &[Unit]) -> Result<Vec<Minipage>, Error> {
        let mut gone = Vec::new();
        for unit in units {
            gone.extend(self.allocator.free(unit.offset)?);
        }
        Ok(gone)
    }

    /// Makes bytes and numbers available again: the numbers in the same order, so that equal requests get
    /// equal numbers.
    pub(super) fn retire(&mut self, gone: &[Minipage]) {
        gone.iter().rev().for_each(|&minipage| self.allocator.retire(minipage));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::views::{Backend, Shape as Views, Space};
    use std::sync::Arc;

    fn heap(pages: u32) -> SharedHeap {
        let space = Space::new(Views { backend: Some(Backend::Mprotect), ..Views::new(pages, 4) }).unwrap();
        SharedHeap::new(Allocator::new(pages, 4).unwrap(), Known { space: Arc::new(space), words: None, observed: false })
    }

    fn give(heap: &mut SharedHeap, len: usize, level: u32) -> Result<Array<u64>, Error> {
        heap.give(ArrayLayout { len, unit: 16, level }, Location::caller())
    }

    fn free(heap: &mut SharedHeap, array: &Array<u64>) {
        let gone = heap.free(array.all_units()).unwrap();
        heap.retire(&gone);
    }

    #[test]
    fn what_was_freed_is_given_again_with_the_same_numbers_and_one_site() {
        let mut heap = heap(2);
        let kept = give(&mut heap, 16, 1).unwrap();
        let numbers = |array: &Array<u64>| array.minipages(0..array.len()).collect::<Vec<_>>();
        let first = give(&mut heap, 90, 2).unwrap();
        assert_eq!(numbers(&first).len(), 3);
        let (sites, known) = (heap.sites.clone(), heap.numbers());
        for _ in 0..50 {
            free(&mut heap, &first);
            assert_eq!(numbers(&give(&mut heap, 90, 2).unwrap()), numbers(&first));
        }
        assert_eq!(heap.numbers(), known);
        assert!(!numbers(&first).contains(&kept.minipage(0)));
        assert_eq!(heap.into_sites().len(), sites.len());
    }

    #[test]
    fn an_array_for_which_there_is_no_room_takes_none() {
        let mut heap = heap(2);
        let most = give(&mut heap, 128, 1).unwrap();
        for _ in 0..3 {
            let error = give(&mut heap, 1 << 12, 1).unwrap_err();
            assert!(matches!(error.cause(), Cause::Unavailable { .. }), "{error}");
        }
        free(&mut heap, &most);
        give(&mut heap, 128, 1).unwrap();
        assert!(heap.free(&[Unit { minipage: Minipage(0), view: 0, offset: 8, within: 0 }]).is_err());
    }
}
