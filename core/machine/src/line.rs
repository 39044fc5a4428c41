//! Values on cache lines of their own.
use crate::SharedWord;
use core::ops::{Deref, Index};

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

/// Four words and a counter on cache lines of their own, all 0 at first; the owner of the line gives each
/// word its meaning.
#[derive(Default)]
pub struct WordLine<W: SharedWord>(CachePadded<LineWords<W>>);

/// The order is the same in every program that maps a segment.
#[derive(Default)]
#[repr(C)]
struct LineWords<W: SharedWord> {
    words: [W; 4],
    counter: W::Counter,
}

impl<W: SharedWord> WordLine<W> {
    /// The words.
    #[inline]
    pub fn words(&self) -> &[W; 4] {
        &self.0.words
    }

    /// The counter.
    #[inline]
    pub fn counter(&self) -> &W::Counter {
        &self.0.counter
    }
}

impl<W: SharedWord> Index<usize> for WordLine<W> {
    type Output = W;
    #[inline]
    fn index(&self, word: usize) -> &W {
        &self.0.words[word]
    }
}
