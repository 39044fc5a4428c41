//! Memory that a lane lets others read, and its present readers.
use crate::endpoint::MemoryRegion;
use crate::wire::RemoteMemory;
use foregather_machine::{Key, KeyTable};
use std::sync::Arc;

/// Memory that may be read.
#[derive(Debug)]
pub(crate) struct Exposure {
    pub(crate) records: Vec<RemoteMemory>,
    /// Lanes that were told where it stands and have not reported the end of their reading.
    pub(crate) readers: Vec<u32>,
    /// It is being unexposed: no further lane is told.
    pub(crate) ends: bool,
    /// Held until no lane reads.
    pub(crate) _registrations: Vec<Arc<MemoryRegion>>,
}

impl Exposure {
    pub(crate) fn bytes(&self) -> u64 {
        self.records.iter().map(|record| record.len).sum()
    }
}

/// All exposures of a lane.
#[derive(Debug, Default)]
pub(crate) struct Exposures(pub(crate) KeyTable<Exposure>);

impl Exposures {
    /// Notes a reader of `bytes` bytes, and returns the records of the memory; `None` if there is none, or
    /// less.
    pub(crate) fn read_by(&mut self, key: Key, bytes: u64, reader: u32) -> Option<Vec<RemoteMemory>> {
        let exposure = self.0.find(key).filter(|exposure| !exposure.ends && exposure.bytes() >= bytes)?;
        exposure.readers.push(reader);
        Some(exposure.records.clone())
    }

    /// Returns whether a lane is reading one of them.
    pub(crate) fn are_read(&self) -> bool {
        self.0.iter().any(|exposure| !exposure.readers.is_empty())
    }

    /// A reader is done. `false`: it was none.
    pub(crate) fn done(&mut self, key: Key, reader: u32) -> bool {
        let Some(exposure) = self.0.find(key) else { return false };
        let at = exposure.readers.iter().position(|&other| other == reader);
        at.map(|at| exposure.readers.swap_remove(at)).is_some()
    }

    /// Forgets a reader that has left: it reads no more.
    pub(crate) fn forget(&mut self, reader: u32) {
        for exposure in self.0.iter_mut() {
            exposure.readers.retain(|&other| other != reader);
        }
    }

    /// No further lane is told. `false`: there is no such key.
    pub(crate) fn ends(&mut self, key: Key) -> bool {
        self.0.find(key).map(|exposure| exposure.ends = true).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exposure(len: u64) -> Exposure {
        Exposure {
            records: vec![RemoteMemory { address: 0, len, key: 0 }],
            readers: Vec::new(),
            ends: false,
            _registrations: Vec::new(),
        }
    }

    #[test]
    fn readers_are_counted_and_nobody_is_told_of_what_ends() {
        let mut all = Exposures::default();
        let key = all.0.add(exposure(8));
        assert_eq!(all.read_by(key, 9, 1), None, "it is shorter");
        assert!(all.read_by(key, 8, 1).is_some() && all.read_by(key, 0, 2).is_some());
        assert!(all.ends(key));
        assert_eq!(all.read_by(key, 8, 3), None);
        assert!(all.done(key, 1) && !all.done(key, 1) && !all.done(key, 3) && all.are_read());
        all.forget(2);
        assert!(!all.are_read());
        assert!(all.0.find(key).is_some_and(|exposure| exposure.readers.is_empty()));
        assert!(all.0.remove(key).is_some() && !all.ends(key) && !all.done(key, 2));
    }
}
