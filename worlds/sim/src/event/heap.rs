//! The plain queue: a binary heap.
use super::{Event, Queue};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A binary heap of events.
#[derive(Default)]
pub struct Heap(BinaryHeap<Reverse<Event>>);

impl Queue for Heap {
    #[inline]
    fn push(&mut self, event: Event) {
        self.0.push(Reverse(event));
    }
    #[inline]
    fn pop(&mut self) -> Option<Event> {
        self.0.pop().map(|Reverse(event)| event)
    }
    #[inline]
    fn next_time(&mut self) -> Option<u64> {
        self.0.peek().map(|Reverse(event)| event.time)
    }
}
