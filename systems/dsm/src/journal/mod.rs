//! What threads did with shared memory, as they record it themselves: first touches, locks, barriers, and how
//! long each computed in between. The reports of false sharing and of races come from it, and it can be
//! replayed in another world.
//!
//! An *epoch* of a thread lasts from one synchronisation to the next. Within one, only the first load and the
//! first store of a minipage are events of their own; the bytes of the others are added to them, so no byte
//! is forgotten (DJIT of Itzkovitz, Schuster & Zeev Ben Mordehai 1999 learns by protection faults instead,
//! and only of the first byte).
//!
//! - [`sharing`]: which allocations are shared falsely, and the grain that cures it. [`races`]: touches that
//!   nothing orders.
//! - [`contention`]: at which allocations requests met. [`trace`]: all of it for a trace viewer.
//! - `order`: all journals as one. `places`: which allocation a minipage belongs to.
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

/// What one thread did, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Journal {
    /// The thread's rank.
    pub rank: u32,
    /// Its number among all threads of all ranks.
    pub thread: u32,
    /// Its events.
    pub events: Vec<Event>,
    /// Events for which there was no room: all that came behind the last one of `events`.
    pub missed: u64,
}

/// One thing that a thread did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// How long it computed before: processor time since the last event, in nanoseconds, without faults and
    /// waiting.
    pub computed_ns: u64,
    /// When it began, by the host's clock, in nanoseconds: clocks of different hosts need not agree.
    pub at_ns: u64,
    /// How long it waited for the fault, lock or barrier, in nanoseconds; 0 if it did not have to wait.
    pub waited_ns: u64,
    /// What it did.
    pub what: Operation,
}

impl Event {
    /// How long it computed before.
    pub fn computed(&self) -> Nanos {
        Nanos(self.computed_ns)
    }

    /// When it ended, by the host's clock.
    pub fn ended(&self) -> Nanos {
        Nanos(self.at_ns + self.waited_ns)
    }
}

/// What a thread can do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operation {
    /// It loads or stores bytes of a minipage, for the first time in this epoch, or again after the minipage
    /// was taken away.
    Touch {
        /// The minipage.
        minipage: Minipage,
        /// [`Access::Read`] for loads, [`Access::Write`] for stores.
        access: Access,
        /// The bytes: all that it touches until the epoch ends, or until the minipage is taken away and
        /// touched again.
        bytes: Bytes,
        /// Whether it had been taken away since it was touched in this epoch.
        again: bool,
        /// Whether it is a load and a store in one, as [`fetch_add`](crate::memory::Array::fetch_add) is.
        atomic: bool,
    },
    /// It asks for a copy ahead.
    Prefetch {
        /// The minipage.
        minipage: Minipage,
        /// The access that it asks for.
        access: Access,
    },
    /// It gives all ranks a copy.
    Push {
        /// The minipage.
        minipage: Minipage,
    },
    /// It takes a lock.
    Lock(u32),
    /// It leaves a lock.
    Unlock(u32),
    /// It posts a flag.
    Post(u32),
    /// It waits for a flag.
    Wait(u32),
    /// It waits for all threads.
    Barrier,
    /// The measured part begins: behind a barrier.
    Start,
    /// The measured part ends.
    End,
}

impl Operation {
    /// The first load or store of these bytes of a minipage in an epoch.
    pub fn touch(minipage: Minipage, access: Access, bytes: impl Into<Bytes>) -> Self {
        Self::Touch { minipage, access, bytes: bytes.into(), again: false, atomic: false }
    }

    /// Whether another epoch begins behind it.
    pub fn synchronises(&self) -> bool {
        matches!(self, Self::Lock(_) | Self::Unlock(_) | Self::Post(_) | Self::Wait(_) | Self::Barrier)
    }
}

/// The sentence of a report on incomplete journals.
fn missed(f: &mut core::fmt::Formatter<'_>, missed: u64) -> core::fmt::Result {
    if missed == 0 {
        return Ok(());
    }
    writeln!(f, "{missed} events are not considered, for the journals were full: give them more room (`Settings::journal`)")
}
