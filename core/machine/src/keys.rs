//! The keys of a lane's exposed memory.
use crate::Key;

/// What is exposed under keys. A key is the number of a place and how often the place was used before, so an
/// old key finds nothing.
#[derive(Debug)]
pub struct KeyTable<T> {
    places: Vec<(u32, Option<T>)>,
    free: Vec<u32>,
}

impl<T> Default for KeyTable<T> {
    fn default() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }
}

impl<T> KeyTable<T> {
    /// Adds an entry under a new key.
    pub fn add(&mut self, entry: T) -> Key {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push((0, None));
            self.places.len() as u32 - 1
        });
        let (age, held) = &mut self.places[place as usize];
        *held = Some(entry);
        Key(u64::from(*age) << 32 | u64::from(place))
    }

    /// Returns the entry under a key.
    pub fn find(&mut self, key: Key) -> Option<&mut T> {
        let (age, held) = self.places.get_mut(key.0 as u32 as usize)?;
        held.as_mut().filter(|_| u64::from(*age) == key.0 >> 32)
    }

    /// Removes the entry under a key, which finds nothing from now on.
    pub fn remove(&mut self, key: Key) -> Option<T> {
        self.find(key)?;
        let place = key.0 as u32;
        let (age, held) = &mut self.places[place as usize];
        *age = age.wrapping_add(1);
        self.free.push(place);
        held.take()
    }

    /// Returns all entries.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.places.iter().filter_map(|(_, held)| held.as_ref())
    }

    /// Returns all entries, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.places.iter_mut().filter_map(|(_, held)| held.as_mut())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_key_finds_nothing() {
        let mut all = KeyTable::default();
        let (first, second) = (all.add(1), all.add(2));
        assert_eq!(all.find(second), Some(&mut 2));
        assert_eq!([all.remove(first), all.find(first).copied(), all.remove(first)], [Some(1), None, None]);
        let third = all.add(3);
        assert!(third != first && all.find(first).is_none());
        assert_eq!([third, Key(u64::MAX)].map(|key| all.find(key).copied()), [Some(3), None]);
        assert_eq!(all.iter().copied().collect::<Vec<_>>(), [3, 2]);
    }
}
