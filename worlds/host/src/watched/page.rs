//! What the preload library records of a program's threads: memory that the program and its watcher both map.
//!
//! Each thread has a slot that it alone writes, so the watcher reads a hint, never a lock: a reading may be
//! torn between two fields, and is one sample of many. Episodes of barriers go into a ring, written by the
//! thread that arrives last; a stamp tells a whole entry from one that is being written. If the ring
//! overflows between two readings, the oldest episodes are lost and counted.
use super::{memory_file, not_created, path_of};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};
use foregather_machine::{Error, Nanos, ThreadId};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags, fstat, ftruncate, open};
use rustix::mm::{MapFlags, ProtFlags, mmap};
use rustix::time::{ClockId, clock_gettime};
use std::path::Path;

/// The variable that names the page to the preload library.
pub const VARIABLE: &str = "FOREGATHER_WATCH_PAGE";
const MAGIC: u64 = 0xf0e6_a7e5_0000_0001;
const SLOTS: usize = 2_048;
const EPISODES: usize = 1 << 14;
const NAMES: usize = 64;
const NAME_BYTES: usize = 56;

/// What a thread does, as far as a wrapped function shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ThreadActivity {
    /// The program's own code, outside of any region.
    Own,
    /// Its part of a parallel region.
    Part,
    /// It has arrived at a barrier at which others are missing.
    Arrived,
    /// A worker of a runtime, while no region of its team is open.
    Idle,
    /// It waits at a condition variable.
    Condition,
    /// It waits for a mutex that another thread holds.
    Lock,
}

/// What a thread writes into its slot. `Arrived` at a region's end becomes [`ThreadActivity::Idle`] when the
/// region closes, which only its leader's slot shows.
const ACTIVITIES: [ThreadActivity; 6] = [
    ThreadActivity::Own,
    ThreadActivity::Part,
    ThreadActivity::Arrived,
    ThreadActivity::Idle,
    ThreadActivity::Condition,
    ThreadActivity::Lock,
];

/// Counts of one thread. Times are in nanoseconds.
#[derive(Debug, Default)]
#[repr(C)]
pub struct ThreadCounts {
    /// Parallel regions that it opened, and how long they took.
    pub regions: AtomicU64,
    /// See `regions`.
    pub region_ns: AtomicU64,
    /// Parts of regions that it executed, and how long they took until it arrived.
    pub parts: AtomicU64,
    /// See `parts`.
    pub part_ns: AtomicU64,
    /// Regions that it opened within a part.
    pub nested: AtomicU64,
    /// Mutexes that it found locked, and how long it waited for them.
    pub locks: AtomicU64,
    /// See `locks`.
    pub lock_ns: AtomicU64,
    /// Its calls of `sched_yield`.
    pub yields: AtomicU64,
}

/// The place of one thread.
#[derive(Debug)]
#[repr(C, align(128))]
pub struct ThreadSlot {
    process: AtomicU32,
    thread: AtomicU32,
    creator: AtomicU32,
    /// The name of its pool, from 1 on; 0 if it is a process's first thread.
    pool: AtomicU32,
    /// The index in [`ACTIVITIES`].
    activity: AtomicU32,
    /// The thread that holds what this one waits for; 0 if that is not known.
    holder: AtomicU32,
    /// What it waits for: the address of a barrier or mutex, or the number of a region.
    subject: AtomicU64,
    /// When its activity began.
    since: AtomicU64,
    /// The slot, from 1 on, of the leader of the last region of which it had a part, and that region.
    leader: AtomicU32,
    team: AtomicU32,
    /// The region that it has opened; 0 if none is open.
    open_region: AtomicU64,
    /// Only this thread writes them.
    pub counts: ThreadCounts,
}

/// One reading of a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedThread {
    /// Its process.
    pub process: u32,
    /// Its number.
    pub thread: ThreadId,
    /// The thread that created it; 0 if it was there before the library.
    pub creator: ThreadId,
    /// What its threads have in common: the library and the function in which they begin. Empty for a first
    /// thread.
    pub pool: String,
    /// What it does, and since when.
    pub activity: ThreadActivity,
    /// See `activity`.
    pub since: Nanos,
    /// The address or region that it waits for.
    pub subject: u64,
    /// The thread that holds it; 0 if that is not known.
    pub holder: ThreadId,
    /// The size of its last team.
    pub team: u32,
    /// Its counts.
    pub counts: ActivityCounts,
}

/// A copy of [`ThreadCounts`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in ThreadCounts")]
pub struct ActivityCounts {
    pub regions: u64,
    pub region_ns: u64,
    pub parts: u64,
    pub part_ns: u64,
    pub nested: u64,
    pub locks: u64,
    pub lock_ns: u64,
    pub yields: u64,
}

/// One episode of a barrier, or the end of a region, at which all members have arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordedEpisode {
    /// Its process.
    pub process: u32,
    /// The thread that arrived last.
    pub last: ThreadId,
    /// How many members there are.
    pub members: u32,
    /// When the one before the last arrived, and the last.
    pub second: Nanos,
    /// See `second`.
    pub arrived: Nanos,
    /// How long the members waited for the last one, added up.
    pub waited: Nanos,
    /// How long the members were on their way since the episode before, added up.
    pub worked: Nanos,
}

#[repr(C)]
struct PageEntry {
    stamp: AtomicU64,
    fields: [AtomicU64; 7],
}

#[repr(C)]
struct Layout {
    magic: AtomicU64,
    slots_taken: AtomicU32,
    names_taken: AtomicU32,
    episodes: AtomicU64,
    created: AtomicU32,
    refused: AtomicU32,
    refused_errno: AtomicU32,
    without_slot: AtomicU32,
    /// The highest number of a region so far.
    regions: AtomicU64,
    slots: [ThreadSlot; SLOTS],
    ring: [PageEntry; EPISODES],
    names: [[AtomicU64; NAME_BYTES / 8]; NAMES],
}

/// The page, mapped for the rest of this process's life.
#[derive(Clone, Copy)]
pub struct WatchPage(&'static Layout);

/// What the page counts of all threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Creations {
    /// Threads that were created.
    pub created: u32,
    /// Threads that the system refused.
    pub refused: u32,
    /// Why it refused the last one.
    pub errno: i32,
    /// Threads that have no slot, because there are too many.
    pub without_slot: u32,
}

/// The clock of all times on the page, the same in all processes.
#[inline]
pub fn now() -> Nanos {
    let time = clock_gettime(ClockId::Monotonic);
    Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

impl WatchPage {
    /// Creates a page. The descriptor keeps it reachable for programs that this process starts.
    ///
    /// # Errors
    /// If the system refuses the memory.
    pub fn create() -> Result<(Self, OwnedFd), Error> {
        let refused = |errno: rustix::io::Errno| not_created(errno.raw_os_error());
        let file = memory_file("foregather-watch")?;
        ftruncate(&file, size_of::<Layout>() as u64).map_err(refused)?;
        let page = Self::map(&file).map_err(refused)?;
        page.0.magic.store(MAGIC, Release);
        Ok((page, file))
    }

    /// The path by which other processes of this user open the page.
    pub fn path(descriptor: &OwnedFd) -> String {
        path_of(descriptor)
    }

    /// Maps the page of that path. `None` if there is none, as when its watcher has gone.
    pub fn open(path: &Path) -> Option<Self> {
        let file = open(path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).ok()?;
        let is_whole = fstat(&file).is_ok_and(|about| about.st_size as usize == size_of::<Layout>());
        let page = if is_whole { Self::map(&file).ok()? } else { return None };
        (page.0.magic.load(Acquire) == MAGIC).then_some(page)
    }

    fn map(file: impl AsFd) -> rustix::io::Result<Self> {
        // SAFETY: the kernel chooses a free place; the file is as long as the mapping, and is never cut.
        let start = unsafe {
            let access = ProtFlags::READ | ProtFlags::WRITE;
            mmap(core::ptr::null_mut(), size_of::<Layout>(), access, MapFlags::SHARED, file, 0)?
        };
        // SAFETY: the mapping is never removed, is aligned to a page of memory, and has the size of a
        // `Layout`, which is made of atomics alone: any bits are valid, and other processes may write them.
        Ok(Self(unsafe { &*start.cast::<Layout>() }))
    }

    /// Returns whether both are the same mapping.
    pub fn is_same(&self, other: &Self) -> bool {
        core::ptr::eq(self.0, other.0)
    }

    /// Takes a slot for a thread. `None` if all are taken.
    pub fn slot(&self, process: u32, thread: ThreadId, creator: ThreadId, pool: u32) -> Option<&'static ThreadSlot> {
        let index = self.0.slots_taken.fetch_add(1, Relaxed) as usize;
        let slot = self.0.slots.get(index).or_else(|| {
            self.0.slots_taken.store(SLOTS as u32, Relaxed);
            // Those of threads that have exited.
            self.0.slots.iter().find(|slot| slot.thread.compare_exchange(0, thread, Relaxed, Relaxed).is_ok())
        });
        if slot.is_none() {
            self.0.without_slot.fetch_add(1, Relaxed);
        }
        let slot = slot?;
        slot.creator.store(creator, Relaxed);
        slot.pool.store(pool, Relaxed);
        slot.activity.store(0, Relaxed);
        slot.open_region.store(0, Relaxed);
        slot.leader.store(0, Relaxed);
        slot.process.store(process, Relaxed);
        slot.thread.store(thread, Release);
        Some(slot)
    }

    /// Returns a number above 0 for a name of a pool; 0 if there are too many.
    pub fn name(&self, name: &[u8]) -> u32 {
        let mut bytes = [0; NAME_BYTES];
        let length = name.len().min(NAME_BYTES);
        bytes[..length].copy_from_slice(&name[..length]);
        let words: [u64; NAME_BYTES / 8] =
            core::array::from_fn(|at| u64::from_le_bytes(core::array::from_fn(|byte| bytes[at * 8 + byte])));
        let taken = (self.0.names_taken.load(Acquire) as usize).min(NAMES);
        let is_it =
            |known: &[AtomicU64; NAME_BYTES / 8]| known.iter().zip(words).all(|(known, word)| known.load(Relaxed) == word);
        if let Some(at) = self.0.names[..taken].iter().position(is_it) {
            return at as u32 + 1;
        }
        // Two threads may enter the same name twice; readers compare texts.
        let at = self.0.names_taken.fetch_add(1, AcqRel) as usize;
        let Some(place) = self.0.names.get(at) else { return 0 };
        place.iter().zip(words).for_each(|(place, word)| place.store(word, Relaxed));
        at as u32 + 1
    }

    /// Counts a thread that was created, or refused with that error.
    pub fn count_creation(&self, errno: i32) {
        if errno == 0 {
            self.0.created.fetch_add(1, Relaxed);
        } else {
            self.0.refused_errno.store(errno.unsigned_abs(), Relaxed);
            self.0.refused.fetch_add(1, Relaxed);
        }
    }

    /// Returns the number of a new region.
    #[inline]
    pub fn next_region(&self) -> u64 {
        self.0.regions.fetch_add(1, Relaxed) + 1
    }

    /// The index of a slot of this page, from 1 on.
    #[inline]
    pub fn index(&self, slot: &ThreadSlot) -> u32 {
        let offset = core::ptr::from_ref(slot).addr() - self.0.slots.as_ptr().addr();
        (offset / size_of::<ThreadSlot>()) as u32 + 1
    }

    /// Records an episode.
    #[inline]
    pub fn record(&self, episode: &RecordedEpisode) {
        let ticket = self.0.episodes.fetch_add(1, Relaxed);
        let entry = &self.0.ring[ticket as usize % EPISODES];
        entry.stamp.store(0, Relaxed);
        core::sync::atomic::fence(Release);
        let RecordedEpisode { process, last, members, second, arrived, waited, worked } = *episode;
        let values = [process.into(), last.into(), members.into(), second.0, arrived.0, waited.0, worked.0];
        entry.fields.iter().zip(values).for_each(|(field, value)| field.store(value, Relaxed));
        entry.stamp.store(ticket + 1, Release);
    }

    /// Takes the episodes from number `*next` on, and returns how many were lost.
    pub fn episodes(&self, next: &mut u64, mut take: impl FnMut(RecordedEpisode)) -> u64 {
        let end = self.0.episodes.load(Acquire);
        let first = (*next).max(end.saturating_sub(EPISODES as u64));
        let mut lost = first - *next;
        for ticket in first..end {
            let entry = &self.0.ring[ticket as usize % EPISODES];
            let before = entry.stamp.load(Acquire);
            let [process, last, members, second, arrived, waited, worked] =
                core::array::from_fn(|at| entry.fields[at].load(Relaxed));
            core::sync::atomic::fence(Acquire);
            if before != ticket + 1 || entry.stamp.load(Relaxed) != before {
                lost += 1;
                continue;
            }
            let [process, last, members] = [process, last, members].map(|value| value as u32);
            let [second, arrived, waited, worked] = [second, arrived, waited, worked].map(Nanos);
            take(RecordedEpisode { process, last, members, second, arrived, waited, worked });
        }
        *next = end;
        lost
    }

    /// Reads all slots that are taken.
    pub fn threads(&self) -> Vec<RecordedThread> {
        let taken = (self.0.slots_taken.load(Acquire) as usize).min(SLOTS);
        self.0.slots[..taken].iter().filter(|slot| slot.thread.load(Acquire) != 0).map(|slot| self.read(slot)).collect()
    }

    /// Returns whether a thread has a parallel region open.
    pub fn has_open_region(&self, process: u32, thread: ThreadId) -> bool {
        let taken = (self.0.slots_taken.load(Acquire) as usize).min(SLOTS);
        let is_its = |slot: &&ThreadSlot| slot.thread.load(Acquire) == thread && slot.process.load(Relaxed) == process;
        self.0.slots[..taken].iter().filter(is_its).any(|slot| slot.open_region.load(Relaxed) != 0)
    }

    fn read(&self, slot: &ThreadSlot) -> RecordedThread {
        let subject = slot.subject.load(Relaxed);
        let mut activity = ACTIVITIES[(slot.activity.load(Relaxed) as usize).min(ACTIVITIES.len() - 1)];
        let leader = (slot.leader.load(Relaxed) as usize).checked_sub(1).and_then(|leader| self.0.slots.get(leader));
        if let (ThreadActivity::Arrived, Some(leader)) = (activity, leader)
            && leader.open_region.load(Relaxed) != subject
        {
            activity = ThreadActivity::Idle;
        }
        let pool = (slot.pool.load(Relaxed) as usize).checked_sub(1).and_then(|at| self.0.names.get(at));
        let bytes: Vec<u8> = pool.into_iter().flatten().flat_map(|word| word.load(Relaxed).to_le_bytes()).collect();
        let counts = &slot.counts;
        let [regions, region_ns, parts, part_ns, nested, locks, lock_ns, yields] = [
            &counts.regions,
            &counts.region_ns,
            &counts.parts,
            &counts.part_ns,
            &counts.nested,
            &counts.locks,
            &counts.lock_ns,
            &counts.yields,
        ]
        .map(|count| count.load(Relaxed));
        RecordedThread {
            process: slot.process.load(Relaxed),
            thread: slot.thread.load(Relaxed),
            creator: slot.creator.load(Relaxed),
            pool: String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned(),
            activity,
            since: Nanos(slot.since.load(Relaxed)),
            subject,
            holder: slot.holder.load(Relaxed),
            team: slot.team.load(Relaxed),
            counts: ActivityCounts { regions, region_ns, parts, part_ns, nested, locks, lock_ns, yields },
        }
    }

    /// Counts of all threads.
    pub fn creations(&self) -> Creations {
        let page = self.0;
        Creations {
            created: page.created.load(Relaxed),
            refused: page.refused.load(Relaxed),
            errno: page.refused_errno.load(Relaxed) as i32,
            without_slot: page.without_slot.load(Relaxed),
        }
    }
}

impl ThreadSlot {
    /// Begins an activity. Returns the one before, for [`ThreadSlot::resume`].
    #[inline]
    pub fn begin(&self, activity: ThreadActivity, subject: u64, now: Nanos) -> (u32, u64) {
        let before = (self.activity.load(Relaxed), self.subject.load(Relaxed));
        self.since.store(now.0, Relaxed);
        self.subject.store(subject, Relaxed);
        self.activity.store(activity as u32, Relaxed);
        before
    }

    /// Goes back to an activity.
    #[inline]
    pub fn resume(&self, (activity, subject): (u32, u64), now: Nanos) {
        self.since.store(now.0, Relaxed);
        self.subject.store(subject, Relaxed);
        self.activity.store(activity, Relaxed);
    }

    /// Names the thread that holds what this one waits for.
    #[inline]
    pub fn waits_for(&self, holder: ThreadId) {
        self.holder.store(holder, Relaxed);
    }

    /// Opens a region as its leader, or closes it (0). Returns the one that was open before.
    #[inline]
    pub fn open(&self, region: u64) -> u64 {
        let before = self.open_region.load(Relaxed);
        self.open_region.store(region, Relaxed);
        before
    }

    /// Joins the team of a leader's slot.
    #[inline]
    pub fn join(&self, leader: u32, team: u32) {
        self.leader.store(leader, Relaxed);
        self.team.store(team, Relaxed);
    }

    /// Gives the slot back: its thread exits.
    pub fn leave(&self) {
        self.thread.store(0, Release);
    }

    /// Adds to one of this thread's counts.
    #[inline]
    pub fn add(count: &AtomicU64, what: u64) {
        // Only one thread writes it, so no locked instruction is needed.
        count.store(count.load(Relaxed).wrapping_add(what), Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn episode(number: u32) -> RecordedEpisode {
        RecordedEpisode { last: number, members: 2, waited: Nanos(u64::from(number)), ..RecordedEpisode::default() }
    }

    #[test]
    fn what_is_written_through_one_mapping_is_read_through_another() {
        let (page, file) = WatchPage::create().unwrap();
        let other = WatchPage::open(Path::new(&WatchPage::path(&file))).unwrap();
        let pool = other.name(b"libgomp.so.1+0x20");
        let slot = other.slot(7, 8, 3, pool).unwrap();
        slot.begin(ThreadActivity::Lock, 0x10, Nanos(5));
        slot.waits_for(9);
        ThreadSlot::add(&slot.counts.locks, 2);
        other.record(&episode(1));
        let seen = page.threads();
        let expected = (7, 8, 3, "libgomp.so.1+0x20", ThreadActivity::Lock, 0x10, 9, 2);
        let one = &seen[0];
        let got =
            (one.process, one.thread, one.creator, one.pool.as_str(), one.activity, one.subject, one.holder, one.counts.locks);
        assert_eq!((seen.len(), got), (1, expected));
        let (mut next, mut found) = (0, Vec::new());
        assert_eq!(page.episodes(&mut next, |episode| found.push(episode)), 0);
        assert_eq!((found, next), (vec![episode(1)], 1));
        assert_eq!(page.name(b"libgomp.so.1+0x20"), pool);
        assert!(WatchPage::open(Path::new("/proc/self/exe")).is_none(), "another file");
    }

    #[test]
    fn a_worker_that_arrived_is_idle_once_its_leader_has_closed_the_region() {
        let (page, _file) = WatchPage::create().unwrap();
        let [leader, worker] = [1, 2].map(|thread| page.slot(1, thread, 0, 0).unwrap());
        let region = page.next_region();
        leader.open(region);
        worker.join(page.index(leader), 2);
        worker.begin(ThreadActivity::Arrived, region, Nanos(1));
        let doing = || page.threads()[1].activity;
        assert_eq!(doing(), ThreadActivity::Arrived);
        let opens = |thread| page.has_open_region(1, thread);
        assert_eq!((opens(1), opens(2), opens(3)), (true, false, false));
        leader.open(0);
        assert_eq!((doing(), opens(1)), (ThreadActivity::Idle, false));
    }

    #[test]
    fn a_full_ring_loses_the_oldest_and_counts_them() {
        let (page, _file) = WatchPage::create().unwrap();
        (0..EPISODES as u32 + 3).for_each(|number| page.record(&episode(number)));
        let (mut next, mut found) = (0, Vec::new());
        assert_eq!(page.episodes(&mut next, |episode| found.push(episode.last)), 3);
        assert_eq!((found.len(), found[0]), (EPISODES, 3));
    }

    #[test]
    fn threads_without_a_slot_are_counted_until_one_is_given_back() {
        let (page, _file) = WatchPage::create().unwrap();
        let slots: Vec<_> = (0..SLOTS as u32).map(|thread| page.slot(1, thread + 1, 0, 0).unwrap()).collect();
        assert!(page.slot(1, 5_000, 0, 0).is_none());
        assert_eq!(page.creations().without_slot, 1);
        slots[7].leave();
        assert!(page.slot(1, 5_001, 0, 0).is_some());
        assert_eq!(page.threads().iter().filter(|thread| thread.thread == 5_001).count(), 1);
    }
}
