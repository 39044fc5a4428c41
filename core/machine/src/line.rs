//! A value on cache lines of its own.
use core::ops::Deref;

/// Two lines of 64 bytes, since processors fetch lines in pairs: neighbours never slow each other down.
#[derive(Default)]
#[repr(align(128))]
pub struct CachePadded<T>(pub T);

impl<T> Deref for CachePadded<T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}
