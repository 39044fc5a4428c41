//! What a lane lets others read, and who reads it just now.
use crate::endpoint::Registration;
use crate::wire::Record;
use foregather_machine::Key;
use std::sync::Arc;

/// Memory that may be read.
#[derive(Debug)]
pub(crate) struct Exposure {
    pub(crate) records: Vec<Record>,
    /// Lanes that were told where it stands and have not said that they are done.
    pub(crate) readers: Vec<u32>,
    /// Held until nobody reads.
    pub(crate) _registrations: Vec<Arc<Registration>>,
}

impl Exposure {
    pub(crate) fn bytes(&self) -> u64 {
        self.records.iter().map(|record| record.len).sum()
    }
}

/// All of them. A key is a place here and how often it was used before: an old key finds nothing.
#[derive(Debug, Default)]
pub(crate) struct Exposures {
    places: Vec<(u32, Option<Exposure>)>,
    free: Vec<u32>,
}

impl Exposures {
    pub(crate) fn add(&mut self, exposure: Exposure) -> Key {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push((0, None));
            self.places.len() as u32 - 1
        });
        let (age, held) = &mut self.places[place as usize];
        *held = Some(exposure);
        Key(u64::from(*age) << 32 | u64::from(place))
    }

    pub(crate) fn find(&mut self, key: Key) -> Option<&mut Exposure> {
        let (age, held) = self.places.get_mut(key.0 as u32 as usize)?;
        held.as_mut().filter(|_| u64::from(*age) == key.0 >> 32)
    }

    /// Takes it away: the key finds nothing from now on.
    pub(crate) fn remove(&mut self, key: Key) -> Option<Exposure> {
        self.find(key)?;
        let place = key.0 as u32;
        let (age, held) = &mut self.places[place as usize];
        *age = age.wrapping_add(1);
        self.free.push(place);
        held.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exposure(len: u64) -> Exposure {
        Exposure { records: vec![Record { address: 0, len, key: 0 }], readers: Vec::new(), _registrations: Vec::new() }
    }

    #[test]
    fn an_old_key_finds_nothing() {
        let mut all = Exposures::default();
        let (first, second) = (all.add(exposure(1)), all.add(exposure(2)));
        assert_eq!(all.find(second).map(|found| found.bytes()), Some(2));
        assert!(all.remove(first).is_some() && all.find(first).is_none() && all.remove(first).is_none());
        let third = all.add(exposure(3));
        assert!(third != first && all.find(first).is_none());
        assert_eq!(all.find(third).map(|found| found.bytes()), Some(3));
        assert!(all.find(Key(u64::MAX)).is_none());
    }
}
