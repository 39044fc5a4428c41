//! The operations that both ways to protect pages have: see `userfault` and `mprotect`.
use crate::Access;
use core::ptr::NonNull;
use foregather_machine::{Cause, Error};
use rustix::io::Errno;

/// The system did not change the protection of pages. Small and made without an allocation, since fault
/// handlers meet it, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// What was attempted.
    pub what: &'static str,
    /// The system's error number; 0 if it was not asked.
    pub errno: i32,
    /// What to do about it.
    pub remedy: &'static str,
}

impl Refused {
    pub(super) fn by(errno: Errno, what: &'static str, remedy: &'static str) -> Self {
        Self { what, errno: errno.raw_os_error(), remedy }
    }
}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Self {
        let Refused { what, errno, remedy } = refused;
        Self::from(Cause::Os { what, errno, remedy })
    }
}

/// Whole pages of one view, by address.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageRange {
    pub(super) start: NonNull<u8>,
    pub(super) bytes: usize,
}

/// Changes what threads may do with pages of one view; other views of the same bytes are left alone.
///
/// Each call has taken effect on all processors when it returns. None allocates, waits for a lock or sets
/// `errno`.
pub(super) trait Protect: Send + Sync {
    /// From no access to reading.
    fn open_read(&self, at: PageRange) -> Result<(), Refused>;
    /// From `from` to writing.
    fn open_write(&self, at: PageRange, from: Access) -> Result<(), Refused>;
    /// From writing to reading.
    fn downgrade(&self, at: PageRange) -> Result<(), Refused>;
    /// From any access to none.
    fn close(&self, at: PageRange) -> Result<(), Refused>;
}
