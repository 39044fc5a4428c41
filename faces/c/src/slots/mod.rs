//! Handles: each names a slot, and which of its things it was given for. It is never an address, so one that
//! is null, destroyed, made up or of another kind is an error and no crash.
//!
//! A thread that uses a thing counts itself into its [`slot`] and learns by the same instruction whether the
//! thing is there; a thread that destroys one lets no more in, and waits until none is counted. There is no
//! lock, so a child of a fork finds none that is held. States and races: `README.md`.
mod primitive;
mod slot;
mod table;

use crate::failure::{BUSY, FORKED, INVALID, Refusal, SYSTEM};
use core::any::Any;
use core::ops::Deref;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::Relaxed};
use core::time::Duration;
use foregather::engine::host::forks;
use primitive::PLACES;
use slot::{Inside, Slot};
use std::time::Instant;
use table::{CHUNKS, HandleTable};

/// What a handle may stand for.
pub(crate) trait Thing: Any + Send + Sync {
    /// Its number among the kinds.
    const KIND: u64;
    /// In errors.
    const NAME: &'static str;
    /// Whether a child process may use the handle after a fork.
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

/// What a slot keeps.
struct Content {
    thing: Box<dyn Any + Send + Sync>,
    /// The number of forks at which it was made.
    forks: u32,
}

impl Content {
    fn is_copy(&self) -> bool {
        self.forks != forks::generation_now()
    }
}

/// A thread that is about to leave a thing that is destroyed has this long.
const PATIENCE: Duration = Duration::from_millis(10);
static TABLE: HandleTable<Content> =
    HandleTable { chunks: [const { AtomicPtr::new(ptr::null_mut()) }; CHUNKS], next: AtomicUsize::new(0) };

/// Keeps a thing. Returns its handle.
pub(crate) fn insert<T: Thing>(thing: T) -> Result<Handle, Refusal> {
    let kept = Content { thing: Box::new(thing), forks: forks::generation() };
    let full = |_| Refusal::new(SYSTEM, "there are 16,777,152 handles already: destroy some");
    let (index, turn) = TABLE.fill(kept).map_err(full)?;
    Ok(Handle(turn << 28 | (index as u64) << 4 | T::KIND))
}

thread_local! { static PLACE: usize = { static THREADS: AtomicUsize = AtomicUsize::new(0); THREADS.fetch_add(1, Relaxed) % PLACES } }

/// A thing while a call uses it.
pub(crate) struct Entered<T> {
    thing: *const T,
    /// What keeps the thing there.
    _inside: Inside<'static, Content>,
}

impl<T> Deref for Entered<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the thing stays while this call is counted in, which ends with `self`.
        unsafe { &*self.thing }
    }
}

/// The thing of that handle, which is destroyed by no other thread until the caller has dropped what is
/// returned.
#[inline]
pub(crate) fn enter<T: Thing>(handle: Handle) -> Result<Entered<T>, Refusal> {
    let inside = find::<T>(handle)?.enter(handle.turn(), PLACE.with(|place| *place)).ok_or_else(gone::<T>)?;
    if !T::INHERITED && inside.is_copy() {
        return Err(forked::<T>());
    }
    let thing = ptr::from_ref(inside.thing.downcast_ref::<T>().ok_or_else(gone::<T>)?);
    Ok(Entered { thing, _inside: inside })
}

/// Destroys the thing of that handle. In a child of a fork the parent's is left as it is.
pub(crate) fn remove<T: Thing>(handle: Handle) -> Result<(), Refusal> {
    let mut closed = find::<T>(handle)?.close(handle.turn()).ok_or_else(gone::<T>)?;
    let end = Instant::now() + PATIENCE;
    loop {
        closed = match closed.empty() {
            Ok(thing) => {
                drop(thing);
                return Ok(());
            }
            Err(closed) => closed,
        };
        // Threads that are on their way out have their time.
        if Instant::now() > end {
            break;
        }
        std::thread::yield_now();
    }
    if closed.thing().is_some_and(Content::is_copy) {
        // A thread of the parent process was in a call at the fork: it never leaves here, and the slot stays.
        return Ok(());
    }
    closed.open();
    Err(busy(T::NAME))
}

#[inline]
fn find<T: Thing>(handle: Handle) -> Result<&'static Slot<Content>, Refusal> {
    let slot = TABLE.get(handle.index()).filter(|_| handle.0 & 15 == T::KIND);
    slot.ok_or_else(|| wrong::<T>(handle))
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
