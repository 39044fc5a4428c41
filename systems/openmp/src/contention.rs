//! Threads in regions, counted for each contention group: what began outside of all regions, with the regions
//! within it. Limits of threads hold in a group, so one that a target region or a team begins does not count
//! the threads around it.
use core::sync::atomic::{AtomicU32, Ordering::*};

/// Groups that are counted apart at a time. Further ones count with the program's own.
const MOST: usize = 256;
/// In place of a count: no group has it.
const UNUSED: u32 = u32::MAX;

/// Threads in regions of each group, beyond those that opened them. The first is the program's own.
static BUSY: [AtomicU32; MOST] = {
    let mut busy = [const { AtomicU32::new(UNUSED) }; MOST];
    busy[0] = AtomicU32::new(0);
    busy
};

/// A group, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ContentionGroup(u8);

impl ContentionGroup {
    /// The program's own.
    pub(crate) const PROGRAM: Self = Self(0);

    /// Its count.
    #[inline]
    pub(crate) fn busy(self) -> &'static AtomicU32 {
        &BUSY[usize::from(self.0)]
    }
}

/// A new group, until this is dropped, when all of its regions are over.
pub(crate) struct OwnGroup(pub(crate) ContentionGroup);

impl OwnGroup {
    pub(crate) fn new() -> Self {
        let free = (1..MOST).find(|&at| BUSY[at].compare_exchange(UNUSED, 0, Acquire, Relaxed).is_ok());
        Self(ContentionGroup(free.unwrap_or(0) as u8))
    }
}

impl Drop for OwnGroup {
    fn drop(&mut self) {
        if self.0 != ContentionGroup::PROGRAM {
            self.0.busy().store(UNUSED, Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_counted_apart_until_there_are_too_many() {
        let groups: Vec<OwnGroup> = (0..MOST + 1).map(|_| OwnGroup::new()).collect();
        assert!(groups[0].0 != groups[1].0 && groups[MOST].0 == ContentionGroup::PROGRAM);
        let first = groups[0].0;
        drop(groups);
        assert_eq!(OwnGroup::new().0, first);
        assert_ne!(ContentionGroup::PROGRAM.busy().load(Relaxed), UNUSED);
    }
}
