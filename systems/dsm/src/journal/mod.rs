//! Journals: each thread records what it does with shared memory: first accesses, locks, barriers, and how
//! long it computed in between. The reports of false sharing and races are derived from them, and a journal
//! can be replayed in another world.
//!
//! An *epoch* of a thread lasts from one synchronisation to the next. Within an epoch, only the first load
//! and the first store of a minipage are separate events. Later accesses add their bytes to these events, so
//! no byte is lost. (DJIT of Itzkovitz, Schuster & Zeev Ben Mordehai 1999 detects accesses by protection
//! faults instead, and only the first byte.)
//!
//! - [`sharing`]: finds false sharing, and the granularity that avoids it. [`races`]: finds accesses that no
//!   synchronisation orders.
//! - [`contention`]: requests that compete for an allocation. [`trace`]: a trace for a trace viewer.
//! - `order`: merges all journals. `places`: finds the allocation that a minipage belongs to.
mod bytes;
pub mod contention;
#[cfg(test)]
mod hand_made;
mod order;
mod places;
pub mod races;
mod recorder;
pub mod sharing;
pub mod trace;

use crate::{Access, Minipage};
use foregather_machine::Nanos;
use serde::{Deserialize, Serialize};

pub use bytes::Bytes;
pub use recorder::{Moment, Recorder, Touch};

/// The recorded actions of one thread, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Journal {
    /// The thread's rank.
    pub rank: u32,
    /// The thread's number among all threads of all ranks.
    pub thread: u32,
    /// Its events.
    pub events: Vec<Event>,
    /// Events for which there was no room, after the last one of `events`.
    pub missed: u64,
}

/// One action of a thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// How long the thread computed before: CPU time since the last event in nanoseconds, without faults and
    /// waits.
    pub computed_ns: u64,
    /// When it began, on the host's clock, in nanoseconds. Clocks of different hosts may differ.
    pub at_ns: u64,
    /// How long it waited for the fault, lock or barrier, in nanoseconds; 0 if it did not wait.
    pub waited_ns: u64,
    /// The action.
    pub what: Operation,
}

impl Event {
    /// Returns how long the thread computed before.
    pub fn computed(&self) -> Nanos {
        Nanos(self.computed_ns)
    }

    /// Returns when it ended, on the host's clock.
    pub fn ended(&self) -> Nanos {
        Nanos(self.at_ns + self.waited_ns)
    }
}

/// The actions of a thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operation {
    /// The thread loads or stores bytes of a minipage for the first time in this epoch, or for the first time
    /// after the minipage was invalidated.
    Touch {
        /// The minipage.
        minipage: Minipage,
        /// [`Access::Read`] for loads, [`Access::Write`] for stores.
        access: Access,
        /// The bytes: all that it accesses until the epoch ends, or until the minipage is invalidated and
        /// accessed again.
        bytes: Bytes,
        /// Whether the minipage was invalidated since the last access in this epoch.
        again: bool,
        /// Whether it is an atomic load and store, such as [`fetch_add`](crate::memory::Array::fetch_add).
        atomic: bool,
    },
    /// The thread prefetches a copy.
    Prefetch {
        /// The minipage.
        minipage: Minipage,
        /// The access that it requests.
        access: Access,
    },
    /// The thread pushes a copy to all ranks.
    Push {
        /// The minipage.
        minipage: Minipage,
    },
    /// The thread acquires a lock.
    Lock(u32),
    /// The thread releases a lock.
    Unlock(u32),
    /// The thread posts a flag.
    Post(u32),
    /// The thread waits for a flag.
    Wait(u32),
    /// The thread waits at a barrier of all threads.
    Barrier,
    /// The measured part begins, after a barrier.
    Start,
    /// The measured part ends.
    End,
}

impl Operation {
    /// Returns the first load or store of these bytes of a minipage in an epoch.
    pub fn touch(minipage: Minipage, access: Access, bytes: impl Into<Bytes>) -> Self {
        Self::Touch { minipage, access, bytes: bytes.into(), again: false, atomic: false }
    }

    /// Returns whether it ends an epoch.
    pub fn synchronises(&self) -> bool {
        matches!(self, Self::Lock(_) | Self::Unlock(_) | Self::Post(_) | Self::Wait(_) | Self::Barrier)
    }
}

/// Writes the sentence of a report about incomplete journals.
fn missed(f: &mut core::fmt::Formatter<'_>, missed: u64) -> core::fmt::Result {
    if missed == 0 {
        return Ok(());
    }
    writeln!(f, "{missed} events are not considered, for the journals were full: give them more room (`Settings::journal`)")
}
