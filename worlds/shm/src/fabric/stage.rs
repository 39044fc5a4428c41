//! A lane's stage: a few chunks of memory that it shares with the lanes that read from it. The lane copies
//! chunks of its exposed memory into the stage while the getter copies earlier ones out, so both sides copy
//! at once and the bytes in transit stay in the caches. Races: `README.md`.
use super::pieces::{RemoteRange, parts_within};
use super::shm_fabric::ShmFabric;
use core::ops::Range;
use core::sync::atomic::Ordering::*;

/// The most bytes of a staged chunk.
pub(crate) const STAGE_CHUNK: usize = 32 << 10;
/// Chunks of a stage.
pub(crate) const STAGE_SLOTS: u32 = 4;
/// Bytes of a stage.
pub(crate) const STAGE: usize = STAGE_CHUNK * STAGE_SLOTS as usize;

/// Returns the bytes of a chunk: a quarter of a short copy, so that both sides start working early.
pub(crate) fn staged_chunk(total: usize) -> usize {
    (total / STAGE_SLOTS as usize).clamp(8 << 10, STAGE_CHUNK).next_multiple_of(64)
}

impl ShmFabric {
    /// The getter at `port`: takes the stage of `from` for one copy. Returns whether it was free.
    pub(crate) fn take_stage(&self, from: usize, port: usize) -> bool {
        self.port(from).state.stage.compare_exchange(0, port as u32 + 1, AcqRel, Relaxed).is_ok()
    }

    /// The getter: releases the stage of `from`, none of whose chunks is claimed any more.
    pub(crate) fn free_stage(&self, from: usize) {
        self.port(from).state.stage.store(0, Release);
    }

    /// The helper at `port`: copies that range of its own pieces to the stage, at most [`STAGE_CHUNK`] bytes.
    ///
    /// # Safety
    /// The pieces are memory that may be read. The caller has claimed the chunk, and may use its slot.
    pub(crate) unsafe fn fill_stage(&self, port: usize, chunk: u32, pieces: &[RemoteRange], range: Range<usize>) {
        let slot = self.stage(port, chunk).cast::<u8>().as_ptr();
        let mut at = 0;
        for part in parts_within(pieces, range) {
            let bytes = part.bytes.min(STAGE_CHUNK - at);
            let from = core::ptr::with_exposed_provenance::<u8>(part.at);
            // SAFETY: by the contract the part may be read, and no other lane that keeps the rules uses the
            // slot, which has room for `at + bytes` bytes. No slice of the caller lies in a stage.
            unsafe { slot.add(at).copy_from_nonoverlapping(from, bytes) };
            at += bytes;
        }
    }

    /// The getter: copies a chunk from the stage of `from` into that range of its own pieces.
    ///
    /// # Safety
    /// The range of the pieces is memory that the caller alone borrows.
    pub(crate) unsafe fn empty_stage(&self, from: usize, chunk: u32, pieces: &[RemoteRange], range: Range<usize>) {
        let slot = self.stage(from, chunk).cast::<u8>().as_ptr();
        let mut at = 0;
        for part in parts_within(pieces, range) {
            let bytes = part.bytes.min(STAGE_CHUNK - at);
            let to = core::ptr::with_exposed_provenance_mut::<u8>(part.at);
            // SAFETY: by the contract the part may be written, and the slot has `at + bytes` bytes. Its owner
            // does not write there before the limit is raised; a process that broke the rules could change
            // bytes meanwhile, and any bytes are valid.
            unsafe { to.copy_from_nonoverlapping(slot.add(at), bytes) };
            at += bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn staged_chunks_fit_into_a_slot_and_there_are_several_of_them() {
        assert_eq!([16 << 10, 64 << 10, 1 << 20].map(staged_chunk), [8 << 10, 16 << 10, 32 << 10]);
        assert!(
            (16 << 10..200 << 10).all(|bytes| staged_chunk(bytes) <= STAGE_CHUNK && bytes.div_ceil(staged_chunk(bytes)) >= 2)
        );
    }
}
