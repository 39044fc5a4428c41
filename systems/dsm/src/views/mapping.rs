//! The memory object and its views: one anonymous memory file, mapped several times into addresses that were
//! reserved first, so that no library can map anything in between.
//!
//! A forked child does not get the mappings, because it would change its parent's pages. Core dumps do not
//! contain them.
use super::layout::PAGE;
use super::origin::Origin;
use super::shape::Shape;
use core::ffi::c_void;
use core::ops::Range;
use core::ptr::{NonNull, null_mut};
use foregather_machine::{Cause, Error};
use rustix::fd::OwnedFd;
use rustix::fs::{FallocateFlags, MemfdFlags, fallocate, ftruncate, memfd_create};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mlock, mmap, mmap_anonymous, munlock, munmap};

/// The application views, in order, followed by the privileged one.
#[derive(Debug)]
pub(super) struct Mapping {
    base: NonNull<u8>,
    /// Bytes of a view.
    pub(super) view_bytes: usize,
    pub(super) views: u32,
    object: OwnedFd,
    /// The process that mapped it.
    pub(super) origin: Origin,
}

// SAFETY: a mapping only says where its bytes are; code that makes references of that answers for them.
unsafe impl Send for Mapping {}
// SAFETY: shared, too, it only says where its bytes are.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Reserves addresses, creates the object, and maps it. The application views get protection
    /// `application`; the privileged view is always readable and writable.
    pub(super) fn new(shape: &Shape, application: ProtFlags) -> Result<Self, Error> {
        let bytes = shape.reserved().expect("the limits were checked");
        let origin = Origin::new()?;
        let base = reserve(shape.base, bytes)?;
        let view_bytes = shape.pages as usize * PAGE;
        let mapping = Self { base, view_bytes, views: shape.views, object: object(view_bytes)?, origin };
        for view in 0..shape.views {
            mapping.map(view, application)?;
        }
        mapping.map(shape.views, ProtFlags::READ | ProtFlags::WRITE)?;
        let start: *mut c_void = mapping.base.as_ptr().cast();
        // SAFETY: these are the pages that were just mapped, and no other code has their address yet.
        unsafe { madvise(start, bytes, Advice::LinuxDontFork) }.map_err(refused("hiding views from children", ""))?;
        // A core dump would contain every page once per view, and the reservation. If the kernel refuses,
        // dumps are just larger.
        // SAFETY: the pages are those of this new mapping, and the advice changes none of their bytes.
        let _ = unsafe { madvise(start, bytes, Advice::LinuxDontDump) };
        Ok(mapping)
    }

    fn map(&self, view: u32, protection: ProtFlags) -> Result<(), Error> {
        let at = self.view(view).as_ptr().cast();
        // SAFETY: it replaces a part of this value's own reservation, which is unused yet.
        let mapped = unsafe { mmap(at, self.view_bytes, protection, MapFlags::SHARED | MapFlags::FIXED, &self.object, 0) };
        mapped.map(|_| ()).map_err(refused("mapping a view", "raise the sysctl vm.max_map_count, or ask for fewer views"))
    }

    /// Allocates memory for these bytes of the object. Otherwise the first access to a page would allocate it
    /// without a fault.
    pub(super) fn fill(&self, bytes: Range<usize>) -> Result<(), Error> {
        while let Err(errno) = fallocate(&self.object, FallocateFlags::empty(), bytes.start as u64, bytes.len() as u64) {
            if errno != Errno::INTR {
                return Err(refused("filling the shared memory object", REMEDY)(errno));
            }
        }
        Ok(())
    }

    /// Locks these bytes in memory, because a page that was swapped out cannot be mapped again at once.
    pub(super) fn lock(&self, bytes: Range<usize>) -> Result<(), Errno> {
        debug_assert!(bytes.end <= self.view_bytes);
        // SAFETY: the privileged view is this value's own, and has these bytes; locking changes none of them.
        unsafe { mlock(self.privileged().add(bytes.start).as_ptr().cast(), bytes.len()) }
    }

    /// Removes the application views from the page table, even if the program has locked all of its memory.
    pub(super) fn forget(&self) -> Result<(), Error> {
        let (start, bytes): (*mut c_void, _) = (self.base.as_ptr().cast(), self.application_bytes());
        // SAFETY: the views are this value's own, and their bytes stay in the memory file.
        let done = unsafe { munlock(start, bytes) }
            // SAFETY: the views are this value's own, and their bytes stay in the memory file.
            .and_then(|()| unsafe { madvise(start, bytes, Advice::LinuxDontNeed) });
        done.map_err(refused("closing all pages of the views", "take mlockall out of this program"))
    }

    pub(super) fn application_bytes(&self) -> usize {
        self.views as usize * self.view_bytes
    }

    /// Returns the address of a view; the one after the last is the privileged one.
    pub(super) fn view(&self, view: u32) -> NonNull<u8> {
        debug_assert!(view <= self.views);
        // SAFETY: within the reservation, which has that many views and one more.
        unsafe { self.base.add(view as usize * self.view_bytes) }
    }

    pub(super) fn privileged(&self) -> NonNull<u8> {
        self.view(self.views)
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // In a child, nothing is mapped there, or something else by now.
        if !self.origin.is_here() {
            return;
        }
        // SAFETY: the reservation is this value's own, and everything lent from it has ended.
        let unmapped = unsafe { munmap(self.base.as_ptr().cast(), self.application_bytes() + self.view_bytes) };
        debug_assert!(unmapped.is_ok(), "{unmapped:?}");
    }
}

/// Reserves addresses without memory, at `base` or anywhere.
fn reserve(base: Option<usize>, bytes: usize) -> Result<NonNull<u8>, Error> {
    let (at, flags, remedy) = match base {
        Some(base) => {
            let remedy =
                "something is mapped there already, or it is not the beginning of a page: wish for another base, or none";
            (core::ptr::without_provenance_mut(base), MapFlags::PRIVATE | MapFlags::FIXED_NOREPLACE, remedy)
        }
        None => (null_mut(), MapFlags::PRIVATE, "raise the limit on address space (`ulimit -v`), or ask for fewer views"),
    };
    // SAFETY: a new mapping that replaces no other.
    let start = unsafe { mmap_anonymous(at, bytes, ProtFlags::empty(), flags | MapFlags::NORESERVE) };
    let start = start.map_err(refused("reserving addresses for the views", remedy))?;
    if base.is_some_and(|base| base != start.addr()) {
        // SAFETY: the mapping is new, and unused where it is; old kernels take the address for a hint.
        let _ = unsafe { munmap(start, bytes) };
        return Err(refused("reserving addresses for the views", remedy)(Errno::EXIST));
    }
    Ok(NonNull::new(start.cast()).expect("nothing is mapped at 0"))
}

const REMEDY: &str =
    "share less, raise the memory limit of this process or container, or allow memfd_create in its seccomp filter";

/// Creates a memory file of that length, without any allocated pages.
fn object(bytes: usize) -> Result<OwnedFd, Error> {
    let file = memfd_create("foregather-dsm", MemfdFlags::CLOEXEC).map_err(refused("making the shared memory object", REMEDY))?;
    ftruncate(&file, bytes as u64).map_err(refused("sizing the shared memory object", REMEDY))?;
    Ok(file)
}

fn refused(what: &'static str, remedy: &'static str) -> impl FnOnce(Errno) -> Error {
    move |errno| Error::from(Cause::Os { what, errno: errno.raw_os_error(), remedy })
}
