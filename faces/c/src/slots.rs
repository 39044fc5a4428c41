//! Handles: each names a slot, and which of its things it was given for. It is never an address, so one that
//! is null, destroyed, made up or of another kind is an error and no crash.
//!
//! A thread that uses a thing counts itself into the slot first and looks at its state then; a thread that
//! destroys one changes the state first and looks at the counts then: one of the two sees the other. There is
//! no lock, so a child of a fork finds none that is held.
use crate::failure::{BUSY, FORKED, INVALID, Refusal, SYSTEM};
use core::any::Any;
use core::cell::UnsafeCell;
use core::marker::PhantomData;
use core::ops::Deref;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering::*};
use core::time::Duration;
use foregather::engine::host::forks;
use std::time::Instant;

/// What a handle may stand for.
pub(crate) trait Thing: Any + Send + Sync {
    /// Its number among the kinds.
    const KIND: u64;
    /// In errors.
    const NAME: &'static str;
    /// May a child of a fork use it?
    const INHERITED: bool;
}

/// A handle, as C has it: a pointer that is followed nowhere. Bits 0 to 3 are the kind, 4 to 27 the slot, the
/// others how often the slot was given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Handle(pub(crate) u64);

const _: () = assert!(size_of::<Handle>() == size_of::<*const u8>());

impl Handle {
    pub(crate) const NULL: Self = Self(0);
    const SLOT: u64 = (1 << 24) - 1;

    fn index(self) -> usize {
        (self.0 >> 4 & Self::SLOT) as usize
    }

    fn turn(self) -> u64 {
        self.0 >> 28
    }
}

/// A line of its own: threads that use the same thing count themselves in different ones.
#[derive(Default)]
#[repr(align(64))]
struct Inside(AtomicU32);

const PLACES: usize = 8;
/// States of a slot, below its turn.
const FREE: u64 = 0;
const CHANGING: u64 = 1;
const LIVE: u64 = 2;
/// A thread that is about to leave a thing that is destroyed has this long.
const PATIENCE: Duration = Duration::from_millis(10);

struct Slot {
    /// The turn << 2 | the state.
    state: AtomicU64,
    /// Written while `CHANGING` by the thread that made it so; read while the reader is counted inside and
    /// has seen `LIVE`.
    thing: UnsafeCell<Option<Box<dyn Any + Send + Sync>>>,
    /// The number of forks at which the thing was made.
    forks: AtomicU32,
    inside: [Inside; PLACES],
}

// SAFETY: `thing` is written by one thread at a time, and never while another reads, as its comment says;
// what is in it may be used and dropped by any thread.
unsafe impl Sync for Slot {}

impl Slot {
    fn new() -> Self {
        let (state, inside) = (AtomicU64::new(FREE), Default::default());
        Self { state, thing: UnsafeCell::new(None), forks: AtomicU32::new(0), inside }
    }

    fn is_idle(&self) -> bool {
        self.inside.iter().all(|inside| inside.0.load(SeqCst) == 0)
    }

    fn is_copy(&self) -> bool {
        self.forks.load(Relaxed) != forks::generation_now()
    }

    /// Waits for the threads that are on their way out.
    fn becomes_idle(&self) -> bool {
        let end = Instant::now() + PATIENCE;
        while !self.is_idle() {
            if Instant::now() > end {
                return false;
            }
            std::thread::yield_now();
        }
        true
    }
}

/// Slots in chunks, each twice as large as the one before, which stay for ever.
static CHUNKS: [AtomicPtr<Slot>; 18] = [const { AtomicPtr::new(ptr::null_mut()) }; 18];
const FIRST: usize = 64;
/// Where the search for a free slot begins.
static NEXT: AtomicUsize = AtomicUsize::new(0);

fn chunk_of(index: usize) -> (usize, usize) {
    let chunk = (index / FIRST + 1).ilog2() as usize;
    (chunk, index - FIRST * ((1 << chunk) - 1))
}

fn slot(index: usize) -> Option<&'static Slot> {
    let (chunk, at) = chunk_of(index);
    let first = CHUNKS.get(chunk)?.load(Acquire);
    // SAFETY: a chunk that is there has `FIRST << chunk` slots, of which `at` is one, and is never freed.
    (!first.is_null()).then(|| unsafe { &*first.add(at) })
}

/// How many slots there are.
fn slots() -> usize {
    let chunks = CHUNKS.iter().take_while(|chunk| !chunk.load(Acquire).is_null()).count();
    FIRST * ((1 << chunks) - 1)
}

/// Adds a chunk to those that `slots` are in, unless another thread does.
#[cold]
fn grow(slots: usize) -> Result<(), Refusal> {
    let chunk = chunk_of(slots).0;
    let place = CHUNKS.get(chunk).ok_or_else(|| Refusal::new(SYSTEM, "there are 16,777,152 handles already: destroy some"))?;
    let new = Box::into_raw((0..FIRST << chunk).map(|_| Slot::new()).collect::<Box<[Slot]>>());
    if place.compare_exchange(ptr::null_mut(), new.cast(), AcqRel, Acquire).is_err() {
        // SAFETY: it was made here, and no other thread has seen it.
        drop(unsafe { Box::from_raw(new) });
    }
    Ok(())
}

/// A slot that this thread alone has, and the number of its turn.
fn claim() -> Result<(usize, &'static Slot, u64), Refusal> {
    loop {
        let (all, from) = (slots(), NEXT.fetch_add(1, Relaxed));
        for index in (0..all).map(|step| from.wrapping_add(step) % all) {
            let Some(slot) = slot(index) else { continue };
            let state = slot.state.load(Relaxed);
            let turn = (state >> 2) + 1;
            if state & 3 == FREE && slot.state.compare_exchange(state, turn << 2 | CHANGING, AcqRel, Relaxed).is_ok() {
                return Ok((index, slot, turn));
            }
        }
        grow(all)?;
    }
}

/// Keeps a thing. Returns its handle.
pub(crate) fn insert<T: Thing>(thing: T) -> Result<Handle, Refusal> {
    let (index, slot, turn) = claim()?;
    slot.forks.store(forks::generation(), Relaxed);
    // SAFETY: the state is `CHANGING` by this thread.
    unsafe { *slot.thing.get() = Some(Box::new(thing)) };
    slot.state.store(turn << 2 | LIVE, SeqCst);
    Ok(Handle(turn << 28 | (index as u64) << 4 | T::KIND))
}

thread_local! { static PLACE: usize = { static THREADS: AtomicUsize = AtomicUsize::new(0); THREADS.fetch_add(1, Relaxed) % PLACES } }

/// A thing while a call uses it.
pub(crate) struct Entered<T> {
    slot: &'static Slot,
    place: usize,
    thing: *const T,
    thread: PhantomData<*const T>,
}

impl<T> Deref for Entered<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the thing stays while this thread is counted inside, which ends with `self`.
        unsafe { &*self.thing }
    }
}

impl<T> Drop for Entered<T> {
    #[inline]
    fn drop(&mut self) {
        leave(self.slot, self.place);
    }
}

#[inline]
fn leave(slot: &Slot, place: usize) {
    slot.inside[place].0.fetch_sub(1, Release);
}

/// The thing of that handle, which is destroyed by no other thread until the caller has dropped what is
/// returned.
#[inline]
pub(crate) fn enter<T: Thing>(handle: Handle) -> Result<Entered<T>, Refusal> {
    let slot = find::<T>(handle)?;
    let place = PLACE.with(|place| *place);
    slot.inside[place].0.fetch_add(1, SeqCst);
    // From here on it leaves by itself.
    let mut used = Entered { slot, place, thing: ptr::null(), thread: PhantomData };
    if slot.state.load(SeqCst) != handle.turn() << 2 | LIVE {
        return Err(gone::<T>());
    }
    if !T::INHERITED && slot.is_copy() {
        return Err(forked::<T>());
    }
    // SAFETY: this thread is counted inside and has seen `LIVE`: nothing is written meanwhile.
    let thing = unsafe { &*slot.thing.get() };
    used.thing = ptr::from_ref(thing.as_ref().and_then(|thing| thing.downcast_ref::<T>()).ok_or_else(gone::<T>)?);
    Ok(used)
}

/// Destroys the thing of that handle. In a child of a fork the parent's is left as it is.
pub(crate) fn remove<T: Thing>(handle: Handle) -> Result<(), Refusal> {
    let slot = find::<T>(handle)?;
    let (live, changing) = (handle.turn() << 2 | LIVE, handle.turn() << 2 | CHANGING);
    slot.state.compare_exchange(live, changing, SeqCst, Relaxed).map_err(|_| gone::<T>())?;
    if !slot.becomes_idle() {
        if slot.is_copy() {
            // A thread of the parent process was in a call at the fork: it never leaves here, and the slot
            // stays.
            return Ok(());
        }
        slot.state.store(live, SeqCst);
        return Err(busy(T::NAME));
    }
    // SAFETY: the state is `CHANGING` by this thread, and no thread is inside: one that comes later sees the
    // state.
    let thing = unsafe { (*slot.thing.get()).take() };
    slot.state.store(handle.turn() << 2 | FREE, SeqCst);
    drop(thing);
    Ok(())
}

#[inline]
fn find<T: Thing>(handle: Handle) -> Result<&'static Slot, Refusal> {
    if handle.0 & 15 != T::KIND { Err(wrong::<T>(handle)) } else { slot(handle.index()).ok_or_else(|| wrong::<T>(handle)) }
}

#[cold]
fn wrong<T: Thing>(handle: Handle) -> Refusal {
    let what = if handle == Handle::NULL { "null" } else { "a handle of another kind, or none at all" };
    Refusal::new(INVALID, format!("a {} is needed, and this is {what}", T::NAME))
}

#[cold]
fn gone<T: Thing>() -> Refusal {
    Refusal::new(INVALID, format!("this {} was destroyed before", T::NAME))
}

#[cold]
fn forked<T: Thing>() -> Refusal {
    Refusal::new(FORKED, format!("this {} is the parent process's: a child of a fork makes or takes one of its own", T::NAME))
}

#[cold]
pub(crate) fn busy(name: &str) -> Refusal {
    Refusal::new(BUSY, format!("a thread is in a call with this {name}: let that end first"))
}
