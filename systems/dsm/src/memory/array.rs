//! Elements of plain data in shared memory.
use super::observer;
use crate::journal::Touch;
use crate::node::WordTable;
use crate::views::Space;
use crate::{Access, Minipage};
use bytemuck::Pod;
use core::fmt;
use core::marker::PhantomData;
use core::ops::Range;
use core::panic::Location;
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::{Relaxed, SeqCst};
use foregather_machine::{Cause, Error};
use std::sync::Arc;

/// Data without padding of which every bit pattern is a value: numbers, and arrays of them.
pub trait Plain: Pod + Send + Sync {}
impl<T: Pod + Send + Sync> Plain for T {}

/// Elements that all ranks share, in units, each of which is a minipage or a part of one.
///
/// Every thread may load and store any of them at any time. There is one valid copy, as if all ranks were
/// threads of one machine: no stale values, and no element of 4 or 8 bytes is ever torn. A thread that does
/// not synchronise may see several words (a longer element, a row) half written: to see a whole one, take a
/// lock, or meet the writer at a barrier.
///
/// Accessors look whether this rank has the access that they need, and ask for it by a call if it has not.
/// Touches through [`Array::pointer`], and of minipages that were taken away in between, fault: a fault asks
/// by a signal, at twice the price.
pub struct Array<T> {
    space: Arc<Space>,
    /// The words that accessors look at; `None`: accessors fault.
    words: Option<Arc<WordTable>>,
    units: Arc<[Unit]>,
    len: usize,
    unit: usize,
    /// Whether threads record what they touch.
    observed: bool,
    lot: Arc<Lot>,
    _of: PhantomData<fn() -> T>,
}

/// What all arrays of a rank share.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) space: Arc<Space>,
    /// See [`Array`]; `None`: accessors fault.
    pub(super) words: Option<Arc<WordTable>>,
    /// Whether threads record what they touch.
    pub(super) observed: bool,
}

/// What all clones of an array share.
#[derive(Debug)]
pub(super) struct Lot {
    /// Where it was allocated.
    place: &'static Location<'static>,
    freed: AtomicBool,
}

impl Lot {
    pub(super) fn at(place: &'static Location<'static>) -> Self {
        Self { place, freed: AtomicBool::new(false) }
    }
}

/// An allocation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unit {
    pub(super) minipage: Minipage,
    pub(super) view: u32,
    /// Its first byte in the object.
    pub(super) offset: usize,
    /// Its first byte in the minipage: 0, unless that is a chunk.
    pub(super) within: u32,
}

/// Consecutive elements in a unit.
#[derive(Clone, Copy, Debug)]
struct ElementRun {
    unit: Unit,
    /// The first element's first byte in the unit.
    byte: usize,
    /// How many elements.
    len: usize,
}

impl ElementRun {
    fn offset(&self) -> usize {
        self.unit.offset + self.byte
    }
}

impl<T> Array<T> {
    /// The last byte of the object that belongs to an element of this unit.
    pub(super) fn last_byte(&self) -> usize {
        let bytes = self.unit.saturating_mul(size_of::<T>()).max(1);
        self.units.iter().map(|unit| unit.offset + bytes - 1).max().unwrap_or(0)
    }

    pub(super) fn is_of(&self, space: &Arc<Space>) -> bool {
        Arc::ptr_eq(&self.space, space)
    }

    #[inline]
    fn touch(&self, touch: Touch, part: &ElementRun, act: impl FnOnce()) {
        let act = || {
            self.ask(touch, part);
            act();
        };
        if self.observed {
            let first = part.unit.within + part.byte as u32;
            observer::touching(part.unit.minipage, touch, first..first + (part.len * size_of::<T>()) as u32, act);
        } else {
            act();
        }
    }

    /// Asks for a part if this rank seems not to have it. A hint only: the touch that follows faults if it
    /// has to.
    #[inline]
    fn ask(&self, touch: Touch, part: &ElementRun) {
        let needs = if touch == Touch::Load { Access::Read } else { Access::Write };
        if self.words.as_ref().is_some_and(|words| words.hint(part.unit.minipage) < needs) {
            self.space.ask(part.unit.view, part.offset(), needs);
        }
    }
}

impl<T: Plain> Array<T> {
    pub(super) fn new(known: &Known, units: Vec<Unit>, (len, unit): (usize, usize), lot: Lot) -> Self {
        let Known { space, words, observed } = known.clone();
        Self { space, words, units: units.into(), len, unit, observed, lot: Arc::new(lot), _of: PhantomData }
    }

    pub(super) fn all_units(&self) -> &[Unit] {
        &self.units
    }

    /// Marks it as freed.
    pub(super) fn end(&self) {
        self.lot.freed.store(true, Relaxed);
    }

    /// # Errors
    /// [`Cause::Refused`] if it was freed.
    pub(super) fn live(&self) -> Result<(), Error> {
        if !self.lot.freed.load(Relaxed) {
            return Ok(());
        }
        let (len, place) = (self.len, self.lot.place);
        let why = format!("the array of {len} elements that was allocated at {place} has been freed: use it before that");
        Err(Cause::Refused { why }.into())
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Always `false`: there are no empty arrays.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many elements are shared as one.
    pub fn unit(&self) -> usize {
        self.unit
    }

    /// The number of units.
    pub fn units(&self) -> usize {
        self.units.len()
    }

    /// The minipage of a unit.
    ///
    /// # Panics
    /// If there is no such unit.
    pub fn minipage(&self, unit: usize) -> Minipage {
        self.units[unit].minipage
    }

    /// The minipages that hold these elements, in order, each once.
    ///
    /// # Panics
    /// If there are no such elements.
    pub fn minipages(&self, elements: Range<usize>) -> impl Iterator<Item = Minipage> {
        assert!(elements.start <= elements.end && elements.end <= self.len, "elements {elements:?} of {}", self.len);
        let units = elements.start / self.unit..elements.end.div_ceil(self.unit).max(elements.start / self.unit);
        let all = self.units[units].iter().map(|unit| unit.minipage);
        let mut before = None;
        all.filter(move |&minipage| before.replace(minipage) != Some(minipage))
    }

    /// The address of an element in this process, for programs that pass it on to system calls or libraries
    /// in C. The elements of its unit lie next to it. Only threads that share memory may use it; a system
    /// call fails (EFAULT) on a closed page, except with
    /// [`Backend::UserfaultThread`](crate::views::Backend::UserfaultThread).
    ///
    /// # Panics
    /// If there is no such element.
    pub fn pointer(&self, at: usize) -> *mut T {
        assert!(at < self.len, "element {at} of {}", self.len);
        let unit = self.units[at / self.unit];
        self.space.application(unit.view, unit.offset + at % self.unit * size_of::<T>()).cast()
    }

    /// Loads one element.
    ///
    /// # Panics
    /// If there is no such element.
    #[inline]
    pub fn get(&self, at: usize) -> T {
        let mut value = T::zeroed();
        let one = self.one(at);
        self.touch(Touch::Load, &one, || self.space.load(one.unit.view, one.offset(), bytemuck::bytes_of_mut(&mut value)));
        value
    }

    /// Stores one element.
    ///
    /// # Panics
    /// If there is no such element.
    #[inline]
    pub fn set(&self, at: usize, value: T) {
        let one = self.one(at);
        self.touch(Touch::Store, &one, || self.space.store(one.unit.view, one.offset(), bytemuck::bytes_of(&value)));
    }

    /// Copies elements out, from `first` on.
    ///
    /// # Panics
    /// If there are fewer elements.
    #[inline]
    pub fn load(&self, first: usize, into: &mut [T]) {
        let mut rest = into;
        for part in self.parts(first, rest.len()) {
            let (now, later) = rest.split_at_mut(part.len);
            let now = bytemuck::cast_slice_mut(now);
            self.touch(Touch::Load, &part, || self.space.load(part.unit.view, part.offset(), now));
            rest = later;
        }
    }

    /// Copies elements out that will be stored next: missing ones are fetched to be written, so there is one
    /// fault instead of two.
    ///
    /// # Panics
    /// As [`Array::load`].
    #[inline]
    pub fn load_for_update(&self, first: usize, into: &mut [T]) {
        for part in self.parts(first, into.len()) {
            // A compare-exchange needs the right to write even where it changes nothing; the rest of a
            // minipage comes with its word.
            let word = self.space.word(part.unit.view, part.offset() / size_of::<u64>() * size_of::<u64>());
            self.touch(Touch::Store, &part, || _ = word.compare_exchange(0, 0, Relaxed, Relaxed));
        }
        self.load(first, into);
    }

    /// Copies elements in, from `first` on.
    ///
    /// # Panics
    /// If there are fewer elements.
    #[inline]
    pub fn store(&self, first: usize, from: &[T]) {
        let mut rest = from;
        for part in self.parts(first, rest.len()) {
            let (now, later) = rest.split_at(part.len);
            let now = bytemuck::cast_slice(now);
            self.touch(Touch::Store, &part, || self.space.store(part.unit.view, part.offset(), now));
            rest = later;
        }
    }

    /// The place of one element.
    #[inline]
    fn one(&self, at: usize) -> ElementRun {
        assert!(at < self.len, "element {at} of {}", self.len);
        let (unit, within) = if self.units.len() == 1 { (0, at) } else { (at / self.unit, at % self.unit) };
        ElementRun { unit: self.units[unit], byte: within * size_of::<T>(), len: 1 }
    }

    /// The places of elements.
    #[inline]
    fn parts(&self, first: usize, len: usize) -> impl Iterator<Item = ElementRun> {
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
            Some(ElementRun { unit: self.units[unit], byte: within * size_of::<T>(), len: many })
        })
    }
}

impl Array<u64> {
    /// Adds to an element atomically, and returns what it was.
    ///
    /// # Panics
    /// If there is no such element.
    pub fn fetch_add(&self, at: usize, n: u64) -> u64 {
        let part = ElementRun { unit: self.units[at / self.unit], byte: at % self.unit * size_of::<u64>(), len: 1 };
        let word = self.space.word(part.unit.view, part.offset());
        let mut before = 0;
        self.touch(Touch::Atomic, &part, || before = word.fetch_add(n, SeqCst));
        before
    }
}

impl<T> Clone for Array<T> {
    fn clone(&self) -> Self {
        let (space, words, units) = (Arc::clone(&self.space), self.words.clone(), Arc::clone(&self.units));
        Self { space, words, units, lot: Arc::clone(&self.lot), ..*self }
    }
}

impl<T> fmt::Debug for Array<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Array").field("len", &self.len).field("unit", &self.unit).finish_non_exhaustive()
    }
}
