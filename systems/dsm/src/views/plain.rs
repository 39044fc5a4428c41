//! Loads and stores as an application makes them: through a view, where they may fault and are served.
use super::copy;
use super::handler;
use super::space::Space;
use crate::Access;
use core::ptr::NonNull;
use core::sync::atomic::AtomicU64;

impl Space {
    /// Requests the access that a load or store of that byte needs: calls the handler of this space like a
    /// fault, but without a signal. If the handler does not grant the access, or it is lost again before the
    /// load or store, that faults.
    ///
    /// # Panics
    /// If there is no such view or byte.
    #[cold]
    #[inline(never)]
    pub fn ask(&self, view: u32, offset: usize, needs: Access) {
        handler::ask(self.application(view, offset).addr(), needs);
    }

    /// Copies bytes from the object into `into`, as an application sees them through that view.
    ///
    /// # Panics
    /// If there is no such view, or there are no such bytes.
    #[inline]
    pub fn load(&self, view: u32, offset: usize, into: &mut [u8]) {
        if let Some(from) = self.stretch_of(view, offset, into.len()) {
            // SAFETY: `into.len()` bytes of a view that is mapped as long as self, and accessed atomically
            // only. A thread that may not read them faults, and is served or ends.
            unsafe { copy::out_of(from, into) };
        }
    }

    /// Copies `from` into the object, through that view.
    ///
    /// # Panics
    /// As for [`load`](Self::load).
    #[inline]
    pub fn store(&self, view: u32, offset: usize, from: &[u8]) {
        if let Some(to) = self.stretch_of(view, offset, from.len()) {
            // SAFETY: `from.len()` bytes of a view that is mapped as long as self, and accessed atomically
            // only. A thread that may not write them faults, and is served or ends.
            unsafe { copy::into(to, from) };
        }
    }

    /// Returns a word as an application sees it through that view: accesses to it may fault and are served.
    ///
    /// # Panics
    /// As [`words`](Self::words).
    #[inline]
    pub fn word(&self, view: u32, offset: usize) -> &AtomicU64 {
        &self.words(view, offset, 1)[0]
    }

    /// Returns consecutive words as an application sees them through that view.
    ///
    /// # Panics
    /// As [`load`](Self::load), or if the first byte does not begin an aligned word.
    #[inline]
    pub fn words(&self, view: u32, offset: usize, words: usize) -> &[AtomicU64] {
        assert!(offset.is_multiple_of(size_of::<AtomicU64>()), "byte {offset} begins no word");
        let from = self.stretch_of(view, offset, words.saturating_mul(size_of::<AtomicU64>()));
        // SAFETY: `words` words of a view that is mapped as long as self, aligned since views begin at pages;
        // any bytes are words. All other accesses to them are atomic, or by another process, or by pointers
        // whose users answer for them.
        from.map_or(&[], |from| unsafe { core::slice::from_raw_parts(from.as_ptr().cast(), words) })
    }

    #[inline]
    fn stretch_of(&self, view: u32, offset: usize, bytes: usize) -> Option<NonNull<u8>> {
        let end = offset.checked_add(bytes).filter(|&end| end <= self.bytes());
        assert!(end.is_some(), "bytes from {offset} on, {bytes} of them, of {}", self.bytes());
        if bytes == 0 { None } else { NonNull::new(self.application(view, offset)) }
    }
}
