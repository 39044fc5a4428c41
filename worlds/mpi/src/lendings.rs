//! Memory that a lane lets others read.
use foregather_machine::Key;

/// A stretch of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) at: usize,
    pub(crate) len: usize,
}

/// Memory under one key.
#[derive(Debug)]
struct Lending {
    pieces: Vec<Stretch>,
    /// It is being unexposed: no further lane gets it.
    ends: bool,
}

/// All of a lane's. A key is a place here and how often it was used before: an old key finds nothing.
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

    /// The first `bytes` bytes of the memory under that key; `None` if there is none, or less.
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

    /// No further lane gets it. `false`: there is no such key.
    pub(crate) fn end(&mut self, key: Key) -> bool {
        self.find(key).map(|lending| lending.ends = true).is_some()
    }

    /// The key finds nothing from now on.
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
