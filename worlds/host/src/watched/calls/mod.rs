//! In which calls of MPI the ranks of a program are: memory that they and their watcher both map.
//!
//! Each thread that calls MPI has a slot that it alone writes, by relaxed stores and without a clock. Every
//! call has a number, so the watcher sees by two looks whether a rank gets on. A reading is a hint: it may be
//! torn between two words, but that of a call that lasts is not. How many messages a rank has sent to and
//! wanted from each other one, by tag, tells a message that is on its way from one that no rank sends.
mod awaited;
mod kind;
mod reading;

pub use awaited::AwaitedMessage;
pub use kind::{CallNeeds, MpiCall};
pub use reading::{CollectiveCount, MessageCounts, RecordedCall, RecordedCommunicator};

use super::shared::{self, SharedLayout};
use awaited::COMMUNICATORS;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::*, fence};
use foregather_machine::{Error, Rank, ThreadId};
use rustix::fd::OwnedFd;
use std::path::Path;

/// The variable that names the page to the preload library.
pub const VARIABLE: &str = "FOREGATHER_HANG_PAGE";
/// More threads than that are not noted.
const SLOTS: usize = 512;
/// Of one call, this number of messages is noted.
pub const AWAITED: usize = 8;
const RECENT: usize = 16;
/// Communicators of which a slot counts the collective calls; two that share a place are not told apart.
const COUNTED: usize = 16;
/// Jobs of more ranks share counts of messages.
pub const COUNTED_RANKS: usize = 256;
/// Tags that differ by this number share a count.
const TAGS: usize = 64;
const MEMBER_WORDS: usize = 16;
/// Communicators of more ranks have no members on the page.
pub const MOST_MEMBERS: usize = MEMBER_WORDS * 64;
/// The communicator of all ranks, on the page.
pub const WORLD: u16 = 0;

const INSIDE: u64 = 1 << 63;
const UNKNOWN: u64 = 1 << 62;
const NO_RANK: u32 = u32::MAX;

/// The place of one thread.
#[repr(C, align(128))]
pub struct CallSlot {
    process: AtomicU32,
    thread: AtomicU32,
    rank: AtomicU32,
    size: AtomicU32,
    /// The level of threads that `MPI_Init_thread` has granted.
    level: AtomicU32,
    /// The threads that the process had when `MPI_Init` returned.
    threads: AtomicU32,
    has_finalized: AtomicU32,
    /// How many calls it began.
    number: AtomicU64,
    /// The call that it is in, or the last one: flags, root, communicator, and the number of the function.
    doing: AtomicU64,
    awaited: [AtomicU64; AWAITED],
    /// The messages that it sent last, in a ring.
    recent: [AtomicU64; RECENT],
    sends: AtomicU64,
    /// Of each communicator: its number, from 1 on, with the number of collective calls; and the last eight.
    collectives: [[AtomicU64; 2]; COUNTED],
    /// Receives from any rank, or of any tag.
    wild: AtomicU32,
    sent: [[AtomicU32; TAGS]; COUNTED_RANKS],
    wanted: [[AtomicU32; TAGS]; COUNTED_RANKS],
}

#[repr(C)]
struct CommunicatorSlot {
    /// The same for all its members, and for no other communicator; 0 if the place is free.
    identity: AtomicU64,
    is_certain: AtomicU32,
    size: AtomicU32,
    members: [AtomicU64; MEMBER_WORDS],
}

#[repr(C)]
struct CallsLayout {
    magic: AtomicU64,
    slots_taken: AtomicU32,
    without_slot: AtomicU32,
    communicators: [CommunicatorSlot; COMMUNICATORS],
    slots: [CallSlot; SLOTS],
}

// SAFETY: the type is `repr(C)` and all its fields are atomics or made of them.
unsafe impl SharedLayout for CallsLayout {
    const MAGIC: u64 = 0xf0e6_a7e5_0002_0002;

    fn magic(&self) -> &AtomicU64 {
        &self.magic
    }
}

/// The page, mapped for the rest of this process's life.
#[derive(Clone, Copy)]
pub struct CallPage(&'static CallsLayout);

impl CallPage {
    /// Creates a page. The descriptor keeps it reachable for programs that this process starts.
    ///
    /// # Errors
    /// If the system refuses the memory.
    pub fn create() -> Result<(Self, OwnedFd), Error> {
        let (page, file) = shared::create("foregather-hang")?;
        Ok((Self(page), file))
    }

    /// Maps the page of that path. `None` if there is none, as on another host.
    pub fn open(path: &Path) -> Option<Self> {
        shared::open_page(path).map(Self)
    }

    /// Takes a slot for a thread. `None` if all are taken.
    pub fn slot(&self, process: u32, thread: ThreadId) -> Option<&'static CallSlot> {
        let index = self.0.slots_taken.fetch_add(1, Relaxed) as usize;
        let Some(slot) = self.0.slots.get(index) else {
            self.0.slots_taken.store(SLOTS as u32, Relaxed);
            self.0.without_slot.fetch_add(1, Relaxed);
            return None;
        };
        slot.rank.store(NO_RANK, Relaxed);
        slot.process.store(process, Relaxed);
        slot.thread.store(thread, Release);
        Some(slot)
    }

    /// Returns the number of a communicator, which is entered if it is new. `None` if there are too many.
    /// `is_certain`: all its members know it by this identity.
    pub fn communicator(&self, identity: u64, is_certain: bool, members: &[Rank]) -> Option<u16> {
        let identity = identity.max(1);
        let is_it = |slot: &CommunicatorSlot| {
            let was = slot.identity.compare_exchange(0, identity, AcqRel, Acquire);
            was.is_ok() || was == Err(identity)
        };
        let number = self.0.communicators.iter().skip(1).position(is_it)? + 1;
        let slot = &self.0.communicators[number];
        // All its members write the same.
        slot.is_certain.store(is_certain.into(), Relaxed);
        for member in members.iter().filter(|member| (**member as usize) < MOST_MEMBERS) {
            slot.members[*member as usize / 64].fetch_or(1 << (member % 64), Relaxed);
        }
        slot.size.store(members.len() as u32, Release);
        Some(number as u16)
    }

    /// Threads that have no slot, because there are too many.
    pub fn without_slot(&self) -> u32 {
        self.0.without_slot.load(Relaxed)
    }

    fn taken(&self) -> impl Iterator<Item = &CallSlot> {
        let taken = (self.0.slots_taken.load(Acquire) as usize).min(SLOTS);
        self.0.slots[..taken].iter().filter(|slot| slot.thread.load(Acquire) != 0)
    }
}

impl CallSlot {
    /// Begins a call. `awaited` are the words of messages that it waits for; `has_unknown`: there are others.
    #[inline]
    pub fn begin(&self, call: MpiCall, awaited: &[u64], has_unknown: bool, communicator: Option<u16>, root: Option<Rank>) {
        let stored = awaited.len().min(AWAITED);
        for (place, word) in self.awaited.iter().zip(awaited) {
            place.store(*word, Relaxed);
        }
        let unknown = if has_unknown || awaited.len() > AWAITED { UNKNOWN } else { 0 };
        let root = root.map_or(0, |root| u64::from(root.min(0xfffe)) + 1) << 32;
        let communicator = communicator.map_or(0, |number| u64::from(number) + 1) << 16;
        // Only this thread writes them, so no locked instruction is needed.
        self.number.store(self.number.load(Relaxed) + 1, Relaxed);
        self.doing.store(INSIDE | unknown | root | communicator | (stored as u64) << 8 | call as u64, Relaxed);
    }

    /// Ends the call.
    #[inline]
    pub fn end(&self) {
        self.doing.store(self.doing.load(Relaxed) & !INSIDE, Relaxed);
        // A watcher that sees counts of the next call must not see this one as going on.
        fence(Release);
    }

    /// Counts a message that the thread sends or wants, or that it wants no more (`by` is -1).
    #[inline]
    pub fn count(&self, message: AwaitedMessage, by: i32) {
        let add = |count: &AtomicU32| count.store(count.load(Relaxed).wrapping_add_signed(by), Relaxed);
        let (Some(peer), Some(tag)) = (message.peer, message.tag) else { return add(&self.wild) };
        let counts = if message.is_send { &self.sent } else { &self.wanted };
        add(&counts[peer as usize % COUNTED_RANKS][tag as usize % TAGS]);
        if message.is_send {
            let sends = self.sends.load(Relaxed);
            self.recent[sends as usize % RECENT].store(message.to_word(), Relaxed);
            self.sends.store(sends + 1, Relaxed);
        }
    }

    /// Notes that the thread begins the collective call of that number, from 1 on, of a communicator. `last`
    /// has the functions of the last eight, this one in the lowest byte.
    #[inline]
    pub fn count_collective(&self, communicator: u16, number: u64, last: u64) {
        let [count, calls] = &self.collectives[usize::from(communicator) % COUNTED];
        calls.store(last, Relaxed);
        count.store((u64::from(communicator) + 1) << 48 | number, Relaxed);
    }

    /// Notes which rank its process is, of how many; its level of threads, and the number of threads that MPI
    /// itself has, with the first one.
    pub fn is_rank(&self, rank: Rank, size: u32, level: u32, threads: u32) {
        self.size.store(size, Relaxed);
        self.level.store(level, Relaxed);
        self.threads.store(threads, Relaxed);
        self.rank.store(rank, Release);
    }

    /// Notes that its process has returned from `MPI_Finalize`.
    pub fn finalizes(&self) {
        self.has_finalized.store(1, Release);
    }
}

#[cfg(test)]
mod tests;
