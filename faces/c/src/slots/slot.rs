//! A slot: it keeps one thing after the other, counts the calls that are in, and says which thing it has.
//! States and races: `README.md`.
use super::primitive::{AtomicU64, Ordering::*, PLACES, UnsafeCell};
use core::array;
use core::ops::Deref;
use core::ptr::NonNull;

/// A turn says which of a slot's things: 36 bits, from 1 on.
const TURNS: u64 = 1 << 36;

/// The turn << 2 | the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp(u64);

impl Stamp {
    const FREE: u64 = 0;
    const CHANGING: u64 = 1;
    const LIVE: u64 = 2;

    pub(crate) fn free(turn: u64) -> Self {
        Self(turn << 2 | Self::FREE)
    }

    pub(crate) fn changing(turn: u64) -> Self {
        Self(turn << 2 | Self::CHANGING)
    }

    #[inline]
    pub(crate) fn live(turn: u64) -> Self {
        Self(turn << 2 | Self::LIVE)
    }

    /// The turn that comes next, if the slot is free.
    fn next(self) -> Option<u64> {
        (self.0 & 3 == Self::FREE).then(|| ((self.0 >> 2) + 1) % TURNS)
    }
}

/// A line of its own, in which some of the threads count their calls: the stamp, and below it how many are
/// in.
#[repr(align(64))]
pub(crate) struct Tally(AtomicU64);

impl Tally {
    /// More calls than a system has threads.
    const BITS: u32 = 26;
    const CALLS: u64 = (1 << Self::BITS) - 1;

    /// Counts a call in. Returns the stamp that it has found.
    #[inline]
    pub(crate) fn come(&self) -> Stamp {
        Stamp(self.0.fetch_add(1, Acquire) >> Self::BITS)
    }

    #[inline]
    pub(crate) fn leave(&self) {
        self.0.fetch_sub(1, Release);
    }

    pub(crate) fn stamp(&self) -> Stamp {
        Stamp(self.0.load(Relaxed) >> Self::BITS)
    }

    fn is_idle(&self) -> bool {
        self.0.load(Acquire) & Self::CALLS == 0
    }

    /// Changes that stamp, and leaves what is counted. `None` if there is another one.
    pub(crate) fn exchange(&self, from: Stamp, to: Stamp) -> Option<()> {
        let exchanged = |word| (word >> Self::BITS == from.0).then_some(to.0 << Self::BITS | word & Self::CALLS);
        self.0.fetch_update(AcqRel, Relaxed, exchanged).ok().map(drop)
    }

    pub(crate) fn put(&self, to: Stamp) {
        let with = |word| Some(to.0 << Self::BITS | word & Self::CALLS);
        self.0.fetch_update(AcqRel, Relaxed, with).ok();
    }
}

pub(crate) struct Slot<T> {
    /// All have the same stamp while the slot is live; the first one decides which thread may change it.
    pub(crate) places: [Tally; PLACES],
    /// Written by the thread that has changed the stamp to `changing`, while no call is in; read by calls
    /// that have come while it was `live`.
    pub(crate) thing: UnsafeCell<Option<T>>,
}

// SAFETY: `thing` is written by one thread at a time, and never while another reads, as its comment says;
// what is in it may be used and dropped by any thread.
unsafe impl<T: Send + Sync> Sync for Slot<T> {}

impl<T> Slot<T> {
    pub(crate) fn new() -> Self {
        let places = array::from_fn(|_| Tally(AtomicU64::new(Stamp::free(0).0 << Tally::BITS)));
        Self { places, thing: UnsafeCell::new(None) }
    }

    /// Keeps a thing. Returns its turn, or the thing if the slot is not free.
    pub(crate) fn fill(&self, thing: T) -> Result<u64, T> {
        let stamp = self.places[0].stamp();
        let Some(turn) = stamp.next() else { return Err(thing) };
        if self.places[0].exchange(stamp, Stamp::changing(turn)).is_none() {
            return Err(thing);
        }
        // SAFETY: this thread has made it `changing`; calls that are counted in have not found `live`.
        self.thing.with_mut(|place| unsafe { *place = Some(thing) });
        self.open(turn);
        Ok(turn)
    }

    /// By the thread that has made it `changing`. The first place comes last: until then no other thread
    /// changes it.
    fn open(&self, turn: u64) {
        self.places.iter().rev().for_each(|place| place.put(Stamp::live(turn)));
    }

    /// Counts a call in, if that turn's thing is there: it stays until the call has left.
    #[inline]
    pub(crate) fn enter(&self, turn: u64, place: usize) -> Option<Inside<'_, T>> {
        let place = &self.places[place];
        if place.come() == Stamp::live(turn) {
            // SAFETY: this thread is counted in while the slot was `live`: nothing is written meanwhile.
            if let Some(thing) = self.thing.with(|thing| unsafe { (*thing).as_ref() }) {
                return Some(Inside { place, thing: thing.into() });
            }
        }
        place.leave();
        None
    }

    /// Lets no further call in. `None` if that turn is over, or another thread destroys its thing.
    pub(crate) fn close(&self, turn: u64) -> Option<Closed<'_, T>> {
        let to = Stamp::changing(turn);
        self.places[0].exchange(Stamp::live(turn), to)?;
        self.places[1..].iter().for_each(|place| place.put(to));
        Some(Closed { slot: self, turn })
    }
}

/// A call that is counted in.
pub(crate) struct Inside<'s, T> {
    place: &'s Tally,
    thing: NonNull<T>,
}

impl<T> Deref for Inside<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the thing stays while this call is counted in, which ends with `self`.
        unsafe { self.thing.as_ref() }
    }
}

impl<T> Drop for Inside<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.place.leave();
    }
}

/// A slot whose thing this thread is about to destroy. One that is dropped stays as it is, forever.
pub(crate) struct Closed<'s, T> {
    slot: &'s Slot<T>,
    turn: u64,
}

impl<T> Closed<'_, T> {
    /// Takes the thing and frees the slot, or returns itself while calls are in.
    pub(crate) fn empty(self) -> Result<Option<T>, Self> {
        if !self.slot.places.iter().all(Tally::is_idle) {
            return Err(self);
        }
        // SAFETY: this thread has made it `changing`, no call is in, and one that comes later sees the stamp.
        let thing = self.slot.thing.with_mut(|thing| unsafe { (*thing).take() });
        self.slot.places[0].put(Stamp::free(self.turn));
        Ok(thing)
    }

    /// Lets calls in again.
    pub(crate) fn open(self) {
        self.slot.open(self.turn);
    }

    /// What is to be destroyed.
    pub(crate) fn thing(&self) -> Option<&T> {
        // SAFETY: nothing is written while this thread has not taken it: other calls read.
        self.slot.thing.with(|thing| unsafe { (*thing).as_ref() })
    }
}
