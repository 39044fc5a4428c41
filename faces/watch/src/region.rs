//! Open regions of any OpenMP runtime, and the parts of them that threads execute.
use crate::record::Arrivals;
use core::cell::Cell;
use core::ffi::c_void;
use core::sync::atomic::{AtomicU32, Ordering::*};
use foregather_host::watched::page::{self, ThreadActivity, ThreadSlot, WatchPage};
use foregather_machine::Nanos;

thread_local! {
    /// The last region that this thread opened.
    static NUMBER: Cell<u64> = const { Cell::new(0) };
}

/// The number of a new region. Those of one thread follow each other, so the page's counter, which threads
/// share, is seldom touched.
fn next_region(page: &WatchPage) -> u64 {
    const OF_A_THREAD: u64 = 1 << 32;
    let last = NUMBER.get();
    let number = if last.is_multiple_of(OF_A_THREAD) { page.next_region() * OF_A_THREAD } else { last } + 1;
    NUMBER.set(number);
    number
}

/// A region that is open.
pub(crate) struct Region {
    pub(crate) number: u64,
    leader: u32,
    /// How many members it has, once the first one has begun.
    pub(crate) members: AtomicU32,
    pub(crate) arrivals: Arrivals,
    began: Nanos,
    /// When its leader closed a region last.
    closed_before: Nanos,
    /// The region that its leader had open before, its code, and what the leader did.
    outer: (u64, u64),
    before: (u32, u64),
}

impl Region {
    /// Opens a region of the code at that address, of which the calling thread is the leader.
    pub(crate) fn open(page: &WatchPage, slot: &ThreadSlot, code: *const c_void) -> Self {
        let number = next_region(page);
        let began = page::now();
        let before = slot.doing();
        let (outer, closed_before) = slot.open((number, code.addr() as u64), began);
        let (leader, members, arrivals) = (page.index(slot), AtomicU32::new(0), Arrivals::new(began.0));
        Self { number, leader, members, arrivals, began, closed_before, outer, before }
    }

    /// Closes it, on its leader: all members have arrived.
    pub(crate) fn close(&self, slot: &ThreadSlot) {
        let now = page::now();
        slot.close(self.outer, now);
        slot.resume(self.before, now);
        let is_nested = self.before.0 == ThreadActivity::Part as u32 && self.members.load(Relaxed) > 1;
        ThreadSlot::add(&slot.counts.regions, 1);
        ThreadSlot::add(&slot.counts.region_ns, (now - self.began).0);
        ThreadSlot::add(&slot.counts.nested, u64::from(is_nested));
    }
}

/// A part of a region, on the thread that executes it.
pub(crate) struct RegionPart {
    number: u64,
    members: u32,
    arrived: Cell<Option<Nanos>>,
}

impl RegionPart {
    /// Begins a part on the calling thread, which is one of `members`.
    pub(crate) fn begin(region: &Region, members: u32, slot: &ThreadSlot) -> Self {
        // A store that changes nothing would take the line away from the other members.
        if region.members.load(Relaxed) != members {
            region.members.store(members, Relaxed);
        }
        slot.join(region.leader, members);
        slot.begin_part(region.number, region.closed_before, page::now());
        Self { number: region.number, members, arrived: Cell::new(None) }
    }

    /// Arrives at a barrier of the region, or at its end. The region may close as soon as all members have.
    pub(crate) fn arrive(&self, region: &Region, slot: &ThreadSlot) {
        let now = page::now();
        self.arrived.set(Some(now));
        slot.begin(ThreadActivity::Arrived, self.number, now);
        region.arrivals.arrive(self.members, slot, now);
    }

    /// Goes on after a barrier.
    pub(crate) fn go_on(&self, slot: &ThreadSlot) {
        slot.begin(ThreadActivity::Part, self.number, page::now());
    }

    /// Ends the part at its last arrival. The region may be closed already.
    pub(crate) fn end(&self, slot: &ThreadSlot) {
        let arrived = self.arrived.get().unwrap_or_else(page::now);
        slot.begin(ThreadActivity::Arrived, self.number, arrived);
        ThreadSlot::add(&slot.counts.parts, 1);
    }
}
