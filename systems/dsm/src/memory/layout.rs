//! What is shared: said once, before the threads begin, by the same calls on every rank, so that all agree without a word.
use super::array::{Array, Plain, Unit};
use super::settings::Settings;
use crate::Minipage;
use crate::views::{Allocator, Space, Wish};
use core::panic::Location;
use foregather_machine::{Cause, Error};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Hands out shared memory. Every rank makes the same calls in the same order.
#[derive(Debug)]
pub struct Layout {
    pub(super) allocator: Allocator,
    pub(super) space: Arc<Space>,
    pub(super) sites: Vec<Site>,
    observed: bool,
    ranks: u32,
    threads: u32,
}

/// Where a program allocates, and what: reports name it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    /// File and line of the call.
    pub place: String,
    /// Bytes of an element.
    pub element_bytes: u32,
    /// Bytes of a unit, an allocation of its own.
    pub unit_bytes: u32,
    /// Units to a minipage.
    pub level: u32,
    /// Its minipages, one after the other: each holds `level` units, but the last one may hold fewer.
    pub minipages: Vec<Minipage>,
}

impl Layout {
    pub(super) fn new(allocator: Allocator, space: Arc<Space>, (ranks, settings): (u32, &Settings)) -> Self {
        Self { allocator, space, sites: vec![], observed: settings.journal > 0, ranks, threads: settings.threads }
    }

    /// How many ranks there are.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// How many threads there are on all ranks.
    pub fn all(&self) -> u32 {
        self.ranks * self.threads
    }

    /// `len` elements, each `unit` of them a minipage: what is shared as one, so what several ranks write at the same time belongs
    /// into different units. Zero at first.
    ///
    /// # Errors
    /// [`Cause::Setting`] for no elements or a unit of none; [`Cause::Missing`] if there is no room.
    #[track_caller]
    pub fn array<T: Plain>(&mut self, len: usize, unit: usize) -> Result<Array<T>, Error> {
        self.chunked(len, unit, 1)
    }

    /// The same, with `level` consecutive units to a minipage, although each is an allocation of its own: the chunking level
    /// (Itzkovitz & Schuster 1999 §5).
    ///
    /// # Errors
    /// As [`Layout::array`].
    #[track_caller]
    pub fn chunked<T: Plain>(&mut self, len: usize, unit: usize, level: u32) -> Result<Array<T>, Error> {
        if len == 0 || unit == 0 || level == 0 {
            let needs = "at least one element, one of them to a unit, and one unit to a chunk";
            return Err(Cause::Setting { what: "a shared array", needs }.into());
        }
        let number = self.sites.len() as u32 + 1;
        let bytes = unit.saturating_mul(size_of::<T>());
        let mut units = Vec::with_capacity(len.div_ceil(unit));
        for _ in 0..len.div_ceil(unit) {
            let given = self.allocator.allocate(Wish { site: number, bytes, chunk: level })?;
            let within = (given.extent.offset - self.first_byte(given.minipage)) as u32;
            units.push(Unit { minipage: given.minipage, view: given.extent.view, offset: given.extent.offset, within });
        }
        let mut minipages: Vec<Minipage> = units.iter().map(|unit| unit.minipage).collect();
        minipages.dedup();
        self.sites.push(Site {
            place: Location::caller().to_string(),
            element_bytes: size_of::<T>() as u32,
            unit_bytes: bytes as u32,
            level,
            minipages,
        });
        Ok(Array::new(Arc::clone(&self.space), units, (len, unit), self.observed))
    }

    fn first_byte(&self, minipage: Minipage) -> usize {
        self.allocator.table().extent(minipage).map_or(0, |extent| extent.offset)
    }
}
