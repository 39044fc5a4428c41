//! The long waits of a process: memory that other processes of its user can read.
//!
//! A process creates it at its first long wait, so short waits cost nothing. A watcher finds it among the
//! open files of the process. Each thread has a slot that it alone writes. A reading is a hint: it may be
//! torn between two words, but that of a wait that lasts is not.
use super::page::now;
use super::shared::{self, SharedLayout};
use crate::forks::Once;
use crate::usage::this_thread;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};
use foregather_machine::{Nanos, Rank, ThreadId};
use rustix::fd::OwnedFd;
use std::fs;
use std::path::Path;

const NAME: &str = "foregather-waits";
const SLOTS: usize = 128;
const TEXT: usize = 64;
/// Of one wait, this number of awaited ranks is noted.
const AWAITED: usize = 16;
/// A wait that goes on is noted again within this time.
const FRESH: Nanos = Nanos::from_ms(1_000);
/// Waits that are noted take longer.
const SHORT: Nanos = Nanos::from_ms(50);
/// Neither a rank nor a process has this number.
const NONE: u32 = u32::MAX;

/// The place of one thread.
#[derive(Debug)]
#[repr(C, align(64))]
struct WaitSlot {
    /// Its process and its number.
    owner: AtomicU64,
    /// When its wait was noted last; 0 if it does not wait.
    seen: AtomicU64,
    since: AtomicU64,
    rank: AtomicU32,
    is_of_job: AtomicU32,
    count: AtomicU32,
    /// The process in the lower half, the rank in the upper one.
    awaited: [AtomicU64; AWAITED],
    what: [AtomicU64; TEXT / 8],
}

#[derive(Debug)]
#[repr(C)]
struct WaitsLayout {
    magic: AtomicU64,
    slots: [WaitSlot; SLOTS],
}

// SAFETY: the type is `repr(C)` and all its fields are atomics or made of them.
unsafe impl SharedLayout for WaitsLayout {
    const MAGIC: u64 = 0xf0e6_a7e5_0003_0001;

    fn magic(&self) -> &AtomicU64 {
        &self.magic
    }
}

/// What ranks of a wait are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitScope {
    /// Ranks of a job.
    Job,
    /// Ranks of one barrier or queue. A process may have another rank at each.
    Object,
}

/// A wait that has lasted for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotedWait {
    /// The process.
    pub process: u32,
    /// The thread that waits.
    pub thread: ThreadId,
    /// The call or the object: `barrier "steps"`.
    pub what: String,
    /// What its ranks are.
    pub scope: WaitScope,
    /// Its rank there.
    pub rank: Option<Rank>,
    /// Since when it waits, by the clock of [`now`].
    pub since: Nanos,
    /// The ranks that it waits for; at an object each with its process, if one has taken the rank.
    pub awaited: Vec<(Rank, Option<u32>)>,
}

/// The memory of a process, mapped for the rest of this process's life.
#[derive(Clone, Copy, Debug)]
pub struct WaitPage(&'static WaitsLayout);

/// Notes that the calling thread has been waiting for `waited`, 100 ms or more, and waits on. A caller
/// repeats that several times a second.
pub fn note(scope: WaitScope, what: &str, rank: Option<Rank>, waited: Nanos, awaited: &[(Rank, Option<u32>)]) {
    let (process, thread, at) = (std::process::id(), this_thread(), now());
    if let Some(page) = own() {
        let (what, awaited) = (what.to_owned(), awaited.to_vec());
        page.note(&NotedWait { process, thread, what, scope, rank, since: at - waited, awaited }, at);
    }
}

/// Notes that the wait of the calling thread is over.
pub fn end() {
    if let Some(slot) = own().and_then(|page| page.slot_of(key(std::process::id(), this_thread()))) {
        slot.seen.store(0, Relaxed);
    }
}

/// The page of this process, and of a child that it forks. `None` if the system has refused the memory.
fn own() -> Option<&'static WaitPage> {
    // Watchers find it by the descriptor, so it stays open.
    static PAGE: Once<Option<(WaitPage, OwnedFd)>> = Once::new();
    let create = || shared::create(NAME).ok().map(|(page, file)| (WaitPage(page), file));
    PAGE.get_or_compute(create).as_ref().map(|(page, _)| page)
}

impl WaitPage {
    /// Maps the page of a process. `None` if it has noted no wait so far, or is another user's.
    pub fn of(process: u32) -> Option<Self> {
        let expected = format!("/memfd:{NAME} (deleted)");
        let is_it = |path: &Path| fs::read_link(path).is_ok_and(|target| target.as_os_str() == expected.as_str());
        let files = fs::read_dir(format!("/proc/{process}/fd")).ok()?;
        let path = files.flatten().map(|file| file.path()).find(|path| is_it(path))?;
        shared::open_page(&path).map(Self)
    }

    /// The waits that go on. A page may have those of forked children, too.
    pub fn waits(&self) -> Vec<NotedWait> {
        self.waits_at(now())
    }

    fn waits_at(&self, at: Nanos) -> Vec<NotedWait> {
        self.0.slots.iter().filter_map(|slot| slot.read(at)).collect()
    }

    fn slot_of(&self, owner: u64) -> Option<&'static WaitSlot> {
        self.0.slots.iter().find(|slot| slot.owner.load(Acquire) == owner)
    }

    fn note(&self, wait: &NotedWait, at: Nanos) {
        let owner = key(wait.process, wait.thread);
        let take = |slot: &&WaitSlot| {
            let before = slot.owner.load(Acquire);
            let is_free = before == 0 || slot.read(at).is_none();
            is_free && slot.owner.compare_exchange(before, owner, AcqRel, Relaxed).is_ok()
        };
        if let Some(slot) = self.slot_of(owner).or_else(|| self.0.slots.iter().find(take)) {
            slot.write(wait, at);
        }
    }
}

fn key(process: u32, thread: ThreadId) -> u64 {
    u64::from(process) << 32 | u64::from(thread)
}

impl WaitSlot {
    fn write(&self, wait: &NotedWait, at: Nanos) {
        let text = wait.what.as_bytes();
        for (index, word) in self.what.iter().enumerate() {
            let byte = |byte: usize| text.get(index * 8 + byte).copied().unwrap_or(0);
            word.store(u64::from_le_bytes(core::array::from_fn(byte)), Relaxed);
        }
        for (place, (rank, process)) in self.awaited.iter().zip(&wait.awaited) {
            place.store(u64::from(*rank) << 32 | u64::from(process.unwrap_or(NONE)), Relaxed);
        }
        self.count.store(wait.awaited.len().min(AWAITED) as u32, Relaxed);
        self.rank.store(wait.rank.unwrap_or(NONE), Relaxed);
        self.is_of_job.store((wait.scope == WaitScope::Job).into(), Relaxed);
        // Two readings of a clock make a wait that goes on begin a little earlier or later.
        let before = Nanos(self.since.load(Relaxed));
        if (wait.since - before).max(before - wait.since) > SHORT {
            self.since.store(wait.since.0, Relaxed);
        }
        self.seen.store(at.0, Release);
    }

    /// `None` if its thread does not wait any more.
    fn read(&self, at: Nanos) -> Option<NotedWait> {
        let (seen, owner) = (Nanos(self.seen.load(Acquire)), self.owner.load(Acquire));
        if owner == 0 || at - seen > FRESH {
            return None;
        }
        let known = |number: u32| (number != NONE).then_some(number);
        let text: Vec<u8> = self.what.iter().flat_map(|word| word.load(Relaxed).to_le_bytes()).collect();
        let count = (self.count.load(Relaxed) as usize).min(AWAITED);
        let awaited = self.awaited[..count].iter().map(|word| word.load(Relaxed));
        Some(NotedWait {
            process: (owner >> 32) as u32,
            thread: owner as ThreadId,
            what: String::from_utf8_lossy(&text).trim_end_matches(['\0', '\u{fffd}']).to_owned(),
            scope: if self.is_of_job.load(Relaxed) == 0 { WaitScope::Object } else { WaitScope::Job },
            rank: known(self.rank.load(Relaxed)),
            since: Nanos(self.since.load(Relaxed)),
            awaited: awaited.map(|word| ((word >> 32) as Rank, known(word as u32))).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_wait_is_found_in_its_process_until_it_is_over() {
        let own = std::process::id();
        note(WaitScope::Object, "barrier \"steps\"", Some(3), Nanos::from_ms(500), &[(1, Some(77)), (2, None)]);
        let found = || WaitPage::of(own).unwrap().waits().into_iter().find(|wait| wait.thread == this_thread());
        let wait = found().unwrap();
        let expected = (own, "barrier \"steps\"", WaitScope::Object, Some(3));
        assert_eq!((wait.process, wait.what.as_str(), wait.scope, wait.rank), expected);
        assert_eq!(wait.awaited, [(1, Some(77)), (2, None)]);
        assert!(now() - wait.since >= Nanos::from_ms(500), "{wait:?}");
        end();
        assert_eq!(found(), None);
        assert!(WaitPage::of(u32::MAX).is_none());
    }

    #[test]
    fn a_slot_serves_another_thread_once_its_wait_is_stale() {
        let (layout, _file) = shared::create(NAME).unwrap();
        let page = WaitPage(layout);
        let at = Nanos::from_ms(10_000);
        let (what, awaited) = ("x".repeat(2 * TEXT), vec![(0, None); 2 * AWAITED]);
        let mut wait = NotedWait { process: 1, thread: 0, what, scope: WaitScope::Job, rank: None, since: at, awaited };
        for thread in 1..=SLOTS as u32 + 1 {
            wait.thread = thread;
            page.note(&wait, at);
        }
        let full = page.waits_at(at);
        assert_eq!((full.len(), full[0].what.len(), full[0].awaited.len()), (SLOTS, TEXT, AWAITED));
        let later = at + FRESH + Nanos(1);
        assert_eq!(page.waits_at(later), []);
        (wait.what, wait.rank) = ("é".to_owned(), Some(0));
        wait.awaited.clear();
        page.note(&wait, later);
        assert_eq!(page.waits_at(later), [wait]);
    }
}
