//! Arrays of plain data in shared memory.
use super::observer;
use crate::journal::Touch;
use crate::node::WordTable;
use crate::views::Space;
use crate::{Access, Minipage};
use bytemuck::Pod;
use core::marker::PhantomData;
use core::ops::Range;
use core::panic::Location;
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::{Relaxed, SeqCst};
use foregather_machine::{Cause, Error};
use std::sync::Arc;

/// Data without padding for which every bit pattern is valid: numbers, and arrays of numbers.
pub trait Plain: Pod + Send + Sync {}
impl<T: Pod + Send + Sync> Plain for T {}

/// Elements that all ranks share, in units. Each unit is a minipage or a part of one.
///
/// Every thread may load and store any element at any time. There is only one valid version, as if all ranks
/// were threads of one machine: no stale values, and no torn element of 4 or 8 bytes. Without
/// synchronisation, a thread may see several words (a longer element, a row) partly written; use a lock, or
/// wait with the writer at a barrier.
///
/// Accessors check whether this rank has the access that they need, and request it with a function call if
/// not. Accesses through [`Array::pointer`], and to minipages that were invalidated in between, fault: a
/// fault requests access through a signal, which costs twice as much.
pub struct Array<T> {
    space: Arc<Space>,
    /// The words that accessors check; `None` if accessors fault instead.
    words: Option<Arc<WordTable>>,
    units: Arc<[Unit]>,
    len: usize,
    unit: usize,
    /// Whether threads record their accesses.
    observed: bool,
    lot: Arc<Lot>,
    _of: PhantomData<fn() -> T>,
}

/// What all arrays of a rank share.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) space: Arc<Space>,
    /// See [`Array`]; `None` if accessors fault instead.
    pub(super) words: Option<Arc<WordTable>>,
    /// Whether threads record their accesses.
    pub(super) observed: bool,
}

/// What all clones of an array share.
#[derive(Debug)]
pub(super) struct Lot {
    /// The source location of the allocation.
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
    /// The offset of its first byte in the object.
    pub(super) offset: usize,
    /// The offset of its first byte in the minipage: 0, unless the minipage is a chunk.
    pub(super) within: u32,
}

/// Consecutive elements in a unit.
#[derive(Clone, Copy, Debug)]
struct ElementRun {
    unit: Unit,
    /// The offset of the first element in the unit.
    byte: usize,
    /// The number of elements.
    len: usize,
}

impl ElementRun {
    fn offset(&self) -> usize {
        self.unit.offset + self.byte
    }
}

impl<T> Array<T> {
    /// Returns the offset in the object of the last byte that belongs to an element of this unit.
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

    /// Requests a part if this rank does not seem to have it. This is only a hint: the access that follows
    /// faults if necessary.
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

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns false, because there are no empty arrays.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the number of elements in a unit of sharing.
    pub fn unit(&self) -> usize {
        self.unit
    }

    /// Returns the number of units.
    pub fn units(&self) -> usize {
        self.units.len()
    }

    /// Returns the minipage of a unit.
    ///
    /// # Panics
    /// If `unit` is out of bounds.
    pub fn minipage(&self, unit: usize) -> Minipage {
        self.units[unit].minipage
    }

    /// Returns the minipages that contain these elements, in order, each once.
    ///
    /// # Panics
    /// If the range is out of bounds.
    pub fn minipages(&self, elements: Range<usize>) -> impl Iterator<Item = Minipage> {
        assert!(elements.start <= elements.end && elements.end <= self.len, "elements {elements:?} of {}", self.len);
        let units = elements.start / self.unit..elements.end.div_ceil(self.unit).max(elements.start / self.unit);
        let all = self.units[units].iter().map(|unit| unit.minipage);
        let mut before = None;
        all.filter(move |&minipage| before.replace(minipage) != Some(minipage))
    }

    /// Returns the address of an element in this process, for system calls or C libraries. The elements of
    /// its unit are adjacent. Only threads that share memory may use it. A system call fails on a closed page
    /// (EFAULT), except with [`Backend::UserfaultThread`](crate::views::Backend::UserfaultThread).
    ///
    /// # Panics
    /// If `at` is out of bounds.
    pub fn pointer(&self, at: usize) -> *mut T {
        assert!(at < self.len, "element {at} of {}", self.len);
        let unit = self.units[at / self.unit];
        self.space.application(unit.view, unit.offset + at % self.unit * size_of::<T>()).cast()
    }

    /// Loads the element at index `at`.
    ///
    /// # Panics
    /// If `at` is out of bounds.
    #[inline]
    pub fn get(&self, at: usize) -> T {
        let mut value = T::zeroed();
        let one = self.one(at);
        self.touch(Touch::Load, &one, || self.space.load(one.unit.view, one.offset(), bytemuck::bytes_of_mut(&mut value)));
        value
    }

    /// Stores `value` at index `at`.
    ///
    /// # Panics
    /// If `at` is out of bounds.
    #[inline]
    pub fn set(&self, at: usize, value: T) {
        let one = self.one(at);
        self.touch(Touch::Store, &one, || self.space.store(one.unit.view, one.offset(), bytemuck::bytes_of(&value)));
    }

    /// Copies elements from index `first` on into `into`.
    ///
    /// # Panics
    /// If the range is out of bounds.
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

    /// Copies elements that will be stored next: missing minipages are fetched for writing, which saves a
    /// second fault.
    ///
    /// # Panics
    /// As for [`Array::load`].
    #[inline]
    pub fn load_for_update(&self, first: usize, into: &mut [T]) {
        for part in self.parts(first, into.len()) {
            // A compare-exchange needs the right to write even if it changes nothing; the rest of a minipage
            // is fetched with its word.
            let word = self.space.word(part.unit.view, part.offset() / size_of::<u64>() * size_of::<u64>());
            self.touch(Touch::Store, &part, || _ = word.compare_exchange(0, 0, Relaxed, Relaxed));
        }
        self.load(first, into);
    }

    /// Copies `from` into the elements from index `first` on.
    ///
    /// # Panics
    /// If the range is out of bounds.
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

    /// Returns the location of one element.
    #[inline]
    fn one(&self, at: usize) -> ElementRun {
        assert!(at < self.len, "element {at} of {}", self.len);
        let (unit, within) = if self.units.len() == 1 { (0, at) } else { (at / self.unit, at % self.unit) };
        ElementRun { unit: self.units[unit], byte: within * size_of::<T>(), len: 1 }
    }

    /// Returns the locations of consecutive elements.
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
    /// Adds `n` to an element atomically, and returns the previous value.
    ///
    /// # Panics
    /// If `at` is out of bounds.
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

foregather_machine::debug_by! { [T] Array<T>, "Array", |this| len: this.len, unit: this.unit }
