//! Memory of one layout that a program and its watcher both map.
use super::{memory_file, not_created};
use core::sync::atomic::{AtomicU64, Ordering::*};
use foregather_machine::Error;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags, fstat, ftruncate, open};
use rustix::mm::{MapFlags, ProtFlags, mmap};
use std::path::Path;

/// What lies in such memory.
///
/// # Safety
/// The type is `repr(C)` and made of atomics alone, so any bits are valid and other processes may write them.
pub(super) unsafe trait SharedLayout: Sized {
    /// Names the layout and its version.
    const MAGIC: u64;
    /// Where the creator stores [`SharedLayout::MAGIC`].
    fn magic(&self) -> &AtomicU64;
}

/// Creates a page. The descriptor keeps it reachable for programs that this process starts.
///
/// # Errors
/// If the system refuses the memory.
pub(super) fn create<L: SharedLayout>(name: &str) -> Result<(&'static L, OwnedFd), Error> {
    let refused = |errno: rustix::io::Errno| not_created(errno.raw_os_error());
    let file = memory_file(name)?;
    ftruncate(&file, size_of::<L>() as u64).map_err(refused)?;
    let page = map::<L>(&file).map_err(refused)?;
    page.magic().store(L::MAGIC, Release);
    Ok((page, file))
}

/// Maps the page of that path. `None` if there is none, as when its watcher has gone.
pub(super) fn open_page<L: SharedLayout>(path: &Path) -> Option<&'static L> {
    let file = open(path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let is_whole = fstat(&file).is_ok_and(|about| about.st_size as usize == size_of::<L>());
    let page = if is_whole { map::<L>(&file).ok()? } else { return None };
    (page.magic().load(Acquire) == L::MAGIC).then_some(page)
}

fn map<L: SharedLayout>(file: impl AsFd) -> rustix::io::Result<&'static L> {
    // SAFETY: the kernel chooses a free place; the file is as long as the mapping, and is never cut.
    let start = unsafe {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        mmap(core::ptr::null_mut(), size_of::<L>(), access, MapFlags::SHARED, file, 0)?
    };
    // SAFETY: the mapping is never removed, is aligned to a page of memory, and has the size of an `L`, of
    // which the trait promises that any bits are valid.
    Ok(unsafe { &*start.cast::<L>() })
}
