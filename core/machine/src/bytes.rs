//! Bytes that members share. They are copied in and out by words, so no reference to them exists, and a copy
//! beside another one gets some mixture of both.
use crate::primitive::{AtomicU64, Ordering::*, fence};
use std::sync::Arc;

/// A word of eight bytes.
const WORD: usize = size_of::<u64>();

/// Memory of bytes that any thread copies at any time.
///
/// # Ordering
/// A copy whose bytes are seen by a load shows, after that load, all that its thread has stored before the
/// copy. So a reader that finds a word unchanged after its load has read bytes from before the change, if the
/// writer changes that word first.
pub trait ByteStore {
    /// How many bytes there are: a multiple of eight.
    fn size(&self) -> usize;
    /// Copies `from` to the bytes from `at` on, a multiple of eight. The rest of the last word is zeroed.
    ///
    /// # Panics
    /// If they reach beyond the end.
    fn store(&self, at: usize, from: &[u8]);
    /// Copies the bytes from `at` on, a multiple of eight.
    ///
    /// # Panics
    /// If they reach beyond the end.
    fn load(&self, at: usize, into: &mut [u8]);
}

/// Bytes of this process, or of a segment that several processes map; all 0 at first. A clone shares them.
pub struct SharedBytes(Backing);

enum Backing {
    Own(Arc<[AtomicU64]>),
    Shared(Arc<dyn AsRef<[AtomicU64]> + Send + Sync>),
}

impl SharedBytes {
    /// New bytes of this process: `size`, rounded up to whole words.
    pub fn own(size: usize) -> Self {
        Self(Backing::Own((0..size.div_ceil(WORD)).map(|_| AtomicU64::new(0)).collect()))
    }

    /// The bytes of a segment.
    pub fn shared(segment: Arc<dyn AsRef<[AtomicU64]> + Send + Sync>) -> Self {
        Self(Backing::Shared(segment))
    }

    /// All bytes as words, in the order of memory.
    pub fn words(&self) -> &[AtomicU64] {
        match &self.0 {
            Backing::Own(words) => words,
            Backing::Shared(segment) => (**segment).as_ref(),
        }
    }
}

impl Clone for SharedBytes {
    fn clone(&self) -> Self {
        Self(match &self.0 {
            Backing::Own(words) => Backing::Own(Arc::clone(words)),
            Backing::Shared(segment) => Backing::Shared(Arc::clone(segment)),
        })
    }
}

impl ByteStore for SharedBytes {
    fn size(&self) -> usize {
        self.words().len() * WORD
    }

    fn store(&self, at: usize, from: &[u8]) {
        debug_assert!(at.is_multiple_of(WORD), "{at} is within a word");
        let words = &self.words()[at / WORD..][..from.len().div_ceil(WORD)];
        let (whole, rest) = from.as_chunks::<WORD>();
        fence(Release);
        for (word, bytes) in words.iter().zip(whole) {
            word.store(u64::from_ne_bytes(*bytes), Relaxed);
        }
        if let (Some(word), false) = (words.last(), rest.is_empty()) {
            let mut last = [0; WORD];
            last[..rest.len()].copy_from_slice(rest);
            word.store(u64::from_ne_bytes(last), Relaxed);
        }
    }

    fn load(&self, at: usize, into: &mut [u8]) {
        debug_assert!(at.is_multiple_of(WORD), "{at} is within a word");
        let words = &self.words()[at / WORD..][..into.len().div_ceil(WORD)];
        let (whole, rest) = into.as_chunks_mut::<WORD>();
        for (word, bytes) in words.iter().zip(whole) {
            *bytes = word.load(Relaxed).to_ne_bytes();
        }
        if let (Some(word), false) = (words.last(), rest.is_empty()) {
            rest.copy_from_slice(&word.load(Relaxed).to_ne_bytes()[..rest.len()]);
        }
        fence(Acquire);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_any_number_come_back() {
        let bytes = SharedBytes::own(61);
        assert_eq!(bytes.size(), 64);
        for len in 0..=56 {
            let from: Vec<u8> = (1..=len).collect();
            bytes.store(8, &[0xAA; 56]);
            bytes.clone().store(8, &from);
            let mut into = vec![0; 56];
            bytes.load(8, &mut into);
            let zeroed = from.len().next_multiple_of(WORD);
            assert_eq!(into[..from.len()], from, "{len}");
            assert!(into[from.len()..zeroed].iter().all(|&byte| byte == 0), "{len}");
            assert!(into[zeroed..].iter().all(|&byte| byte == 0xAA), "{len}");
        }
    }

    #[test]
    #[should_panic(expected = "out of range")]
    fn there_is_nothing_beyond_the_end() {
        SharedBytes::own(64).store(56, &[0; 9]);
    }
}
