//! What the preload library records of a program's threads: memory that the program and its watcher both map.
//!
//! Each thread has a slot that it alone writes, so the watcher reads a hint, never a lock: a reading may be
//! torn between two fields, and is one sample of many. Counts and times are sums, so none is lost between two
//! readings. An episode of a barrier is counted in the slot of the thread that arrived last. A ring has
//! samples of the code that threads execute.
mod ring;
mod samples;
mod work;

pub use samples::{RecordedSample, SampleRecord, SamplingState, Withdrawal};

use super::shared::{self, SharedLayout};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};
use foregather_machine::{Error, Nanos, ThreadId};
use ring::RecordRing;
use rustix::fd::OwnedFd;
use rustix::time::{ClockId, clock_gettime};
use samples::SamplingWords;
use std::path::Path;
use work::PartWork;

/// The variable that names the page to the preload library.
pub const VARIABLE: &str = "FOREGATHER_WATCH_PAGE";
const SLOTS: usize = 2_048;
/// A second of 160 threads that all run.
const SAMPLES: usize = 1 << 14;
const NAMES: usize = 64;
const NAME_BYTES: usize = 56;

/// What a thread does, as far as a wrapped function shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ThreadActivity {
    /// The program's own code, outside of any region.
    #[default]
    Own,
    /// Its part of a parallel region.
    Part,
    /// It has arrived at a barrier at which others are missing.
    Arrived,
    /// A worker of a runtime, while no region of its team is open.
    Idle,
    /// It waits at a condition variable.
    Condition,
    /// It waits for a mutex, a lock of OpenMP or a critical section in which another thread is.
    Lock,
}

/// Added to the subject of a wait for a critical section: addresses of mutexes are multiples of 4.
pub const CRITICAL_SECTION: u64 = 1;
/// Added to the subject of a wait for a lock of OpenMP.
pub const OPENMP_LOCK: u64 = 2;

/// Returns how a lock is named to the user, by the subject of a wait for it.
pub fn lock_name(subject: u64) -> String {
    match subject & (CRITICAL_SECTION | OPENMP_LOCK) {
        CRITICAL_SECTION => "critical section".to_owned(),
        OPENMP_LOCK => "OpenMP lock".to_owned(),
        _ => format!("mutex {subject:#x}"),
    }
}

impl ThreadActivity {
    /// All of them, in the order of their numbers in a slot. `Arrived` at a region's end becomes `Idle` when
    /// the region closes, which only its leader's slot shows.
    pub const ALL: [Self; 6] = [Self::Own, Self::Part, Self::Arrived, Self::Idle, Self::Condition, Self::Lock];
}

/// How long a thread did what, by [`ThreadActivity`].
pub type ActivityTimes = [Nanos; ThreadActivity::ALL.len()];

/// The counts of a thread: as it keeps them, and as they are read.
macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counts of one thread. Times are in nanoseconds.
        #[derive(Debug, Default)]
        #[repr(C)]
        pub struct ThreadCounts {
            $($(#[$doc])* pub $name: AtomicU64,)*
        }

        /// A copy of [`ThreadCounts`].
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct ActivityCounts {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl ThreadCounts {
            fn reset(&self) {
                $(self.$name.store(0, Relaxed);)*
            }

            fn read(&self) -> ActivityCounts {
                ActivityCounts { $($name: self.$name.load(Relaxed),)* }
            }
        }
    };
}

counts! {
    /// Parallel regions that it opened, and how long they took.
    regions,
    /// See `regions`.
    region_ns,
    /// Regions of which the program itself gave the number of threads.
    sized,
    /// Parts of regions that it executed.
    parts,
    /// Regions that it opened within a part.
    nested,
    /// Mutexes that it found locked.
    locks,
    /// Its calls of `sched_yield`.
    yields,
    /// Episodes of barriers, ends of regions included, in which it was the last to arrive.
    episodes,
    /// By how much they would have been shorter if it had arrived with the member before it, added up.
    lead_ns,
    /// How long all other members waited for it, added up.
    waited_ns,
    /// The largest number of members.
    members,
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
    /// The region that it has opened; 0 if none is open. Its code.
    open_region: AtomicU64,
    open_code: AtomicU64,
    /// When it closed a region last.
    closed: AtomicU64,
    /// When a sample of its thread was taken last.
    sampled: AtomicU64,
    /// Whether its thread has exited, so that another one may take the slot.
    has_exited: AtomicU32,
    /// How long it did what, up to `since`.
    times: [AtomicU64; ThreadActivity::ALL.len()],
    part_work: PartWork,
    /// Only this thread writes them.
    pub counts: ThreadCounts,
}

/// One reading of a slot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
    /// The number of its last team's leader on the page; 0 if the team has none.
    pub leader: u32,
    /// The size of that team.
    pub team: u32,
    /// An address in the code of the region that the team has open; 0 if that is not known.
    pub code: u64,
    /// Its counts.
    pub counts: ActivityCounts,
    /// How long it did what, up to this reading.
    pub times: ActivityTimes,
    /// The processor time of its parts of regions.
    pub part_work: KnownWork,
}

/// The processor time of a thread's parts, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KnownWork {
    /// Stretches of parts between two barriers.
    pub stretches: u64,
    /// Those with a known processor time.
    pub known: u64,
    /// That time, in nanoseconds.
    pub known_ns: u64,
}

#[repr(C)]
struct PageLayout {
    magic: AtomicU64,
    slots_taken: AtomicU32,
    names_taken: AtomicU32,
    created: AtomicU32,
    refused: AtomicU32,
    refused_errno: AtomicU32,
    without_slot: AtomicU32,
    /// The highest number of a region so far.
    regions: AtomicU64,
    slots: [ThreadSlot; SLOTS],
    sampling: SamplingWords,
    samples: RecordRing<4, SAMPLES>,
    names: [[AtomicU64; NAME_BYTES / 8]; NAMES],
}

// SAFETY: the type is `repr(C)` and all its fields are atomics or made of them.
unsafe impl SharedLayout for PageLayout {
    const MAGIC: u64 = 0xf0e6_a7e5_0000_0004;

    fn magic(&self) -> &AtomicU64 {
        &self.magic
    }
}

/// The page, mapped for the rest of this process's life.
#[derive(Clone, Copy)]
pub struct WatchPage(&'static PageLayout);

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
        let (page, file) = shared::create("foregather-watch")?;
        Ok((Self(page), file))
    }

    /// Maps the page of that path. `None` if there is none, as when its watcher has gone.
    pub fn open(path: &Path) -> Option<Self> {
        shared::open_page(path).map(Self)
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
            self.0.slots.iter().find(|slot| slot.has_exited.compare_exchange(1, 0, AcqRel, Relaxed).is_ok())
        });
        if slot.is_none() {
            self.0.without_slot.fetch_add(1, Relaxed);
        }
        let slot = slot?;
        slot.thread.store(0, Release);
        slot.creator.store(creator, Relaxed);
        slot.pool.store(pool, Relaxed);
        slot.activity.store(0, Relaxed);
        slot.open_region.store(0, Relaxed);
        slot.leader.store(0, Relaxed);
        slot.sampled.store(0, Relaxed);
        slot.since.store(now().0, Relaxed);
        slot.process.store(process, Relaxed);
        slot.counts.reset();
        slot.times.iter().for_each(|time| time.store(0, Relaxed));
        slot.part_work.reset();
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

    /// Reads the slots of all threads that have not exited.
    pub fn threads(&self) -> Vec<RecordedThread> {
        let at = now();
        self.taken().filter(|slot| slot.has_exited.load(Acquire) == 0).map(|slot| self.read(slot, at)).collect()
    }

    /// Reads all slots, those of threads that have exited included, unless others have taken theirs.
    pub fn all_threads(&self) -> Vec<RecordedThread> {
        let at = now();
        self.taken().map(|slot| self.read(slot, at)).collect()
    }

    fn taken(&self) -> impl Iterator<Item = &ThreadSlot> {
        let taken = (self.0.slots_taken.load(Acquire) as usize).min(SLOTS);
        self.0.slots[..taken].iter().filter(|slot| slot.thread.load(Acquire) != 0)
    }

    /// Returns whether a thread has a parallel region open.
    pub fn has_open_region(&self, process: u32, thread: ThreadId) -> bool {
        let is_its = |slot: &&ThreadSlot| slot.thread.load(Acquire) == thread && slot.process.load(Relaxed) == process;
        self.taken().filter(is_its).any(|slot| slot.open_region.load(Relaxed) != 0)
    }

    /// The slot of the leader of a thread's last team.
    fn leader_of(&self, slot: &ThreadSlot) -> Option<&ThreadSlot> {
        (slot.leader.load(Relaxed) as usize).checked_sub(1).and_then(|leader| self.0.slots.get(leader))
    }

    /// What the thread of a slot does.
    fn activity_of(&self, slot: &ThreadSlot) -> ThreadActivity {
        let activity = ThreadActivity::ALL[(slot.activity.load(Relaxed) as usize).min(ThreadActivity::ALL.len() - 1)];
        let leader = self.leader_of(slot);
        let is_closed = leader.is_some_and(|leader| leader.open_region.load(Relaxed) != slot.subject.load(Relaxed));
        if activity == ThreadActivity::Arrived && is_closed { ThreadActivity::Idle } else { activity }
    }

    fn read(&self, slot: &ThreadSlot, at: Nanos) -> RecordedThread {
        let (subject, since) = (slot.subject.load(Relaxed), Nanos(slot.since.load(Relaxed)));
        let activity = self.activity_of(slot);
        let mut times: ActivityTimes = core::array::from_fn(|activity| Nanos(slot.times[activity].load(Relaxed)));
        if slot.has_exited.load(Relaxed) == 0 {
            times[activity as usize] += at - since;
        }
        let pool = (slot.pool.load(Relaxed) as usize).checked_sub(1).and_then(|at| self.0.names.get(at));
        let bytes: Vec<u8> = pool.into_iter().flatten().flat_map(|word| word.load(Relaxed).to_le_bytes()).collect();
        RecordedThread {
            process: slot.process.load(Relaxed),
            thread: slot.thread.load(Relaxed),
            creator: slot.creator.load(Relaxed),
            pool: String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned(),
            activity,
            since,
            subject,
            holder: slot.holder.load(Relaxed),
            leader: slot.leader.load(Relaxed),
            team: slot.team.load(Relaxed),
            code: self.leader_of(slot).map_or(0, |leader| leader.open_code.load(Relaxed)),
            counts: slot.counts.read(),
            times,
            part_work: slot.part_work.read(),
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
        let before = self.doing();
        self.resume((activity as u32, subject), now);
        before
    }

    /// Goes back to an activity.
    #[inline]
    pub fn resume(&self, (activity, subject): (u32, u64), now: Nanos) {
        self.spend(self.activity.load(Relaxed), now);
        self.subject.store(subject, Relaxed);
        self.activity.store(activity, Relaxed);
        if activity == ThreadActivity::Part as u32 {
            self.part_work.begin();
        }
    }

    /// Begins a part of a region. A worker that arrived at the end of the leader's region before was idle
    /// since that one closed.
    #[inline]
    pub fn begin_part(&self, region: u64, closed_before: Nanos, now: Nanos) {
        let is_leader = self.subject.load(Relaxed) == region;
        if self.activity.load(Relaxed) == ThreadActivity::Arrived as u32 && !is_leader {
            let was_in_it = self.subject.load(Relaxed) + 1 == region;
            if was_in_it && closed_before.0 > self.since.load(Relaxed) {
                self.spend(ThreadActivity::Arrived as u32, closed_before);
            }
            self.spend(ThreadActivity::Idle as u32, now);
        }
        self.begin(ThreadActivity::Part, region, now);
    }

    /// Adds the time since the activity began to the times of one, and begins again.
    #[inline]
    fn spend(&self, activity: u32, now: Nanos) {
        let since = Nanos(self.since.load(Relaxed));
        if let Some(time) = self.times.get(activity as usize) {
            Self::add(time, (now - since).0);
        }
        if activity == ThreadActivity::Part as u32 {
            self.part_work.end(now - since);
        }
        self.since.store(now.0, Relaxed);
    }

    /// What it does, for [`ThreadSlot::resume`].
    #[inline]
    pub fn doing(&self) -> (u32, u64) {
        (self.activity.load(Relaxed), self.subject.load(Relaxed))
    }

    /// Counts an episode in which this thread was the last of `members` to arrive.
    #[inline]
    pub fn count_episode(&self, members: u32, lead: Nanos, waited: Nanos) {
        Self::add(&self.counts.episodes, 1);
        Self::add(&self.counts.lead_ns, lead.0);
        Self::add(&self.counts.waited_ns, waited.0);
        if self.counts.members.load(Relaxed) < members.into() {
            self.counts.members.store(members.into(), Relaxed);
        }
    }

    /// Names the thread that holds what this one waits for.
    #[inline]
    pub fn waits_for(&self, holder: ThreadId) {
        self.holder.store(holder, Relaxed);
    }

    /// Opens a region of that code as its leader, which waits for workers until its own part begins. Returns
    /// the region and the code that were open before, and when the leader closed one last.
    #[inline]
    pub fn open(&self, (region, code): (u64, u64), now: Nanos) -> ((u64, u64), Nanos) {
        let before = (self.open_region.load(Relaxed), self.open_code.load(Relaxed));
        self.open_region.store(region, Relaxed);
        self.open_code.store(code, Relaxed);
        self.begin(ThreadActivity::Arrived, region, now);
        (before, Nanos(self.closed.load(Relaxed)))
    }

    /// Closes a region, within the one that was open before (0: none).
    #[inline]
    pub fn close(&self, (outer, code): (u64, u64), now: Nanos) {
        self.closed.store(now.0, Relaxed);
        self.open_region.store(outer, Relaxed);
        self.open_code.store(code, Relaxed);
    }

    /// Returns the number of its thread.
    #[inline]
    pub fn thread(&self) -> ThreadId {
        self.thread.load(Relaxed)
    }

    /// Joins the team of a leader's slot.
    #[inline]
    pub fn join(&self, leader: u32, team: u32) {
        self.leader.store(leader, Relaxed);
        self.team.store(team, Relaxed);
    }

    /// Gives the slot back: its thread exits.
    pub fn leave(&self, now: Nanos) {
        self.spend(self.activity.load(Relaxed), now);
        self.has_exited.store(1, Release);
    }

    /// Adds to one of this thread's counts.
    #[inline]
    pub fn add(count: &AtomicU64, what: u64) {
        // Only one thread writes it, so no locked instruction is needed.
        count.store(count.load(Relaxed).wrapping_add(what), Relaxed);
    }
}

#[cfg(test)]
mod tests;
