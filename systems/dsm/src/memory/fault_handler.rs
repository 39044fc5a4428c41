//! Turns a fault into a request on the lane of the thread that accessed the page.
use super::mapped::Mapped;
use super::observer;
use crate::node::{Node, Requester};
use crate::views::{Fault, FaultEnd, Faults, MinipageTable, end_process};
use crate::{Access, Minipage};
use core::cell::Cell;
use core::sync::atomic::{AtomicU32, Ordering::*};
use foregather_machine::{Fabric, Rank, ThreadId, Words, block_on, reached};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

thread_local! {
    /// This thread's slot among its rank's threads, from 1 on; 0 for none. It has no destructor and no lazy
    /// initialisation, so a signal handler may read it.
    static SLOT: Cell<u32> = const { Cell::new(0) };
}

/// The requesters of all threads of a rank, by slot.
pub(super) struct ThreadTable<F: Fabric>(Box<[ThreadEntry<F>]>);

struct ThreadEntry<F: Fabric> {
    requester: Mutex<Requester<F>>,
    /// The thread's TID, by which a thread that serves other threads' faults identifies it; 0 for none.
    thread: AtomicU32,
}

impl<F: Fabric> ThreadTable<F> {
    pub(super) fn new(requesters: Vec<Requester<F>>) -> Self {
        let entry = |requester| ThreadEntry { requester: Mutex::new(requester), thread: AtomicU32::new(0) };
        Self(requesters.into_iter().map(entry).collect())
    }

    /// Assigns the slot to the calling thread, whose TID is `thread`.
    pub(super) fn take(&self, slot: u32, thread: Option<ThreadId>) {
        SLOT.set(slot);
        self.0[slot as usize - 1].thread.store(thread.unwrap_or(0), Release);
    }

    /// Releases the calling thread's slot.
    pub(super) fn leave(&self, slot: u32) {
        SLOT.set(0);
        self.0[slot as usize - 1].thread.store(0, Release);
    }

    /// Returns the slot of the thread that faulted; 0 for none.
    fn slot_of(&self, fault: &Fault) -> u32 {
        let Some(thread) = fault.on_behalf_of else { return SLOT.get() };
        self.0.iter().position(|entry| entry.thread.load(Acquire) == thread).map_or(0, |at| at as u32 + 1)
    }

    /// Returns the requester of slot `seat`. Only its own thread locks it, so no thread waits here.
    pub(super) fn of(&self, slot: u32) -> MutexGuard<'_, Requester<F>> {
        self.0[slot as usize - 1].requester.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Serves an access to a closed page.
pub(super) struct FaultHandler<F: Fabric> {
    pub(super) node: Arc<Node<F::Cpu, Mapped>>,
    pub(super) slots: Arc<ThreadTable<F>>,
    pub(super) table: Arc<MinipageTable>,
    pub(super) rank: Rank,
    /// Whether threads write journals.
    pub(super) observed: bool,
    /// Whether accessors request access before they touch memory.
    pub(super) asking: bool,
}

impl<F> Faults for FaultHandler<F>
where
    F: Fabric + Send,
    <F::Cpu as Words>::Word: Send + Sync,
{
    fn fault(&self, fault: &Fault) -> FaultEnd {
        let Some(minipage) = self.table.minipage(fault.place) else {
            self.end(fault, "", "nothing is allocated there: arrays are used before they are freed")
        };
        let holds = self.table.extent(minipage).is_some_and(|extent| extent.holds(fault.place));
        let requester = match self.slots.slot_of(fault) {
            _ if !holds => return FaultEnd::NotMine,
            0 => self.die(fault, minipage, "this thread is none of those that share memory: let it be run by `memory::run`"),
            slot => self.slots.0[slot as usize - 1].requester.try_lock(),
        };
        let mut requester = match requester {
            Ok(requester) => requester,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                self.die(fault, minipage, "touched within a call about shared memory: touch it before")
            }
        };
        if self.asking && fault.code != 0 {
            reached("views:6");
        }
        let since = requester.lane().now();
        let began = (self.observed && fault.on_behalf_of.is_none()).then(observer::fault_began);
        let done = block_on(requester.need(&self.node, minipage, fault.needs));
        began.into_iter().for_each(observer::fault_ended);
        match done {
            Ok(()) => FaultEnd::Retry,
            // A load cannot return an error: without the bytes, this process cannot continue.
            Err(error) => self.die(fault, minipage, &format!("{error} (asked for {} ago)", requester.lane().now() - since)),
        }
    }
}

impl<F: Fabric> FaultHandler<F> {
    #[cold]
    fn die(&self, fault: &Fault, Minipage(minipage): Minipage, why: &str) -> ! {
        self.end(fault, &format!("minipage {minipage}, "), why)
    }

    #[cold]
    fn end(&self, fault: &Fault, what: &str, why: &str) -> ! {
        let (rank, place, verb) = (self.rank, fault.place, if fault.needs == Access::Write { "write" } else { "read" });
        let (byte, view) = (place.byte(), place.view);
        end_process(&format!("foregather: rank {rank} cannot {verb} {what}byte {byte} of view {view}: {why}\n"))
    }
}
