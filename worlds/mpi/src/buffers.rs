//! Static buffers: memory of a lane that MPI reads and writes. A buffer that MPI never returns is never
//! freed.
use crate::wire::{BUFFER, HEAD};
use core::cell::RefCell;
use core::ptr::NonNull;

/// The header and the payload of a frame.
#[repr(C, align(64))]
struct Frame([u8; HEAD + BUFFER]);

/// The buffers for one direction, allocated on demand.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    all: RefCell<Vec<NonNull<Frame>>>,
    free: RefCell<Vec<u32>>,
}

// SAFETY: the memory belongs to the buffers alone, and moves with them.
unsafe impl Send for Buffers {}

impl Buffers {
    /// Takes a free buffer; allocates one if none is free.
    pub(crate) fn take(&self) -> u32 {
        self.free.borrow_mut().pop().unwrap_or_else(|| {
            let mut all = self.all.borrow_mut();
            all.push(NonNull::from(Box::leak(Box::new(Frame([0; HEAD + BUFFER])))));
            all.len() as u32 - 1
        })
    }

    /// Returns a buffer to the free list.
    pub(crate) fn give(&self, index: u32) {
        self.free.borrow_mut().push(index);
    }

    /// Returns the address of a buffer. A caller that reads or writes there must have taken the buffer and
    /// must not have passed it to MPI.
    pub(crate) fn bytes(&self, index: u32) -> *mut [u8; HEAD + BUFFER] {
        self.all.borrow()[index as usize].as_ptr().cast()
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        let all = self.all.take();
        for index in self.free.take() {
            // SAFETY: the buffer comes from a box, is freed once, and is in the free list, so neither MPI nor
            // the lane uses it.
            drop(unsafe { Box::from_raw(all[index as usize].as_ptr()) });
        }
    }
}
