//! What slots are made of. Their loom test compiles the same sources over loom's atomics and cells, and over
//! smaller tables.
pub(crate) use core::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

/// How many lines the calls of a slot are counted in.
pub(crate) const PLACES: usize = 8;
/// How many slots the first chunk of a table has.
pub(crate) const FIRST: usize = 64;

/// A value whose users order the accesses.
pub(crate) struct UnsafeCell<T>(core::cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(core::cell::UnsafeCell::new(value))
    }
    #[inline]
    pub(crate) fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        read(self.0.get())
    }
    #[inline]
    pub(crate) fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        write(self.0.get())
    }
}
