//! The page, and the slot of the calling thread.
use crate::sampler;
use core::cell::Cell;
use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};
use foregather_host::forks::{self, Once};
use foregather_host::usage::this_thread;
use foregather_host::watched::page::{self, ThreadActivity, ThreadSlot, WatchPage};
use foregather_machine::Nanos;
use std::path::Path;

/// A thread's slot, and the generation of the process that took it: a forked child needs one of its own.
#[derive(Clone, Copy)]
struct TakenSlot {
    generation: u32,
    slot: Option<&'static ThreadSlot>,
}

thread_local! {
    static TAKEN: Cell<Option<TakenSlot>> = const { Cell::new(None) };
}

/// The page that the environment names, unless there is none.
#[inline]
pub(crate) fn page() -> Option<&'static WatchPage> {
    static PAGE: Once<Option<WatchPage>> = Once::new();
    PAGE.get_or_compute(|| WatchPage::open(Path::new(&std::env::var_os(page::VARIABLE)?))).as_ref()
}

/// Opens the page when the library is loaded: the program may close descriptors or change its user later.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = open_page;

extern "C" fn open_page() {
    sampler::choose_signal();
    if sampler::signal() != 0 {
        // The first thread may never call a function of this library.
        slot();
    }
}

/// The slot of the calling thread. `None` without a page, without room, and in a thread that is exiting.
#[inline]
pub(crate) fn slot() -> Option<&'static ThreadSlot> {
    let taken = TAKEN.try_with(Cell::get).ok()?;
    match taken {
        Some(taken) if taken.generation == forks::generation_now() => taken.slot,
        _ => take(0, 0),
    }
}

/// Takes a slot for the calling thread.
#[cold]
pub(crate) fn take(creator: u32, pool: u32) -> Option<&'static ThreadSlot> {
    let page = page()?;
    let generation = forks::generation();
    let process = std::process::id();
    let slot = page.slot(process, this_thread(), creator, pool);
    TAKEN.try_with(|taken| taken.set(Some(TakenSlot { generation, slot }))).ok()?;
    if let Some(slot) = slot {
        sampler::start(slot, process);
    }
    slot
}

/// Returns whether a thread of this process has a parallel region open: 1, or 0. For the thread that looks at
/// lines of Python.
#[unsafe(no_mangle)]
pub extern "C" fn foregather_watch_has_open_region(thread: u32) -> c_int {
    page().is_some_and(|page| page.has_open_region(std::process::id(), thread)).into()
}

/// Runs `wait` as an activity of the calling thread.
#[inline]
pub(crate) fn during<T>(activity: ThreadActivity, subject: u64, wait: impl FnOnce() -> T) -> T {
    let Some(slot) = slot() else { return wait() };
    let before = slot.begin(activity, subject, page::now());
    let result = wait();
    slot.resume(before, page::now());
    result
}

/// Counts the arrivals of a team at its barriers.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    arrived: AtomicU32,
    /// When the episode began, and when the last member so far arrived.
    began: AtomicU64,
    latest: AtomicU64,
    /// How long members were on their way, added up.
    worked: AtomicU64,
}

impl Arrivals {
    pub(crate) const fn new(began: u64) -> Self {
        let zero = AtomicU64::new(0);
        Self { arrived: AtomicU32::new(0), began: AtomicU64::new(began), latest: zero, worked: AtomicU64::new(0) }
    }

    /// Begins the first episode of a barrier that has just been initialised.
    pub(crate) fn restart(&self, now: Nanos) {
        self.began.store(now.0, Relaxed);
        for word in [&self.latest, &self.worked] {
            word.store(0, Relaxed);
        }
        self.arrived.store(0, Relaxed);
    }

    /// Counts the calling thread, of which `slot` is. The last of the members counts the episode and begins
    /// the next one: the others are still at the barrier then.
    #[inline]
    pub(crate) fn arrive(&self, members: u32, slot: &ThreadSlot, now: Nanos) {
        let own = now.0.saturating_sub(self.began.load(Relaxed));
        let worked = self.worked.fetch_add(own, Relaxed) + own;
        let second = self.latest.swap(now.0, Relaxed);
        let count = self.arrived.fetch_add(1, AcqRel) + 1;
        if members < 2 || count < members {
            return;
        }
        self.arrived.store(0, Relaxed);
        self.worked.store(0, Relaxed);
        self.latest.store(0, Relaxed);
        self.began.store(now.0, Relaxed);
        let waited = Nanos((own * u64::from(members)).saturating_sub(worked));
        let lead = if second == 0 { Nanos::ZERO } else { now - Nanos(second) };
        slot.count_episode(members, lead, waited);
        if let Some(page) = page() {
            page.note_late(slot, now - lead, now);
        }
    }
}
