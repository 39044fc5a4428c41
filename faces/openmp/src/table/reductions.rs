//! Memory that the members of a construct share, and the copies of what their tasks reduce.
use core::ffi::c_void;
use foregather_openmp::{task, tasking, worksharing};
use foregather_task::{GroupOf, Reductions};
use std::sync::Arc;

/// How far apart the words of the reductions' description are that say what there is.
const VALUES: usize = 7;
const WORDS_A_VALUE: usize = 3;

/// The reductions that a compiler's description has: how many values, bytes of a member's copies, where the
/// copies are, and from its eighth word on for each value its address and where its copy is.
///
/// # Safety
/// `description` is one.
pub(super) unsafe fn described(description: *const usize, members: u32) -> Reductions {
    // SAFETY: by this function's contract the description is that long.
    let word = |at: usize| unsafe { *description.add(at) };
    let value = |number| (word(VALUES + WORDS_A_VALUE * number), word(VALUES + WORDS_A_VALUE * number + 1));
    Reductions { copies: word(2), bytes: word(1), members, values: (0..word(0)).map(value).collect(), memory: None }
}

/// Completes a description: its copies are there.
///
/// # Safety
/// `description` is one, of the calling thread or of a region that is about to begin.
unsafe fn place(description: *mut usize, copies: usize, members: u32) {
    // SAFETY: by this function's contract.
    unsafe {
        let bytes = *description.add(1);
        description.add(2).write(copies);
        description.add(6).write(copies + bytes * members as usize);
    }
}

/// The tasks of the calling thread's innermost group reduce what is described, with copies of zeros.
///
/// # Safety
/// `description` is one.
pub(super) unsafe fn register(description: *mut usize, members: u32) {
    // SAFETY: by this function's contract.
    unsafe {
        let (bytes, align) = (*description.add(1) * members as usize, (*description.add(2)).max(size_of::<usize>()));
        let copies = libc::aligned_alloc(align, bytes.next_multiple_of(align).max(align));
        assert!(!copies.is_null(), "no memory for the copies of reductions");
        core::ptr::write_bytes(copies.cast::<u8>(), 0, bytes);
        place(description, copies.addr(), members);
        tasking::reduce(described(description, members));
    }
}

/// Memory for the members of the loop, or the other construct, that was just begun: `memory` says how much,
/// and gets its address. They reduce what is described; each of them passes a description.
///
/// # Safety
/// `description` is null or one; `memory` is null, or a word of the calling thread that says how much it is.
pub(super) unsafe fn share(description: *mut usize, memory: *mut *mut c_void) {
    if description.is_null() {
        // SAFETY: by this function's contract.
        if let Some(memory) = unsafe { memory.as_mut() } {
            *memory = worksharing::memory(memory.addr());
        }
        return;
    }
    // SAFETY: by this function's contract.
    unsafe {
        let members = task().size;
        let (bytes, align) = (*description.add(1) * members as usize, (*description.add(2)).max(size_of::<usize>()));
        let others = memory.as_ref().map_or(0, |memory| memory.addr());
        let keeper = worksharing::shared_memory(bytes + align + others);
        let copies = keeper.as_ptr().cast_mut().cast::<c_void>().map_addr(|address| address.next_multiple_of(align));
        if let Some(memory) = memory.as_mut() {
            *memory = copies.byte_add(bytes);
        }
        place(description, copies.addr(), members);
        tasking::begin_group(GroupOf::Construct);
        tasking::reduce(Reductions { memory: Some(Arc::new(keeper)), ..described(description, members) });
    }
}
