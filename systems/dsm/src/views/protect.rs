//! The operations of both ways to protect pages: see `userfault` and `mprotect`.
use crate::Access;
use core::ptr::NonNull;
use foregather_machine::{Cause, Error};
use rustix::io::Errno;

/// The system did not change the protection of pages. Small and created without allocation, because fault
/// handlers use it, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// What was attempted.
    pub what: &'static str,
    /// The system's error number; 0 if no system call was made.
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

/// Changes the access of threads to pages of one view; other views of the same bytes are not affected.
///
/// Each call has taken effect on all processors when it returns. None allocates, waits for a lock or changes
/// `errno`.
pub(super) trait Protect: Send + Sync {
    /// Opens closed pages for reading.
    fn open_read(&self, at: PageRange) -> Result<(), Refused>;
    /// Opens pages for writing; `from` is the access so far.
    fn open_write(&self, at: PageRange, from: Access) -> Result<(), Refused>;
    /// Makes writable pages read-only.
    fn downgrade(&self, at: PageRange) -> Result<(), Refused>;
    /// Closes pages, whatever their access is.
    fn close(&self, at: PageRange) -> Result<(), Refused>;
}
