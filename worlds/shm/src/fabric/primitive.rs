//! The atomics and cells of rings and duels. Their loom test compiles the same sources with loom's types.
pub(crate) use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Bytes to which users order their own accesses.
#[repr(transparent)]
pub(crate) struct UnsafeCell<T>(core::cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    #[inline]
    pub(crate) fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        read(self.0.get())
    }
    #[inline]
    pub(crate) fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        write(self.0.get())
    }
}

/// Hints to the processor that this place will be written soon, so that it fetches the cache line early.
#[inline]
pub(crate) fn about_to_write<T>(place: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint, which neither reads nor changes memory; the place exists, since it is borrowed.
    unsafe {
        core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_ET0 }>(core::ptr::from_ref(place).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}
