//! Identifies the process that created a space: after a fork, the child has a copy of everything except the
//! shared memory itself, and must not use it.
//!
//! The check is one load, because the kernel wipes a page in a child. A userfaultfd that a child inherited
//! would still change its parent's pages, so every change checks this first.
use core::ptr::{NonNull, null_mut};
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use foregather_machine::{Cause, Error};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

use super::layout::PAGE;

/// Identifies the process that created it.
#[derive(Debug)]
pub(super) struct Origin {
    mark: NonNull<AtomicU32>,
}

// SAFETY: it points to an atomic that lives as long as it.
unsafe impl Send for Origin {}
// SAFETY: shared, too, it points to an atomic that lives as long as it.
unsafe impl Sync for Origin {}

impl Origin {
    pub(super) fn new() -> Result<Self, Error> {
        let refused = |errno: rustix::io::Errno| {
            let remedy = "raise the limit on address space (`ulimit -v`)";
            Error::from(Cause::Os { what: "marking this process", errno: errno.raw_os_error(), remedy })
        };
        // SAFETY: a new mapping at an address that the kernel chooses replaces no other.
        let page = unsafe { mmap_anonymous(null_mut(), PAGE, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE) };
        let origin = Self { mark: NonNull::new(page.map_err(refused)?.cast()).expect("nothing is mapped at 0") };
        // SAFETY: the page is this value's own.
        unsafe { madvise(origin.mark.as_ptr().cast(), PAGE, Advice::LinuxWipeOnFork) }.map_err(refused)?;
        origin.mark().store(1, Relaxed);
        Ok(origin)
    }

    /// Returns whether this is the process that created it, not a forked child.
    #[inline]
    pub(super) fn is_here(&self) -> bool {
        self.mark().load(Relaxed) != 0
    }

    fn mark(&self) -> &AtomicU32 {
        // SAFETY: the page is mapped as long as this value lives, and holds this atomic only.
        unsafe { self.mark.as_ref() }
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        // SAFETY: the page is this value's own, in a child as well.
        let unmapped = unsafe { munmap(self.mark.as_ptr().cast(), PAGE) };
        debug_assert!(unmapped.is_ok(), "{unmapped:?}");
    }
}
