//! A copy by both sides at once: the reader takes chunks from the upper end and the exposing side writes
//! chunks from the lower end, until they meet. States and races: `README.md`.
use super::primitive::{AtomicU32, AtomicU64, Ordering::*};

/// The claimed chunks. The lower half of `claims` is the number of chunks claimed by the helper, starting at
/// chunk 0; the upper half is the lowest chunk claimed by the getter. The chunks between are free.
#[repr(C)]
pub(crate) struct Duel {
    claims: AtomicU64,
    /// How many chunks the helper has finished.
    written: AtomicU32,
    /// The helper only claims chunks below this one.
    limit: AtomicU32,
    /// Nonzero if the helper could not write one of its chunks.
    failed: AtomicU32,
}

const fn claims(helper: u32, getter: u32) -> u64 {
    (getter as u64) << 32 | helper as u64
}

const fn split(claims: u64) -> (u32, u32) {
    (claims as u32, (claims >> 32) as u32)
}

impl Duel {
    #[cfg(loom)]
    pub(crate) fn new() -> Self {
        Self { claims: AtomicU64::new(0), written: AtomicU32::new(0), limit: AtomicU32::new(0), failed: AtomicU32::new(0) }
    }

    /// The getter: frees `chunks` chunks, of which the helper may claim those below `limit`. No earlier claim
    /// may be open.
    pub(crate) fn open(&self, chunks: u32, limit: u32) {
        self.written.store(0, Relaxed);
        self.failed.store(0, Relaxed);
        self.limit.store(limit, Relaxed);
        self.claims.store(claims(0, chunks), Release);
    }

    /// The getter: takes the highest free chunk.
    pub(crate) fn claim_top(&self) -> Option<u32> {
        let next = |now| match split(now) {
            (helper, getter) if helper < getter => Some(claims(helper, getter - 1)),
            _ => None,
        };
        self.claims.fetch_update(AcqRel, Acquire, next).ok().map(|before| split(before).1 - 1)
    }

    /// The getter: lets the helper claim the chunks below `limit`. The getter has already read the slots that
    /// these chunks use.
    pub(crate) fn raise(&self, limit: u32) {
        self.limit.store(limit, Release);
    }

    /// The helper, within a claim: returns whether it may use the slot of that chunk. A limit of another copy
    /// may have let it claim the chunk.
    pub(crate) fn has_room(&self, chunk: u32) -> bool {
        chunk < self.limit.load(Acquire)
    }

    /// The helper: takes the lowest free chunk below the limit. It then sees what the getter wrote before
    /// [`Duel::open`], which stays until [`Duel::wrote`].
    #[inline]
    pub(crate) fn claim_bottom(&self) -> Option<u32> {
        let mut now = self.claims.load(Relaxed);
        loop {
            let (helper, getter) = split(now);
            if helper >= getter || !self.has_room(helper) {
                return None;
            }
            match self.claims.compare_exchange_weak(now, claims(helper + 1, getter), AcqRel, Relaxed) {
                Ok(_) => return Some(helper),
                Err(other) => now = other,
            }
        }
    }

    /// The helper: records that the chunk claimed last was written, or that it could not be.
    pub(crate) fn wrote(&self, well: bool) {
        if !well {
            self.failed.store(1, Relaxed);
        }
        self.written.fetch_add(1, Release);
    }

    /// The getter: returns how many chunks the helper has finished.
    pub(crate) fn written(&self) -> u32 {
        self.written.load(Acquire)
    }

    /// The getter: returns whether a chunk is free.
    pub(crate) fn has_free(&self) -> bool {
        let (helper, getter) = split(self.claims.load(Relaxed));
        helper < getter
    }

    /// The getter: stops further claims. Returns how many chunks are the helper's.
    pub(crate) fn close(&self) -> u32 {
        let (Ok(last) | Err(last)) = self.claims.fetch_update(AcqRel, Acquire, |now| {
            let (helper, _) = split(now);
            Some(claims(helper, helper))
        });
        split(last).0
    }

    /// The getter, after [`Duel::close`]: returns `None` until the helper's chunks are finished, then whether
    /// all were written.
    pub(crate) fn finished(&self, chunks: u32) -> Option<bool> {
        (self.written.load(Acquire) == chunks).then(|| self.failed.load(Relaxed) == 0)
    }
}
