//! One step of a spin loop.

/// Tells the processor that this thread spins, so that a sibling thread and the memory bus get their share.
#[inline(always)]
pub fn pause() {
    core::hint::spin_loop();
}
