//! Words that the members of a team share: in memory of this process, or in a segment that several processes
//! map.
use crate::{SharedWord, WordLine};
use std::ops::Deref;
use std::sync::Arc;

/// Some lines, all words 0 at first. A clone shares the lines.
///
/// A process that maps the same segment makes its own `SharedLines` over it; the words are the same.
pub struct SharedLines<W: SharedWord> {
    all: Backing<W>,
    from: usize,
    count: usize,
}

enum Backing<W: SharedWord> {
    Own(Arc<[WordLine<W>]>),
    Shared(Arc<dyn AsRef<[WordLine<W>]> + Send + Sync>),
}

impl<W: SharedWord> SharedLines<W> {
    /// `count` new lines of this process.
    pub fn own(count: usize) -> Self {
        Self { all: Backing::Own((0..count).map(|_| WordLine::default()).collect()), from: 0, count }
    }
}

impl<W: SharedWord> SharedLines<W> {
    /// All lines of a segment.
    pub fn shared(segment: Arc<dyn AsRef<[WordLine<W>]> + Send + Sync>) -> Self {
        let count = (*segment).as_ref().len();
        Self { all: Backing::Shared(segment), from: 0, count }
    }

    /// One line: cheaper than to find all of them first.
    #[inline]
    pub fn at(&self, line: usize) -> Option<&WordLine<W>> {
        if line >= self.count {
            return None;
        }
        match &self.all {
            Backing::Own(lines) => lines.get(self.from + line),
            Backing::Shared(segment) => (**segment).as_ref().get(self.from + line),
        }
    }

    /// Splits off the first `count` lines, which stay where they are; the second value is the rest.
    ///
    /// # Panics
    /// If there are fewer.
    #[must_use]
    pub fn split(self, count: usize) -> (Self, Self) {
        assert!(count <= self.count, "{count} lines of {}", self.count);
        let first = Self { count, ..self.clone() };
        (first, Self { from: self.from + count, count: self.count - count, ..self })
    }
}

impl<W: SharedWord> Clone for SharedLines<W> {
    fn clone(&self) -> Self {
        Self { all: self.all.clone(), ..*self }
    }
}

impl<W: SharedWord> Clone for Backing<W> {
    fn clone(&self) -> Self {
        match self {
            Self::Own(lines) => Self::Own(Arc::clone(lines)),
            Self::Shared(segment) => Self::Shared(Arc::clone(segment)),
        }
    }
}

/// Each call finds the lines again: keep the result where speed matters.
impl<W: SharedWord> Deref for SharedLines<W> {
    type Target = [WordLine<W>];
    #[inline]
    fn deref(&self) -> &[WordLine<W>] {
        let all = match &self.all {
            Backing::Own(lines) => lines,
            Backing::Shared(segment) => (**segment).as_ref(),
        };
        &all[self.from..self.from + self.count]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::Cell;

    #[test]
    fn parts_are_the_same_words_and_do_not_overlap() {
        let lines = SharedLines::<Cell<u32>>::own(5);
        let (first, rest) = lines.split(2);
        let (second, none) = rest.split(3);
        assert_eq!((first.len(), second.len(), none.len()), (2, 3, 0));
        first[1][3].set(7);
        second[0][0].set(8);
        assert_eq!((first[1][3].get(), second[0][0].get(), second[2][3].get()), (7, 8, 0));
    }

    #[test]
    fn two_views_of_a_segment_see_each_other() {
        struct Segment(Vec<WordLine<core::sync::atomic::AtomicU32>>);
        impl AsRef<[WordLine<core::sync::atomic::AtomicU32>]> for Segment {
            fn as_ref(&self) -> &[WordLine<core::sync::atomic::AtomicU32>] {
                &self.0
            }
        }
        let segment = Arc::new(Segment((0..3).map(|_| WordLine::default()).collect()));
        let (here, there) = (SharedLines::shared(segment.clone()), SharedLines::shared(segment));
        let (_, here) = here.split(1);
        here[0][2].store(9, core::sync::atomic::Ordering::Relaxed);
        assert_eq!(there[1][2].load(core::sync::atomic::Ordering::Relaxed), 9);
    }

    #[test]
    #[should_panic(expected = "3 lines of 2")]
    fn there_are_no_more_than_there_are() {
        let _ = SharedLines::<Cell<u32>>::own(2).split(3);
    }
}
