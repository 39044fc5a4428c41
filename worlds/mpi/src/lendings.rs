//! The memory that a lane exposes to other lanes.
use foregather_machine::{Key, KeyTable};

/// A contiguous range of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) at: usize,
    pub(crate) len: usize,
}

/// The memory exposed under one key.
#[derive(Debug)]
struct Lending {
    pieces: Vec<Stretch>,
    /// Whether the memory is being unexposed, so that no further reads are accepted.
    ends: bool,
}

/// All exposed memory of a lane.
#[derive(Debug, Default)]
pub(crate) struct Lendings(KeyTable<Lending>);

impl Lendings {
    pub(crate) fn add(&mut self, pieces: Vec<Stretch>) -> Key {
        self.0.add(Lending { pieces, ends: false })
    }

    /// Returns the first `bytes` bytes of the memory under `key`, or `None` if there is no such memory or it
    /// is shorter.
    pub(crate) fn first(&mut self, key: Key, bytes: u64) -> Option<Vec<Stretch>> {
        let lending = self.0.find(key).filter(|lending| !lending.ends)?;
        let mut rest = usize::try_from(bytes).ok()?;
        let mut first = Vec::new();
        for piece in &lending.pieces {
            let len = piece.len.min(rest);
            rest -= len;
            if len > 0 {
                first.push(Stretch { len, ..*piece });
            }
        }
        (rest == 0).then_some(first)
    }

    /// Refuses further reads of the memory under `key`. Returns false if there is no such key.
    pub(crate) fn end(&mut self, key: Key) -> bool {
        self.0.find(key).map(|lending| lending.ends = true).is_some()
    }

    /// Removes the memory under `key`.
    pub(crate) fn remove(&mut self, key: Key) {
        self.0.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stretch(at: usize, len: usize) -> Stretch {
        Stretch { at, len }
    }

    #[test]
    fn memory_is_cut_where_the_reader_ends() {
        let mut all = Lendings::default();
        let key = all.add(vec![stretch(100, 5), stretch(200, 0), stretch(300, 9)]);
        assert_eq!(all.first(key, 14), Some(vec![stretch(100, 5), stretch(300, 9)]));
        assert_eq!(all.first(key, 6), Some(vec![stretch(100, 5), stretch(300, 1)]));
        assert_eq!(all.first(key, 0), Some(vec![]));
        assert_eq!(all.first(key, 15), None, "it is shorter");
    }

    #[test]
    fn an_old_key_finds_nothing_and_neither_does_one_that_ends() {
        let mut all = Lendings::default();
        let key = all.add(vec![stretch(1, 1)]);
        assert!(all.end(key) && all.first(key, 1).is_none());
        all.remove(key);
        assert!(!all.end(key));
        let next = all.add(vec![stretch(2, 1)]);
        assert!(next != key && all.first(key, 1).is_none() && all.first(next, 1).is_some());
        assert!(all.first(Key(u64::MAX), 0).is_none());
    }
}
