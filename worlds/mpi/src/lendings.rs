//! The memory that a lane exposes to other lanes.
use foregather_machine::Key;

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

/// All exposed memory of a lane. A key is an index into `places` and the number of earlier uses of that
/// place, so an old key finds nothing.
#[derive(Debug, Default)]
pub(crate) struct Lendings {
    places: Vec<(u32, Option<Lending>)>,
    free: Vec<u32>,
}

impl Lendings {
    pub(crate) fn add(&mut self, pieces: Vec<Stretch>) -> Key {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push((0, None));
            self.places.len() as u32 - 1
        });
        let (age, held) = &mut self.places[place as usize];
        *held = Some(Lending { pieces, ends: false });
        Key(u64::from(*age) << 32 | u64::from(place))
    }

    fn find(&mut self, key: Key) -> Option<&mut Lending> {
        let (age, held) = self.places.get_mut(key.0 as u32 as usize)?;
        held.as_mut().filter(|_| u64::from(*age) == key.0 >> 32)
    }

    /// Returns the first `bytes` bytes of the memory under `key`, or `None` if there is no such memory or it
    /// is shorter.
    pub(crate) fn first(&mut self, key: Key, bytes: u64) -> Option<Vec<Stretch>> {
        let lending = self.find(key).filter(|lending| !lending.ends)?;
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
        self.find(key).map(|lending| lending.ends = true).is_some()
    }

    /// Removes the memory under `key`.
    pub(crate) fn remove(&mut self, key: Key) {
        if self.find(key).is_some() {
            let place = key.0 as u32;
            let (age, held) = &mut self.places[place as usize];
            (*age, *held) = (age.wrapping_add(1), None);
            self.free.push(place);
        }
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
