//! Static buffers: memory that the lane owns and MPI may touch. A buffer that MPI never gives back is never
//! freed.
use crate::wire::{BUFFER, HEAD};
use core::cell::RefCell;
use core::ptr::NonNull;

/// Head and bytes of a frame.
#[repr(C, align(64))]
struct Frame([u8; HEAD + BUFFER]);

/// The buffers of one direction; made when they are needed.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    all: RefCell<Vec<NonNull<Frame>>>,
    free: RefCell<Vec<u32>>,
}

// SAFETY: the memory belongs to the buffers alone, and moves with them.
unsafe impl Send for Buffers {}

impl Buffers {
    /// Takes a buffer, a new one if none is free.
    pub(crate) fn take(&self) -> u32 {
        self.free.borrow_mut().pop().unwrap_or_else(|| {
            let mut all = self.all.borrow_mut();
            all.push(NonNull::from(Box::leak(Box::new(Frame([0; HEAD + BUFFER])))));
            all.len() as u32 - 1
        })
    }

    /// Gives a buffer back.
    pub(crate) fn give(&self, index: u32) {
        self.free.borrow_mut().push(index);
    }

    /// The place of head and bytes. A caller that reads or writes there must have taken the buffer, and not
    /// lent it.
    pub(crate) fn bytes(&self, index: u32) -> *mut [u8; HEAD + BUFFER] {
        self.all.borrow()[index as usize].as_ptr().cast()
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        let all = self.all.take();
        for index in self.free.take() {
            // SAFETY: made by a box, freed once, and given back: neither MPI nor the lane uses it.
            drop(unsafe { Box::from_raw(all[index as usize].as_ptr()) });
        }
    }
}
