//! Static buffers: memory that stays where it is, with the context that libfabric wants for every operation
//! on it.
//!
//! They are made by the chunk, when they are needed and not before: the number that each peer may need is
//! only a bound.
use crate::abi::{CONTEXT_SIZE, Fid, MR_LOCAL};
use crate::endpoint::{ActiveEndpoint, MemoryRegion};
use crate::wire::{BUFFER, HEAD};
use core::cell::{Cell, RefCell};
use core::ptr::null_mut;
use foregather_machine::Error;
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};

/// Buffers that are made at a time: 530 KB, of which the kernel provides the pages that are touched.
const CHUNK: usize = 32;

/// The use of a lent buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum BufferPurpose {
    /// A frame is to come there.
    Receive,
    /// A frame goes from there.
    Send,
    /// Only its context is lent, to a read of a peer's memory.
    Read,
}

/// One buffer, and the data that its completion must find.
#[repr(C, align(64))]
pub(crate) struct BufferSlot {
    context: [u8; CONTEXT_SIZE as usize],
    index: u32,
    purpose: BufferPurpose,
    peer: u32,
    /// Padding: the bytes behind the head begin at a multiple of eight.
    _align: [u32; 2],
    bytes: [u8; HEAD + BUFFER],
}

/// The data beside a buffer that comes back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReturnedBuffer {
    pub(crate) index: u32,
    pub(crate) purpose: BufferPurpose,
    pub(crate) peer: u32,
}

struct BufferChunk {
    memory: *mut BufferSlot,
    registration: Option<MemoryRegion>,
}

/// The buffers for one direction. They may be dropped only when the endpoint is silent.
pub(crate) struct Slots {
    chunks: RefCell<Vec<BufferChunk>>,
    free: RefCell<Vec<u32>>,
    bound: usize,
    access: u64,
    taken: Cell<u32>,
}

// SAFETY: the memory belongs to the slots alone, and moves with them.
unsafe impl Send for Slots {}

const LAYOUT: Layout = match Layout::array::<BufferSlot>(CHUNK) {
    Ok(layout) => layout,
    Err(_) => panic!("a chunk is small"),
};

impl Slots {
    /// Slots, at most that many, rounded up to whole chunks.
    pub(crate) fn new(bound: usize, access: u64) -> Self {
        Self { chunks: RefCell::default(), free: RefCell::default(), bound, access, taken: Cell::new(0) }
    }

    /// How many slots are taken.
    pub(crate) fn taken(&self) -> u32 {
        self.taken.get()
    }

    fn at(&self, index: u32) -> *mut BufferSlot {
        let chunks = self.chunks.borrow();
        // SAFETY: the index is below the number of slots, so the place is within the chunk's memory.
        unsafe { chunks[index as usize / CHUNK].memory.add(index as usize % CHUNK) }
    }

    /// Takes a slot; makes more if none is free and the bound allows. `None`: the bound is reached.
    ///
    /// # Errors
    /// If memory cannot be registered.
    pub(crate) fn take(&self, endpoint: &ActiveEndpoint, purpose: BufferPurpose, peer: usize) -> Result<Option<u32>, Error> {
        if self.free.borrow().is_empty() && !self.grow(endpoint)? {
            return Ok(None);
        }
        let Some(index) = self.free.borrow_mut().pop() else { return Ok(None) };
        let slot = self.at(index);
        // SAFETY: no other code uses the slot until it is given back.
        unsafe {
            (*slot).purpose = purpose;
            (*slot).peer = peer as u32;
        }
        self.taken.set(self.taken.get() + 1);
        Ok(Some(index))
    }

    /// Gives a slot back.
    pub(crate) fn give(&self, index: u32) {
        self.taken.set(self.taken.get() - 1);
        self.free.borrow_mut().push(index);
    }

    #[cold]
    fn grow(&self, endpoint: &ActiveEndpoint) -> Result<bool, Error> {
        let mut chunks = self.chunks.borrow_mut();
        let first = chunks.len() * CHUNK;
        if first >= self.bound {
            return Ok(false);
        }
        // SAFETY: the layout is not empty.
        let memory = unsafe { alloc_zeroed(LAYOUT) }.cast::<BufferSlot>();
        if memory.is_null() {
            handle_alloc_error(LAYOUT);
        }
        chunks.push(BufferChunk { memory, registration: None });
        if endpoint.provider().memory_mode() & MR_LOCAL != 0 {
            // SAFETY: the chunk stays where it is for as long as its registration.
            let registered = unsafe { endpoint.register(memory.cast(), LAYOUT.size(), self.access) };
            match registered {
                Ok(registration) => chunks[first / CHUNK].registration = Some(registration),
                Err(error) => {
                    drop_chunk(chunks.pop());
                    return Err(error);
                }
            }
        }
        for at in 0..CHUNK {
            // SAFETY: the memory is zeroed and has the right size; all bits zero are a valid slot.
            unsafe { (*memory.add(at)).index = (first + at) as u32 };
        }
        self.free.borrow_mut().extend((first as u32..(first + CHUNK) as u32).rev());
        Ok(true)
    }

    /// The place of head and bytes. A caller that reads or writes there must have taken the slot, and not
    /// lent it.
    pub(crate) fn bytes(&self, index: u32) -> *mut [u8; HEAD + BUFFER] {
        // SAFETY: a place within the slot.
        unsafe { &raw mut (*self.at(index)).bytes }
    }

    /// The context to lend to an operation: it leads back to the slot.
    pub(crate) fn context(&self, index: u32) -> Fid {
        self.at(index).cast()
    }

    /// The descriptor for operations on the slot.
    pub(crate) fn descriptor(&self, index: u32) -> Fid {
        let chunks = self.chunks.borrow();
        chunks[index as usize / CHUNK].registration.as_ref().map_or(null_mut(), MemoryRegion::descriptor)
    }

    /// The slot of a context.
    ///
    /// # Safety
    /// `context` must be one that [`Slots::context`] gave.
    pub(crate) unsafe fn returned(context: Fid) -> ReturnedBuffer {
        let slot = context.cast::<BufferSlot>();
        // SAFETY: by this function's `# Safety` section the context is a slot's; libfabric writes only the
        // context, which stands before these fields.
        unsafe { ReturnedBuffer { index: (*slot).index, purpose: (*slot).purpose, peer: (*slot).peer } }
    }
}

fn drop_chunk(chunk: Option<BufferChunk>) {
    if let Some(BufferChunk { memory, registration }) = chunk {
        drop(registration);
        // SAFETY: made with this layout, and freed once.
        unsafe { dealloc(memory.cast(), LAYOUT) };
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        for chunk in self.chunks.take() {
            drop_chunk(Some(chunk));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_behind_the_head_are_aligned() {
        assert_eq!((core::mem::offset_of!(BufferSlot, bytes) + HEAD) % 8, 0);
        assert_eq!(core::mem::offset_of!(BufferSlot, context), 0);
        assert_eq!(size_of::<BufferSlot>() % 64, 0);
    }
}
