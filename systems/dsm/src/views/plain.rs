//! Loads and stores as applications make them: through a view, where they may fault and are served.
use super::copy;
use super::fault;
use super::space::Space;
use crate::Access;
use core::ptr::NonNull;
use core::sync::atomic::AtomicU64;

impl Space {
    /// Asks for what a load or store of that byte needs: whoever serves this space is called as by a fault, but no signal comes. It may be
    /// taken away again before it is used; then, and if this was of no use, the touch faults.
    ///
    /// # Panics
    /// If there is no such view or byte.
    #[cold]
    #[inline(never)]
    pub fn ask(&self, view: u32, offset: usize, needs: Access) {
        fault::ask(self.application(view, offset).addr(), needs);
    }

    /// Copies bytes out, as an application sees them through that view.
    ///
    /// # Panics
    /// If there is no such view, or there are no such bytes.
    #[inline]
    pub fn load(&self, view: u32, offset: usize, into: &mut [u8]) {
        if let Some(from) = self.stretch_of(view, offset, into.len()) {
            // SAFETY: so many bytes of a view that is mapped as long as self, and accessed atomically only. Whoever may not read them
            // faults, and is served or ends.
            unsafe { copy::out_of(from, into) };
        }
    }

    /// Copies bytes in, likewise.
    ///
    /// # Panics
    /// As [`load`](Self::load).
    #[inline]
    pub fn store(&self, view: u32, offset: usize, from: &[u8]) {
        if let Some(to) = self.stretch_of(view, offset, from.len()) {
            // SAFETY: as in `load`.
            unsafe { copy::into(to, from) };
        }
    }

    /// A word, as an application sees it through that view: its accesses may fault and are served.
    ///
    /// # Panics
    /// As [`words`](Self::words).
    #[inline]
    pub fn word(&self, view: u32, offset: usize) -> &AtomicU64 {
        &self.words(view, offset, 1)[0]
    }

    /// Words next to each other, likewise.
    ///
    /// # Panics
    /// As [`load`](Self::load), or if the first byte does not begin an aligned word.
    #[inline]
    pub fn words(&self, view: u32, offset: usize, words: usize) -> &[AtomicU64] {
        assert!(offset.is_multiple_of(size_of::<AtomicU64>()), "byte {offset} begins no word");
        let from = self.stretch_of(view, offset, words.saturating_mul(size_of::<AtomicU64>()));
        // SAFETY: so many words of a view that is mapped as long as self, aligned since views begin at pages; any bytes are words. Whatever
        // else is done to them is done atomically, or by another process, or by pointers whose users answer for it.
        from.map_or(&[], |from| unsafe { core::slice::from_raw_parts(from.as_ptr().cast(), words) })
    }

    #[inline]
    fn stretch_of(&self, view: u32, offset: usize, bytes: usize) -> Option<NonNull<u8>> {
        let end = offset.checked_add(bytes).filter(|&end| end <= self.bytes());
        assert!(end.is_some(), "bytes from {offset} on, {bytes} of them, of {}", self.bytes());
        if bytes == 0 { None } else { NonNull::new(self.application(view, offset)) }
    }
}
