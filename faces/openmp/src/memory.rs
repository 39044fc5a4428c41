//! Memory for the program's allocators: a block each, with a note of where it came from before it.
use core::alloc::Layout;
use core::ffi::c_void;
use core::mem::size_of;
use core::ptr::{NonNull, null_mut};
use foregather_host::forks::undivided;
use foregather_openmp::allocator::{Allocator, AllocatorHandle, Fallback};
use foregather_openmp::allocators::{find, usual};
use std::alloc;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

/// Every block is aligned at least like that, as the C library's are.
const USUAL_ALIGNMENT: usize = 16;

/// What stands before a block.
struct Note {
    /// Where the memory begins.
    start: *mut u8,
    layout: Layout,
    bytes: usize,
    /// The allocator whose pool it was taken from.
    allocator: Option<Arc<Allocator>>,
}

/// What a block asks for.
#[derive(Clone, Copy)]
pub(crate) struct BlockRequest {
    /// Its length.
    pub(crate) bytes: usize,
    /// Its address is a multiple of it.
    pub(crate) alignment: usize,
    /// Whether the block is initialised to zero.
    pub(crate) zeroed: bool,
}

/// A block by that allocator, or by those that stand in for it; null if there is none.
pub(crate) fn allocate(request: BlockRequest, handle: AllocatorHandle) -> *mut c_void {
    if request.bytes == 0 || !request.alignment.is_power_of_two() {
        return null_mut();
    }
    let mut next = Some(if handle == 0 { usual() } else { handle });
    // A circle of allocators would stand in for each other forever.
    for _ in 0..64 {
        let Some(handle) = next else { break };
        let allocator = find(handle);
        if let Some(block) = taken(request, allocator.as_ref(), 0) {
            return block.as_ptr().cast();
        }
        next = allocator.and_then(|allocator| stand_in(request, &allocator));
    }
    null_mut()
}

/// Which allocator is asked when one has no memory; `None`: none.
fn stand_in(request: BlockRequest, allocator: &Allocator) -> Option<AllocatorHandle> {
    match allocator.fallback {
        Fallback::DefaultMemory => Some(1),
        Fallback::Other(0) => Some(usual()),
        Fallback::Other(other) => Some(other),
        Fallback::Null => None,
        Fallback::Abort => {
            eprintln!("foregather: no memory for {} bytes, and the allocator was told to end the program", request.bytes);
            std::process::exit(1);
        }
    }
}

/// A block of which `before` bytes are taken of the pool already.
fn taken(request: BlockRequest, allocator: Option<&Arc<Allocator>>, before: usize) -> Option<NonNull<u8>> {
    let more = request.bytes.saturating_sub(before);
    if allocator.is_some_and(|allocator| !allocator.take(more)) {
        return None;
    }
    let block = fetch(request, allocator);
    if let (None, Some(allocator)) = (block, allocator) {
        allocator.give_back(more);
    }
    block
}

fn page_bytes() -> usize {
    // SAFETY: it has no contract.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(1 << 16)
}

/// A block of the process's memory, which notes its allocator.
fn fetch(request: BlockRequest, allocator: Option<&Arc<Allocator>>) -> Option<NonNull<u8>> {
    let BlockRequest { bytes, alignment, zeroed } = request;
    let own = allocator.map_or(1, |allocator| allocator.alignment);
    let alignment = alignment.max(own).max(USUAL_ALIGNMENT);
    // The note, then the block, each aligned.
    let before = size_of::<Note>().next_multiple_of(alignment);
    let mut layout = Layout::from_size_align(before.checked_add(bytes)?, alignment).ok()?;
    let is_pinned = allocator.is_some_and(|allocator| allocator.is_pinned);
    if is_pinned {
        // On pages of its own, which concern no other block.
        layout = layout.align_to(page_bytes()).ok()?.pad_to_align();
    }
    // SAFETY: the layout is not of length 0.
    let start = unsafe { if zeroed { alloc::alloc_zeroed(layout) } else { alloc::alloc(layout) } };
    if start.is_null() {
        return None;
    }
    // SAFETY: the pages are this block's own.
    if is_pinned && unsafe { libc::mlock(start.cast(), layout.size()) } != 0 {
        // SAFETY: it was fetched above, with that layout.
        unsafe { alloc::dealloc(start, layout) };
        return None;
    }
    // SAFETY: the block lies in the memory that was fetched, with room for an aligned note before it.
    unsafe {
        let block = start.add(before);
        block.cast::<Note>().sub(1).write(Note { start, layout, bytes, allocator: allocator.cloned() });
        NonNull::new(block)
    }
}

/// Gives a block's memory back, and returns what was taken of whose pool.
///
/// # Safety
/// `block` was allocated here and is not used any more.
unsafe fn release(block: *mut c_void) -> (Option<Arc<Allocator>>, usize) {
    unmark(block);
    // SAFETY: by this function's contract there is a note before the block, which nothing reads again.
    unsafe {
        let Note { start, layout, bytes, allocator } = block.cast::<Note>().sub(1).read();
        if allocator.as_ref().is_some_and(|allocator| allocator.is_pinned) {
            // It fails for no pages that were pinned.
            libc::munlock(start.cast(), layout.size());
        }
        alloc::dealloc(start, layout);
        (allocator, bytes)
    }
}

/// Gives a block back; null is none.
///
/// # Safety
/// `block` is null, or was allocated here and is not used any more.
pub(crate) unsafe fn free(block: *mut c_void) {
    if !block.is_null() {
        // SAFETY: by this function's contract.
        if let (Some(allocator), bytes) = unsafe { release(block) } {
            allocator.give_back(bytes);
        }
    }
}

/// A block with the content of another, as far as it fits, which is given back then; null, and nothing has
/// changed, if there is none, or none was asked for: then the other is given back alone. Without a handle it
/// comes from where the other one did.
///
/// # Safety
/// As for [`free`], except if the result is null and `bytes` is not 0.
pub(crate) unsafe fn reallocate(block: *mut c_void, bytes: usize, handle: AllocatorHandle) -> *mut c_void {
    let request = BlockRequest { bytes, alignment: 1, zeroed: false };
    if block.is_null() {
        return allocate(request, handle);
    }
    if bytes == 0 {
        // SAFETY: by this function's contract.
        unsafe { free(block) };
        return null_mut();
    }
    // SAFETY: by this function's contract there is a note before the block.
    let (old, before) = unsafe {
        let note = &*block.cast::<Note>().sub(1);
        (note.allocator.clone(), note.bytes)
    };
    let allocator = if handle == 0 { old.clone() } else { find(handle) };
    // Within one pool only the difference is taken.
    let stays = allocator.as_ref().map(Arc::as_ptr) == old.as_ref().map(Arc::as_ptr);
    let (new, moved) = match taken(request, allocator.as_ref(), if stays { before } else { 0 }) {
        Some(new) => (new.as_ptr().cast(), stays),
        None => (
            allocator.and_then(|allocator| stand_in(request, &allocator)).map_or(null_mut(), |other| allocate(request, other)),
            false,
        ),
    };
    if !new.is_null() {
        let marked = is_marked(block);
        // SAFETY: both have at least that length, and are different blocks; the other one is given back by
        // this function's contract.
        let pool = unsafe {
            new.cast::<u8>().copy_from_nonoverlapping(block.cast(), before.min(bytes));
            release(block)
        };
        if let (Some(allocator), taken) = pool {
            allocator.give_back(if moved { taken.saturating_sub(bytes) } else { taken });
        }
        if marked {
            mark(new);
        }
    }
    new
}

/// Variables of Fortran whose memory was allocated here, until it is given back.
static MARKED: Mutex<Option<HashSet<usize>>> = Mutex::new(None);

fn marked<T>(look: impl FnOnce(&mut HashSet<usize>) -> T) -> T {
    undivided(|| look(MARKED.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default()))
}

/// Notes that a block is a variable's whose program asks before it gives it back.
pub(crate) fn mark(block: *mut c_void) {
    marked(|all| all.insert(block.addr()));
}

/// Returns whether this block is marked.
pub(crate) fn is_marked(block: *mut c_void) -> bool {
    marked(|all| all.contains(&block.addr()))
}

fn unmark(block: *mut c_void) {
    marked(|all| all.remove(&block.addr()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use foregather_openmp::allocators::{destroy, make};

    fn plain(bytes: usize) -> BlockRequest {
        BlockRequest { bytes, alignment: 1, zeroed: false }
    }

    #[test]
    fn a_block_is_aligned_and_keeps_its_content_when_it_grows() {
        let handle = make(0, [(2, 256), (4, 1000), (5, 12)]).unwrap();
        let block = allocate(BlockRequest { zeroed: true, ..plain(600) }, handle);
        assert!(block.addr().is_multiple_of(256) && allocate(plain(600), handle).is_null());
        // SAFETY: the block has that length; it was allocated here, as the others were.
        unsafe {
            assert_eq!(block.cast::<u8>().add(599).read(), 0);
            block.cast::<u8>().write(7);
            let grown = reallocate(block, 1000, 0);
            assert!(!grown.is_null() && grown.cast::<u8>().read() == 7 && grown.addr().is_multiple_of(256));
            assert!(reallocate(grown, 1001, handle).is_null(), "and the old one is still there");
            let shrunk = reallocate(grown, 100, handle);
            let rest = allocate(plain(900), handle);
            assert!(!rest.is_null() && allocate(plain(1), handle).is_null());
            let elsewhere = reallocate(shrunk, 100, 1);
            assert!(elsewhere.cast::<u8>().read() == 7 && !allocate(plain(100), handle).is_null());
            assert!(reallocate(elsewhere, 0, 1).is_null());
            free(rest);
            free(null_mut());
        }
        destroy(handle);
    }

    #[test]
    fn pinned_memory_is_locked_until_it_is_given_back() {
        let locked = || {
            let status = std::fs::read_to_string("/proc/self/status").unwrap();
            let line = status.lines().find(|line| line.starts_with("VmLck:")).unwrap();
            line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
        };
        let (handle, before) = (make(0, [(7, 1), (5, 12)]).unwrap(), locked());
        let block = allocate(plain(100_000), handle);
        // The limit of locked memory may be none at all.
        if !block.is_null() {
            assert!(locked() >= before + 97);
            // SAFETY: it was allocated here.
            unsafe { free(block) };
            assert_eq!(locked(), before);
        }
    }

    #[test]
    fn others_stand_in_for_an_allocator_without_memory() {
        let inner = make(0, [(4, 10)]).unwrap();
        let outer = make(0, [(4, 10), (5, 14), (6, inner)]).unwrap();
        assert!(!allocate(plain(100), outer).is_null(), "the process's memory, in the end");
        assert!(allocate(plain(0), 1).is_null() && allocate(BlockRequest { alignment: 3, ..plain(8) }, 1).is_null());
    }

    #[test]
    fn a_mark_stays_until_the_block_is_given_back() {
        let block = allocate(plain(8), 1);
        mark(block);
        // SAFETY: it was allocated here.
        unsafe {
            let grown = reallocate(block, 1 << 20, 0);
            assert!(is_marked(grown));
            free(grown);
            assert!(!is_marked(grown));
        }
    }
}
