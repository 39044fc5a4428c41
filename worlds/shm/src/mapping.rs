//! A memory file that several processes map: the memory of segments and fabrics.
//!
//! It is anonymous: it has no name, and is freed when the last process that has it open exits for any reason.
//! It cannot shrink, so no access to it faults, whatever another process does. Pages use memory only after
//! they are touched.
use crate::os::refused;
use core::ptr::{NonNull, null_mut};
use foregather_host::forks;
use foregather_machine::{Cause, Error};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{MemfdFlags, Mode, SealFlags, fchmod, fcntl_add_seals, fcntl_get_seals, fstat, ftruncate, memfd_create};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap};
use rustix::param::page_size;
use rustix::process::{Resource, getrlimit};

/// The expected content of a descriptor, in error messages.
const WHAT: &str = "a shared segment of this program in the descriptor";

/// The minimum size of the inaccessible guard before and after a mapping: at least a page on every processor.
/// An access beyond either end faults instead of reaching other memory of the process.
const GUARD: usize = 1 << 16;

/// A mapped memory file, between guard pages.
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
    /// Creates a file of that many bytes, all 0.
    ///
    /// # Errors
    /// If the system has no memory for it or does not support memory files.
    pub(crate) fn new(bytes: usize) -> Result<Self, Error> {
        const REMEDY: &str = "raise the memory limit of this process or container, or allow memfd_create in its seccomp filter";
        let refusal = || refused("making a shared segment", REMEDY);
        // Otherwise the system would kill the process with SIGXFSZ.
        if getrlimit(Resource::Fsize).current.is_some_and(|limit| limit < bytes as u64) {
            return Err(refusal()(Errno::FBIG));
        }
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let fd = forks::undivided(|| memfd_create("foregather", flags)).map_err(refusal())?;
        fchmod(&fd, Mode::RUSR | Mode::WUSR).map_err(refusal())?;
        ftruncate(&fd, bytes as u64).map_err(refusal())?;
        fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL).map_err(refusal())?;
        Self::map(fd, bytes)
    }

    /// Maps a file that another process created, of at least `least` bytes.
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
        let refusal = || refused("mapping a shared segment", "raise the limit on address space (`ulimit -v`)");
        let all = reserved(bytes).ok_or_else(|| refusal()(Errno::NOMEM))?;
        // SAFETY: a new mapping at an address that the kernel chooses replaces no other memory.
        let start = unsafe { mmap_anonymous(null_mut(), all, ProtFlags::empty(), MapFlags::PRIVATE) }.map_err(refusal())?;
        let inner = start.wrapping_byte_add(GUARD);
        let prot = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: it replaces pages of the mapping before, which no other code uses: they begin a guard
        // behind its start, and a guard is left behind their end.
        let mapped = unsafe { mmap(inner, bytes, prot, MapFlags::SHARED | MapFlags::FIXED, &fd, 0) };
        let this = mapped.map(|base| NonNull::new(base.cast()).map(|base| Self { base, bytes, fd }));
        if let Ok(Some(this)) = this {
            return Ok(this);
        }
        // SAFETY: the first mapping is this call's own, and no other code has its address.
        let _ = unsafe { munmap(start, all) };
        Err(this.map_or_else(refusal(), |_| wrong("it is at 0".to_owned())))
    }

    /// Excludes the pages from byte `from` on from core dumps. The kernel would write all of them, and
    /// allocate those that no process has touched yet. If the kernel refuses, dumps are just larger.
    pub(crate) fn keep_out_of_cores(&self, from: usize) {
        let first = from.next_multiple_of(page_size());
        if first < self.bytes {
            let start = self.at(first).as_ptr().cast();
            // SAFETY: the pages are of this mapping, and the advice changes none of their bytes.
            let _ = unsafe { madvise(start, self.bytes - first, Advice::LinuxDontDump) };
        }
    }

    /// Returns the descriptor, for a child to inherit.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the address of that byte. The mapping begins at a page.
    ///
    /// # Panics
    /// In a debug build, if the offset is beyond the end: callers check offsets that they have read.
    #[inline]
    pub(crate) fn at(&self, offset: usize) -> NonNull<u8> {
        debug_assert!(offset <= self.bytes, "{offset} of {}", self.bytes);
        // SAFETY: callers have checked that the offset is within the mapping, or its end.
        unsafe { self.base.add(offset) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        let start = self.base.as_ptr().wrapping_sub(GUARD).cast();
        // SAFETY: the mapping and its guards are this value's own, and all that was lent from it has ended.
        let unmapped = unsafe { munmap(start, reserved(self.bytes).unwrap_or(self.bytes)) };
        debug_assert!(unmapped.is_ok(), "{unmapped:?}");
    }
}

/// Returns the bytes of a mapping with its guards, or `None` if that overflows.
fn reserved(bytes: usize) -> Option<usize> {
    bytes.checked_next_multiple_of(GUARD)?.checked_add(2 * GUARD)
}

/// Returns the error for a descriptor of something else.
pub(crate) fn wrong(remedy: String) -> Error {
    Error::from(Cause::Unavailable { what: WHAT.to_owned(), remedy })
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::sync::atomic::{AtomicBool, AtomicI32, Ordering::Relaxed};
    use rustix::fd::AsRawFd;

    /// Returns the permissions of the pages at an address, from the kernel's list.
    fn permissions(address: usize) -> String {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let found = maps.lines().find_map(|line| {
            let (range, rest) = line.split_once(' ')?;
            let (from, to) = range.split_once('-')?;
            let parse = |text| usize::from_str_radix(text, 16).unwrap();
            (parse(from)..parse(to)).contains(&address).then(|| rest[..4].to_owned())
        });
        found.unwrap_or_default()
    }

    #[test]
    fn a_limit_of_file_sizes_is_an_error_with_its_remedy() {
        let ended = forks::in_child(|| {
            let limit = rustix::process::Rlimit { current: Some(1 << 16), maximum: Some(1 << 16) };
            rustix::process::setrlimit(Resource::Fsize, limit).unwrap();
            let refused = Mapping::new(1 << 17).unwrap_err().to_string();
            i32::from(!refused.contains("ulimit -f") || Mapping::new(1 << 16).is_err())
        });
        assert_eq!(ended.exit_status(), Some(0), "{ended:?}");
    }

    /// The system copies the descriptor table before the memory.
    #[test]
    fn a_child_of_a_fork_has_the_descriptor_of_each_mapping_that_it_has() {
        let (published, stop) = (AtomicI32::new(-1), AtomicBool::new(false));
        let missing = std::thread::scope(|threads| {
            threads.spawn(|| {
                let mut before = None;
                while !stop.load(Relaxed) {
                    let mapping = Mapping::new(4_096).unwrap();
                    published.store(mapping.fd().as_raw_fd(), Relaxed);
                    // Freed once another one is published.
                    drop(before.replace(mapping));
                }
                published.store(-1, Relaxed);
            });
            let missing = |_: &i32| {
                let ended = forks::in_child(|| {
                    let fd = published.load(Relaxed);
                    // SAFETY: the call takes any number.
                    i32::from(fd >= 0 && unsafe { libc::fcntl(fd, libc::F_GETFD) } < 0)
                });
                ended.exit_status() != Some(0)
            };
            let missing = (0..1_000).filter(missing).count();
            stop.store(true, Relaxed);
            missing
        });
        assert_eq!(missing, 0, "of 1,000 children");
    }

    #[test]
    fn pages_before_and_behind_a_mapping_cannot_be_accessed() {
        for bytes in [1, 4_096, 100_000, 1 << 20] {
            let mapping = Mapping::new(bytes).unwrap();
            let (first, last) = (mapping.at(0).addr().get(), mapping.at(bytes - 1).addr().get());
            assert_eq!([permissions(first), permissions(last)], ["rw-s", "rw-s"], "{bytes}");
            let (before, behind) = (first - 1, (last + 1).next_multiple_of(page_size()));
            assert_eq!([permissions(before), permissions(behind)], ["---p", "---p"], "{bytes}");
        }
    }
}
