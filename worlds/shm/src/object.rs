//! Objects of the C library in a segment. Each line records its type, so that no process mistakes a semaphore
//! for a mutex.
use crate::Segment;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU32, Ordering::*};
use foregather_machine::{Cause, Error};
use std::sync::Arc;

/// A line that contains an object. `kind` is 0 until the object is ready.
#[repr(C)]
pub(crate) struct Slot<T> {
    kind: AtomicU32,
    object: UnsafeCell<T>,
}

/// A handle to an object, which keeps its segment mapped. The object itself is never destroyed: another
/// process may still use it, or may have died while using it, and it holds no resource except its memory.
pub(crate) struct Object<T> {
    segment: Arc<Segment>,
    number: u32,
    at: *mut T,
}

// SAFETY: `T` is a type of the C library that is made for use by several threads at once; the pointer is
// valid while the segment is mapped, which the handle sees to.
unsafe impl<T> Send for Object<T> {}
// SAFETY: several threads may use such an object at once, since `T` is made for that.
unsafe impl<T> Sync for Object<T> {}

impl<T> Object<T> {
    /// Creates an object; `init` initialises its memory, which is all zeros.
    pub(crate) fn new(segment: &Arc<Segment>, kind: u32, init: impl FnOnce(*mut T) -> Result<(), Error>) -> Result<Self, Error> {
        let (number, slot) = segment.claim::<T>().ok_or_else(|| {
            Error::from(Cause::Unavailable {
                what: "room for one more semaphore in the segment".to_owned(),
                remedy: "make the segment with as many objects as its semaphores need".to_owned(),
            })
        })?;
        init(slot.object.get())?;
        slot.kind.store(kind, Release);
        Ok(Self { segment: segment.clone(), number, at: slot.object.get() })
    }

    /// Opens an object that another process created.
    pub(crate) fn find(segment: &Arc<Segment>, kind: u32, number: u32) -> Result<Self, Error> {
        let slot = segment.slot::<T>(number).filter(|slot| slot.kind.load(Acquire) == kind);
        let slot = slot.ok_or_else(|| {
            Error::from(Cause::Unavailable {
                what: format!("a semaphore of this kind with number {number} in the segment"),
                remedy: "attach by the name that `Semaphore::name` gave".to_owned(),
            })
        })?;
        Ok(Self { segment: segment.clone(), number, at: slot.object.get() })
    }

    pub(crate) fn number(&self) -> u32 {
        debug_assert!(self.number < self.segment.objects());
        self.number
    }

    /// Returns a pointer that is valid as long as the handle exists.
    pub(crate) fn get(&self) -> *mut T {
        self.at
    }
}
