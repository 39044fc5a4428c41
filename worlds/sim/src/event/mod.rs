//! Event queues: one order, and two queues that keep it.
//!
//! - [`Heap`]: a binary heap; good for a few thousand nodes.
//! - [`Calendar`]: days of one microsecond, each sorted when it begins; good for a million.

mod calendar;
mod heap;

pub use calendar::Calendar;
pub use heap::Heap;

/// The order within a moment: what becomes free or arrives is seen before any task acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventPriority {
    /// A message or a change of memory reaches its watcher.
    Arrival,
    /// A task goes on.
    Resume,
    /// A node's system acts on what has arrived, after the programs of that moment.
    System,
    /// A bound has passed.
    Timeout,
}

/// An event of a task. Events are ordered by time, then class, then turn, then the order in which they were
/// foreseen.
///
/// Three words: a million of them wait at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Event {
    /// When it happens, in nanoseconds.
    pub time: u64,
    /// Its class, the turn it was given among those of its moment and class, and how many events were
    /// foreseen before it: [`Event::CLASS`], 16, and the other bits.
    order: u64,
    /// The task that it happens to.
    pub task: u32,
    /// What happens, in the world's own terms.
    pub what: u32,
}

impl Event {
    /// Bits of a class.
    const CLASS: u32 = 2;
    /// Bits of the number of events foreseen before.
    const SEQUENCE: u32 = u64::BITS - Self::CLASS - u16::BITS;

    /// An event, foreseen after `sequence` others.
    #[inline]
    pub const fn new(time: u64, class: EventPriority, turn: u16, sequence: u64, task: u32, what: u32) -> Self {
        let order = (class as u64) << (u64::BITS - Self::CLASS) | (turn as u64) << Self::SEQUENCE | sequence;
        Self { time, order, task, what }
    }

    /// The key that orders events: no two have the same.
    #[inline]
    pub(crate) const fn key(&self) -> u128 {
        (self.time as u128) << u64::BITS | self.order as u128
    }

    /// The event at a later time, with the same order among those of its moment.
    pub(crate) const fn postponed(self, time: u64) -> Self {
        Self { time, ..self }
    }

    /// Its class, as a number.
    #[inline]
    pub(crate) const fn class(&self) -> u64 {
        self.order >> (u64::BITS - Self::CLASS)
    }
}

/// A priority queue of events. Times never lie before the last one popped.
pub trait Queue: Default {
    /// Adds an event.
    fn push(&mut self, event: Event);
    /// Takes the first event.
    fn pop(&mut self) -> Option<Event>;
    /// The time of the first event, in nanoseconds.
    fn next_time(&mut self) -> Option<u64>;
    /// The task whose event comes after `events` others, if that is known without searching.
    fn ahead(&self, events: usize) -> Option<u32> {
        let _ = events;
        None
    }
}
