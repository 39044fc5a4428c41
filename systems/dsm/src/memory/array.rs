//! Elements of plain data in shared memory.
use crate::Minipage;
use crate::views::{Extent, Space};
use bytemuck::Pod;
use core::fmt;
use core::marker::PhantomData;
use core::ops::Range;
use std::sync::Arc;

/// Data of which every pattern of bits is a value, without padding: numbers, and arrays of them.
pub trait Plain: Pod + Send + Sync {}
impl<T: Pod + Send + Sync> Plain for T {}

/// Elements that all ranks share, in units of which each is a minipage, or a part of one.
///
/// Every thread may load and store any of them at any time. There is one copy that counts, as if all ranks were threads of one
/// machine: no stale values, and no word of 8 bytes is ever torn. What takes several words (a longer element, a row) can be seen half written by who does not
/// synchronise: who needs a whole one takes a lock, or meets the writer at a barrier.
pub struct Array<T> {
    space: Arc<Space>,
    units: Arc<[(Minipage, Extent)]>,
    len: usize,
    unit: usize,
    _of: PhantomData<fn() -> T>,
}

impl<T: Plain> Array<T> {
    pub(super) fn new(space: Arc<Space>, units: Vec<(Minipage, Extent)>, len: usize, unit: usize) -> Self {
        Self { space, units: units.into(), len, unit, _of: PhantomData }
    }

    /// How many elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Are there none? Never: there is no such array.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many elements are shared as one.
    pub fn unit(&self) -> usize {
        self.unit
    }

    /// How many units there are.
    pub fn units(&self) -> usize {
        self.units.len()
    }

    /// The minipage of a unit.
    ///
    /// # Panics
    /// If there is no such unit.
    pub fn minipage(&self, unit: usize) -> Minipage {
        self.units[unit].0
    }

    /// The minipages that hold these elements, in order, each once.
    ///
    /// # Panics
    /// If there are no such elements.
    pub fn minipages(&self, elements: Range<usize>) -> impl Iterator<Item = Minipage> {
        assert!(elements.start <= elements.end && elements.end <= self.len, "elements {elements:?} of {}", self.len);
        let units = elements.start / self.unit..elements.end.div_ceil(self.unit).max(elements.start / self.unit);
        let all = self.units[units].iter().map(|(minipage, _)| *minipage);
        let mut before = None;
        all.filter(move |&minipage| before.replace(minipage) != Some(minipage))
    }

    /// One element.
    ///
    /// # Panics
    /// If there is no such element.
    #[inline]
    pub fn get(&self, at: usize) -> T {
        let mut value = T::zeroed();
        self.load(at, core::slice::from_mut(&mut value));
        value
    }

    /// Sets one element.
    ///
    /// # Panics
    /// If there is no such element.
    #[inline]
    pub fn set(&self, at: usize, value: T) {
        self.store(at, &[value]);
    }

    /// Copies elements out, from `first` on.
    ///
    /// # Panics
    /// If there are not so many.
    #[inline]
    pub fn load(&self, first: usize, into: &mut [T]) {
        let mut rest = into;
        for (view, offset, len) in self.parts(first, rest.len()) {
            let (now, later) = rest.split_at_mut(len);
            self.space.load(view, offset, bytemuck::cast_slice_mut(now));
            rest = later;
        }
    }

    /// Copies elements in, from `first` on.
    ///
    /// # Panics
    /// If there are not so many.
    #[inline]
    pub fn store(&self, first: usize, from: &[T]) {
        let mut rest = from;
        for (view, offset, len) in self.parts(first, rest.len()) {
            let (now, later) = rest.split_at(len);
            self.space.store(view, offset, bytemuck::cast_slice(now));
            rest = later;
        }
    }

    /// Where elements stand: view, byte of the object, and how many of them follow each other there.
    #[inline]
    fn parts(&self, first: usize, len: usize) -> impl Iterator<Item = (u32, usize, usize)> {
        let end = first.checked_add(len).filter(|&end| end <= self.len);
        let end = end.unwrap_or_else(|| panic!("elements {first} and {len} on of {}", self.len));
        let mut at = first;
        core::iter::from_fn(move || {
            let (unit, within) = (at / self.unit, at % self.unit);
            let many = (end - at).min(self.unit - within);
            if many == 0 {
                return None;
            }
            at += many;
            let (_, extent) = self.units[unit];
            Some((extent.view, extent.offset + within * size_of::<T>(), many))
        })
    }
}

impl Array<u64> {
    /// Adds to an element, all at once, and gives what it was.
    ///
    /// # Panics
    /// If there is no such element.
    pub fn fetch_add(&self, at: usize, n: u64) -> u64 {
        let (_, extent) = self.units[at / self.unit];
        let word = self.space.word(extent.view, extent.offset + at % self.unit * size_of::<u64>());
        word.fetch_add(n, core::sync::atomic::Ordering::SeqCst)
    }
}

impl<T> Clone for Array<T> {
    fn clone(&self) -> Self {
        Self { space: Arc::clone(&self.space), units: Arc::clone(&self.units), ..*self }
    }
}

impl<T> fmt::Debug for Array<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Array").field("len", &self.len).field("unit", &self.unit).finish_non_exhaustive()
    }
}
