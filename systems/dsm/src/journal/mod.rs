//! What threads did with shared memory, as they write it down themselves: first touches, locks, barriers, and how long each computed
//! in between. From it come the reports of false sharing and of races, and it can be replayed in another world.
//!
//! An *epoch* of a thread lasts from one synchronisation to the next. Within one, only the first load and the first store of a
//! minipage are events of their own; the bytes of the others are added to them, so no byte is forgotten (Itzkovitz, Schuster & Zeev
//! Ben Mordehai 1999, DJIT, is told by protection faults instead, and only of the first byte).
mod bytes;
mod recorder;

use crate::{Access, Minipage};
use foregather_machine::Nanos;
use serde::{Deserialize, Serialize};

pub use bytes::Bytes;
pub use recorder::Recorder;

/// What one thread did, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Journal {
    /// Its number among all threads of all ranks.
    pub thread: u32,
    /// What it did.
    pub events: Vec<Event>,
    /// Events for which there was no room: all that came behind the last one of `events`.
    pub missed: u64,
}

/// One thing that a thread did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// For how long it computed before: processor time since the last event, in nanoseconds, without what faults and waiting took.
    pub computed_ns: u64,
    /// What it did then.
    pub what: What,
}

impl Event {
    /// For how long it computed before.
    pub fn computed(&self) -> Nanos {
        Nanos(self.computed_ns)
    }
}

/// What a thread can do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum What {
    /// It loads or stores bytes of a minipage, for the first time in this epoch, or again because they were taken away meanwhile.
    Touch {
        /// Which.
        minipage: Minipage,
        /// [`Access::Read`] for loads, [`Access::Write`] for stores.
        access: Access,
        /// Which of its bytes, in this whole epoch.
        bytes: Bytes,
        /// Had they been taken away? Then this stands for no more bytes, and for one more fault.
        again: bool,
    },
    /// It asks for a copy ahead.
    Prefetch {
        /// Of which minipage.
        minipage: Minipage,
        /// To do what.
        access: Access,
    },
    /// It gives all ranks a copy.
    Push {
        /// Of which minipage.
        minipage: Minipage,
    },
    /// It takes a lock.
    Lock(u32),
    /// It leaves it.
    Unlock(u32),
    /// It waits for all threads.
    Barrier,
    /// What is measured begins: behind a barrier.
    Start,
    /// It is through.
    End,
}

impl What {
    /// Does another epoch begin behind it?
    pub fn synchronises(&self) -> bool {
        matches!(self, Self::Lock(_) | Self::Unlock(_) | Self::Barrier)
    }
}
