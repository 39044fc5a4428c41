//! Memory that a lane exposes to its peers, as all of them see it: its generation, its pieces, and the lane
//! that is copying. States: `README.md`.
use super::duel::Duel;
use super::pieces::{CopyDirection, Errno, RemoteRange, total, transfer};
use core::mem::size_of;
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::*};
use foregather_machine::CachePadded;

/// The maximum number of pieces stored in a list itself. A longer list contains its address in the owner's
/// memory.
const NEAR: usize = 23;
/// The maximum number of pieces in a list.
pub(crate) const MOST_PIECES: usize = 1 << 16;
/// The lower bits of a state count readers; the upper bits are the generation.
const READERS: u64 = 0xFFFF;
const GENERATION_SHIFT: u32 = 16;

/// One of a lane's exposures.
#[repr(C)]
pub(crate) struct Exposure {
    state: CachePadded<AtomicU64>,
    pub(crate) contest: CachePadded<Contest>,
    /// The exposed memory.
    pub(crate) source: List,
}

/// A copy by both sides, for one getter at a time.
#[repr(C)]
pub(crate) struct Contest {
    pub(crate) duel: Duel,
    /// The getter's port plus one.
    getter: AtomicU32,
    /// Nonzero if the helper copies chunks to its stage instead of writing them.
    staged: AtomicU32,
    chunk: AtomicUsize,
    total: AtomicUsize,
    /// The destination of the bytes.
    pub(crate) target: List,
}

/// A list of pieces that others can read.
#[repr(C, align(128))]
pub(crate) struct List {
    count: AtomicUsize,
    far: AtomicUsize,
    near: [[AtomicUsize; 2]; NEAR],
}

const _: () = assert!(size_of::<List>() == 384 && size_of::<Exposure>() == 1_024);

impl Exposure {
    /// The owner: exposes the pieces of `source` under that generation. There are no readers yet.
    pub(crate) fn open(&self, generation: u64) {
        self.contest.end();
        self.state.store(generation << GENERATION_SHIFT, Release);
    }

    /// The owner: ends the generation. Returns whether it still has readers.
    pub(crate) fn close(&self, generation: u64) -> bool {
        let next = |state| Some(generation << GENERATION_SHIFT | state & READERS);
        let (Ok(before) | Err(before)) = self.state.fetch_update(AcqRel, Acquire, next);
        before & READERS != 0
    }

    /// The owner: returns whether there are readers.
    pub(crate) fn is_read(&self) -> bool {
        self.state.load(Acquire) & READERS != 0
    }

    /// Registers a reader, if the current generation is `generation`.
    pub(crate) fn enter(&self, generation: u64) -> bool {
        let one_more = |state| {
            let room = state & READERS < READERS;
            (state >> GENERATION_SHIFT == generation && room).then_some(state + 1)
        };
        self.state.fetch_update(AcqRel, Acquire, one_more).is_ok()
    }

    /// Unregisters a reader. Returns whether the generation was `generation` all the time.
    pub(crate) fn leave(&self, generation: u64) -> bool {
        self.state.fetch_sub(1, AcqRel) >> GENERATION_SHIFT == generation
    }
}

impl Contest {
    /// A getter: starts a copy. Returns false if another getter is active.
    pub(crate) fn begin(&self, port: usize, total: usize, chunk: usize, staged: bool) -> bool {
        let begun = self.getter.compare_exchange(0, port as u32 + 1, AcqRel, Relaxed).is_ok();
        if begun {
            self.total.store(total, Relaxed);
            self.chunk.store(chunk, Relaxed);
            self.staged.store(staged.into(), Relaxed);
        }
        begun
    }

    /// The getter: ends the copy, once no chunk is claimed any more.
    pub(crate) fn end(&self) {
        self.getter.store(0, Release);
    }

    /// The helper, within a claim: returns the getter's port, the bytes of the copy, and the bytes of a
    /// chunk.
    pub(crate) fn terms(&self) -> (usize, usize, usize) {
        let getter = self.getter.load(Relaxed).wrapping_sub(1) as usize;
        (getter, self.total.load(Relaxed), self.chunk.load(Relaxed))
    }

    /// The helper, within a claim: returns whether it copies the chunk to its stage.
    pub(crate) fn is_staged(&self) -> bool {
        self.staged.load(Relaxed) != 0
    }
}

impl List {
    /// Writes the list. The pieces must stay in place for as long as a peer may read the list.
    ///
    /// # Panics
    /// In a debug build, for more than [`MOST_PIECES`].
    pub(crate) fn write(&self, pieces: &[RemoteRange]) {
        debug_assert!(pieces.len() <= MOST_PIECES);
        self.count.store(pieces.len(), Relaxed);
        if pieces.len() > NEAR {
            self.far.store(pieces.as_ptr().expose_provenance(), Relaxed);
            return;
        }
        for (words, piece) in self.near.iter().zip(pieces) {
            words[0].store(piece.at, Relaxed);
            words[1].store(piece.bytes, Relaxed);
        }
    }

    /// Reads the pieces that the owner, the process `pid`, has written, and returns their total size in
    /// bytes.
    pub(crate) fn read(&self, pid: i32, pieces: &mut Vec<RemoteRange>) -> Result<usize, Errno> {
        let count = self.count.load(Relaxed);
        pieces.clear();
        if count <= NEAR {
            pieces.extend(
                self.near[..count].iter().map(|words| RemoteRange { at: words[0].load(Relaxed), bytes: words[1].load(Relaxed) }),
            );
        } else {
            if count > MOST_PIECES {
                return Err(Errno(libc::EFAULT));
            }
            pieces.resize(count, RemoteRange { at: 0, bytes: 0 });
            let bytes = count * size_of::<RemoteRange>();
            let here = [RemoteRange { at: pieces.as_mut_ptr().expose_provenance(), bytes }];
            let there = [RemoteRange { at: self.far.load(Relaxed), bytes }];
            // SAFETY: `here` is the vector's memory, which this call alone borrows, and has `bytes` bytes;
            // any bytes are valid pieces.
            unsafe { transfer(CopyDirection::Read, pid, &here, &there, 0..bytes) }?;
        }
        total(pieces).ok_or(Errno(libc::EFAULT))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exposure() -> Box<Exposure> {
        // SAFETY: all fields are atomics, for which zeros are valid, as in a new mapping.
        Box::new(unsafe { core::mem::zeroed() })
    }

    #[test]
    fn readers_enter_the_present_generation_only_and_are_counted() {
        let exposure = exposure();
        exposure.open(1);
        assert!(exposure.enter(1) && exposure.enter(1) && !exposure.enter(2) && !exposure.enter(0));
        assert!(exposure.leave(1) && exposure.close(2) && exposure.is_read(), "one reads on");
        assert!(!exposure.enter(1) && !exposure.leave(1), "it is told that it was too late");
        assert!(!exposure.is_read() && !exposure.close(3));
    }

    #[test]
    fn lists_of_any_length_arrive_and_nonsense_is_refused() {
        if crate::fabric::pieces::are_refused() {
            return;
        }
        let (exposure, pid) = (exposure(), std::process::id() as i32);
        for count in [0, 1, NEAR, NEAR + 1, 1_000] {
            let pieces: Vec<_> = (0..count).map(|at| RemoteRange { at, bytes: at }).collect();
            exposure.source.write(&pieces);
            let mut read = Vec::new();
            assert_eq!(exposure.source.read(pid, &mut read), Ok(count * count.saturating_sub(1) / 2));
            assert_eq!(read, pieces);
        }
        for count in [MOST_PIECES + 1, usize::MAX] {
            exposure.source.count.store(count, Relaxed);
            assert_eq!(exposure.source.read(pid, &mut Vec::new()), Err(Errno(libc::EFAULT)));
        }
        exposure.source.write(&[RemoteRange { at: 0, bytes: usize::MAX }, RemoteRange { at: 0, bytes: usize::MAX }]);
        assert_eq!(exposure.source.read(pid, &mut Vec::new()), Err(Errno(libc::EFAULT)));
    }

    #[test]
    fn one_getter_at_a_time_is_helped() {
        let exposure = exposure();
        assert!(exposure.contest.begin(3, 100, 10, false) && !exposure.contest.begin(4, 1, 1, false));
        assert_eq!(exposure.contest.terms(), (3, 100, 10));
        exposure.contest.end();
        assert!(exposure.contest.begin(4, 1, 1, true) && exposure.contest.is_staged());
    }
}
