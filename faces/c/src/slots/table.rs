//! All slots: chunks, each twice as large as the one before, which stay forever.
use super::primitive::{AtomicPtr, AtomicUsize, FIRST, Ordering::*};
use super::slot::Slot;
use core::ptr;

pub(crate) const CHUNKS: usize = 18;

pub(crate) struct HandleTable<T> {
    pub(crate) chunks: [AtomicPtr<Slot<T>>; CHUNKS],
    /// Where the search for a free slot begins.
    pub(crate) next: AtomicUsize,
}

/// No more chunks.
pub(crate) struct Full;

/// The chunk of a slot, and which of its slots it is.
pub(crate) fn chunk_of(index: usize) -> (usize, usize) {
    let chunk = (index / FIRST + 1).ilog2() as usize;
    (chunk, index - FIRST * ((1 << chunk) - 1))
}

impl<T> HandleTable<T> {
    pub(crate) fn get(&self, index: usize) -> Option<&Slot<T>> {
        let (chunk, at) = chunk_of(index);
        let first = self.chunks.get(chunk)?.load(Acquire);
        // SAFETY: a chunk that is there has `FIRST << chunk` slots, of which `at` is one, and is never freed.
        (!first.is_null()).then(|| unsafe { &*first.add(at) })
    }

    /// How many slots there are.
    fn slots(&self) -> usize {
        let chunks = self.chunks.iter().take_while(|chunk| !chunk.load(Acquire).is_null()).count();
        FIRST * ((1 << chunks) - 1)
    }

    /// Keeps a thing. Returns the number of its slot, and its turn there.
    pub(crate) fn fill(&self, mut thing: T) -> Result<(usize, u64), Full> {
        loop {
            let (all, from) = (self.slots(), self.next.fetch_add(1, Relaxed));
            for index in (0..all).map(|step| from.wrapping_add(step) % all) {
                let Some(slot) = self.get(index) else { continue };
                match slot.fill(thing) {
                    Ok(turn) => return Ok((index, turn)),
                    Err(back) => thing = back,
                }
            }
            self.grow(all)?;
        }
    }

    /// Adds a chunk to those that `slots` are in, unless another thread does.
    #[cold]
    pub(crate) fn grow(&self, slots: usize) -> Result<(), Full> {
        let chunk = chunk_of(slots).0;
        let place = self.chunks.get(chunk).ok_or(Full)?;
        let new = Box::into_raw((0..FIRST << chunk).map(|_| Slot::new()).collect::<Box<[Slot<T>]>>());
        if place.compare_exchange(ptr::null_mut(), new.cast(), AcqRel, Acquire).is_err() {
            // SAFETY: it was made here, and no other thread has seen it.
            drop(unsafe { Box::from_raw(new) });
        }
        Ok(())
    }
}
