//! The spaces that are served, for handlers that must not take locks: a fixed number of slots, each with a
//! count of its readers.
use crate::views::fault::Faults;
use crate::views::layout::ViewAddress;
use crate::views::space::Space;
use core::ffi::c_int;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering::*};
use foregather_machine::{Cause, Error, reached};
use std::sync::Arc;

/// A space that is served, and its handler.
pub(crate) struct Hook {
    pub(crate) space: Arc<Space>,
    pub(crate) faults: Arc<dyn Faults>,
    /// The signal of its faults; `None` if they are read from a descriptor.
    pub(crate) signal: Option<c_int>,
}

/// A reader increments the count before it reads the pointer. A thread that removes a hook takes the pointer
/// out first and then waits until the count is 0, so a hook is never freed while a thread reads it.
/// Sequential consistency orders the two.
struct HookSlot {
    lookers: AtomicU32,
    hook: AtomicPtr<Hook>,
}

const SPACES: usize = 64;
static SLOTS: [HookSlot; SPACES] = [const { HookSlot { lookers: AtomicU32::new(0), hook: AtomicPtr::new(null_mut()) } }; SPACES];

/// Adds a hook, and returns its slot.
///
/// # Errors
/// [`Cause::Setting`] if all slots are used.
pub(crate) fn enter(hook: Hook) -> Result<usize, Error> {
    let hook = Box::into_raw(Box::new(hook));
    for (number, slot) in SLOTS.iter().enumerate() {
        if slot.hook.compare_exchange(null_mut(), hook, SeqCst, Relaxed).is_ok() {
            return Ok(number);
        }
    }
    // SAFETY: it came from a box just now, and no slot has it.
    drop(unsafe { Box::from_raw(hook) });
    Err(Error::from(Cause::Setting {
        what: "the number of shared spaces in this process",
        needs: "at most 64 that are served at a time",
    }))
}

/// Frees a slot, after all handlers that were reading it have finished.
pub(crate) fn remove(number: usize) -> Hook {
    let slot = &SLOTS[number];
    let hook = slot.hook.swap(null_mut(), SeqCst);
    while slot.lookers.load(SeqCst) != 0 {
        reached("views:5");
        std::thread::yield_now();
    }
    // SAFETY: it came from a box, no reader is counted, and no slot has it any more.
    *unsafe { Box::from_raw(hook) }
}

/// Calls `then` with the space that has this address in one of its views, if any: a space of this process if
/// `here`, otherwise one of a parent.
pub(super) fn with<R>(address: usize, here: bool, then: impl FnOnce(&Hook, ViewAddress) -> R) -> Option<R> {
    for slot in &SLOTS {
        if slot.hook.load(Relaxed).is_null() {
            continue;
        }
        slot.lookers.fetch_add(1, SeqCst);
        // SAFETY: null, or a hook that is not freed while this thread is counted.
        let found = unsafe { slot.hook.load(SeqCst).as_ref() }.and_then(|hook| Some((hook, hook.space.locate(address)?)));
        let found = found.filter(|(hook, _)| hook.space.is_here() == here);
        if let Some((hook, place)) = found {
            let result = then(hook, place);
            slot.lookers.fetch_sub(1, SeqCst);
            return Some(result);
        }
        slot.lookers.fetch_sub(1, SeqCst);
    }
    None
}
