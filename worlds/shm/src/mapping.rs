//! A memory file that several processes map: the memory of segments and fabrics.
//!
//! It is anonymous, so it has no name anywhere and vanishes with the last process that has it open, however
//! that ends. It can no longer shrink, so no access to it faults, whatever another process does. Pages take
//! memory once they are touched.
use crate::os::refused;
use core::ptr::{NonNull, null_mut};
use foregather_machine::{Cause, Error};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{MemfdFlags, Mode, SealFlags, fchmod, fcntl_add_seals, fcntl_get_seals, fstat, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// The expected content of a descriptor.
const WHAT: &str = "a shared segment of this program in the descriptor";

/// The bytes of a memory file at an address of this process.
#[derive(Debug)]
pub(crate) struct Mapping {
    base: NonNull<u8>,
    bytes: usize,
    fd: OwnedFd,
}

// SAFETY: a mapping only says where its bytes are; code that makes references of that answers for their
// aliasing.
unsafe impl Send for Mapping {}
// SAFETY: a shared mapping gives out addresses only, as for `Send`.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// A new file of that many bytes, all 0.
    ///
    /// # Errors
    /// If the system has no memory for it or knows no memory files.
    pub(crate) fn new(bytes: usize) -> Result<Self, Error> {
        const REMEDY: &str = "raise the memory limit of this process or container, or allow memfd_create in its seccomp filter";
        let refusal = || refused("making a shared segment", REMEDY);
        let fd = memfd_create("foregather", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).map_err(refusal())?;
        fchmod(&fd, Mode::RUSR | Mode::WUSR).map_err(refusal())?;
        ftruncate(&fd, bytes as u64).map_err(refusal())?;
        fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL).map_err(refusal())?;
        Self::map(fd, bytes)
    }

    /// The file that another process made, by its descriptor: at least `least` bytes.
    ///
    /// # Errors
    /// If the descriptor is something else.
    pub(crate) fn attach(fd: OwnedFd, least: usize) -> Result<Self, Error> {
        let sealed = fcntl_get_seals(&fd).is_ok_and(|seals| seals.contains(SealFlags::SHRINK));
        let bytes = fstat(&fd).map_or(0, |stat| stat.st_size as usize);
        if !sealed || bytes < least {
            return Err(wrong("it is no sealed memory file: pass the descriptor that `fd` gave".to_owned()));
        }
        Self::map(fd, bytes)
    }

    fn map(fd: OwnedFd, bytes: usize) -> Result<Self, Error> {
        // SAFETY: a new mapping at an address that the kernel chooses replaces no other memory.
        let base = unsafe { mmap(null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, &fd, 0) };
        let base = base.map_err(refused("mapping a shared segment", "raise the limit on address space (`ulimit -v`)"))?;
        let base = NonNull::new(base.cast()).ok_or_else(|| wrong("it is at 0".to_owned()))?;
        Ok(Self { base, bytes, fd })
    }

    /// The descriptor, for a child to inherit.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The address of that byte. The mapping begins at a page.
    ///
    /// # Panics
    /// In a debug build, if it is beyond the end: callers have checked offsets that they have read.
    #[inline]
    pub(crate) fn at(&self, offset: usize) -> NonNull<u8> {
        debug_assert!(offset <= self.bytes, "{offset} of {}", self.bytes);
        // SAFETY: callers have checked that the offset is within the mapping, or its end.
        unsafe { self.base.add(offset) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own, and all that was lent from it has ended.
        let unmapped = unsafe { munmap(self.base.as_ptr().cast(), self.bytes) };
        debug_assert!(unmapped.is_ok(), "{unmapped:?}");
    }
}

/// The error for a descriptor of something else.
pub(crate) fn wrong(remedy: String) -> Error {
    Error::from(Cause::Unavailable { what: WHAT.to_owned(), remedy })
}
