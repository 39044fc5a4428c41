//! A ring of records that many threads write without a lock, also from a signal handler, and that one reader
//! follows.
//!
//! A writer takes a ticket, which no other writer has. A stamp tells a whole entry from one that is being
//! written. If the ring overflows between two readings, the oldest entries are lost and counted.
use core::sync::atomic::{AtomicU64, Ordering::*};

#[repr(C)]
struct RingEntry<const FIELDS: usize> {
    stamp: AtomicU64,
    fields: [AtomicU64; FIELDS],
}

#[repr(C)]
pub(super) struct RecordRing<const FIELDS: usize, const ENTRIES: usize> {
    written: AtomicU64,
    entries: [RingEntry<FIELDS>; ENTRIES],
}

impl<const FIELDS: usize, const ENTRIES: usize> RecordRing<FIELDS, ENTRIES> {
    #[inline]
    pub(super) fn write(&self, values: [u64; FIELDS]) {
        let ticket = self.written.fetch_add(1, Relaxed);
        let entry = &self.entries[ticket as usize % ENTRIES];
        entry.stamp.store(0, Relaxed);
        core::sync::atomic::fence(Release);
        entry.fields.iter().zip(values).for_each(|(field, value)| field.store(value, Relaxed));
        entry.stamp.store(ticket + 1, Release);
    }

    /// Takes the records from number `*next` on, and returns how many were lost.
    pub(super) fn read(&self, next: &mut u64, mut take: impl FnMut([u64; FIELDS])) -> u64 {
        let end = self.written.load(Acquire);
        let first = (*next).max(end.saturating_sub(ENTRIES as u64));
        let mut lost = first - *next;
        for ticket in first..end {
            let entry = &self.entries[ticket as usize % ENTRIES];
            let before = entry.stamp.load(Acquire);
            let values = core::array::from_fn(|at| entry.fields[at].load(Relaxed));
            core::sync::atomic::fence(Acquire);
            if before != ticket + 1 || entry.stamp.load(Relaxed) != before {
                lost += 1;
                continue;
            }
            take(values);
        }
        *next = end;
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_ring_loses_the_oldest_and_counts_them() {
        let ring = RecordRing::<1, 8> {
            written: AtomicU64::new(0),
            entries: [const { RingEntry { stamp: AtomicU64::new(0), fields: [AtomicU64::new(0)] } }; 8],
        };
        let (mut next, mut found) = (0, Vec::new());
        (0..11).for_each(|value| ring.write([value]));
        assert_eq!(ring.read(&mut next, |[value]| found.push(value)), 3);
        ring.write([11]);
        assert_eq!(ring.read(&mut next, |[value]| found.push(value)), 0);
        assert_eq!(found, [3, 4, 5, 6, 7, 8, 9, 10, 11]);
    }
}
