//! Protection by userfaultfd: a closed page has no entry in the page table although its bytes are in memory
//! (a *minor* fault); a readable page has a write-protected entry. All state is in the page table, and no
//! mapping is split.
use super::protect::{PageRange, Protect, Refused};
use super::uffd::Uffd;
use crate::Access;
use rustix::mm::{Advice, madvise};
use std::sync::Arc;

/// The operations of this backend.
pub(super) struct Userfault {
    pub(super) uffd: Arc<Uffd>,
}

const REMEDY: &str = "is the page in the state that was said, and was the process not forked?";

impl Protect for Userfault {
    fn open_read(&self, at: PageRange) -> Result<(), Refused> {
        self.uffd.proceed(at, true).map_err(|errno| Refused::by(errno, "opening pages to read (UFFDIO_CONTINUE)", REMEDY))
    }

    fn open_write(&self, at: PageRange, from: Access) -> Result<(), Refused> {
        if from == Access::None {
            self.uffd.proceed(at, false).map_err(|errno| Refused::by(errno, "opening pages to write (UFFDIO_CONTINUE)", REMEDY))
        } else {
            let what = "opening readable pages to write (UFFDIO_WRITEPROTECT)";
            self.uffd.write_protect(at, false).map_err(|errno| Refused::by(errno, what, REMEDY))
        }
    }

    fn downgrade(&self, at: PageRange) -> Result<(), Refused> {
        let what = "write-protecting pages (UFFDIO_WRITEPROTECT)";
        self.uffd.write_protect(at, true).map_err(|errno| Refused::by(errno, what, REMEDY))
    }

    fn close(&self, at: PageRange) -> Result<(), Refused> {
        // SAFETY: the pages are a space's own application view of a memory file, so their bytes stay; only
        // the page table's entries go.
        let done = unsafe { madvise(at.start.as_ptr().cast(), at.bytes, Advice::LinuxDontNeed) };
        done.map_err(|errno| Refused::by(errno, "closing pages (madvise)", "take mlockall out of this program"))
    }
}
