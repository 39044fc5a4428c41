//! Protection by mprotect: a thread that accesses a closed page gets SIGSEGV. It works everywhere without
//! privileges, but neighbouring pages with different protection need separate mappings, whose number the
//! kernel limits (`limits`).
use super::protect::{PageRange, Protect, Refused};
use crate::Access;
use rustix::mm::MprotectFlags;

/// The operations of this backend, which has no state.
pub(super) struct Mprotect;

impl Mprotect {
    fn set(at: PageRange, flags: MprotectFlags) -> Result<(), Refused> {
        // SAFETY: the pages are a space's own application view. Code with a reference or pointer into it
        // expects faults: a touch that is forbidden now ends in the handler, or the process, never in a wrong
        // value.
        let done = unsafe { rustix::mm::mprotect(at.start.as_ptr().cast(), at.bytes, flags) };
        done.map_err(|errno| Refused::by(errno, "protecting pages of a view (mprotect)", "raise the sysctl vm.max_map_count"))
    }
}

impl Protect for Mprotect {
    fn open_read(&self, at: PageRange) -> Result<(), Refused> {
        Self::set(at, MprotectFlags::READ)
    }

    fn open_write(&self, at: PageRange, _: Access) -> Result<(), Refused> {
        Self::set(at, MprotectFlags::READ | MprotectFlags::WRITE)
    }

    fn downgrade(&self, at: PageRange) -> Result<(), Refused> {
        Self::set(at, MprotectFlags::READ)
    }

    fn close(&self, at: PageRange) -> Result<(), Refused> {
        Self::set(at, MprotectFlags::empty())
    }
}
