//! The queue of what is under way: a heap of four children a node, whose keys lie side by side.
//!
//! A rank of several processors may foresee a moment before the present one, so this is no calendar.

/// What happens: when, which of that moment's, and the slot that it happens to, in one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct GoalEvent(u128);

/// Bits of a slot: so much is under way at most.
const SLOT_BITS: u32 = 28;

impl GoalEvent {
    pub(super) fn time(self) -> u64 {
        (self.0 >> 64) as u64
    }

    pub(super) fn slot(self) -> u32 {
        self.0 as u32 & ((1 << SLOT_BITS) - 1)
    }

    /// The same at another time; it keeps its place among those of that moment.
    #[inline]
    pub(super) fn at(self, time: u64) -> Self {
        Self(u128::from(time) << 64 | u128::from(self.0 as u64))
    }
}

const CHILDREN: usize = 4;

/// Those that have not happened yet, the first one first.
#[derive(Default)]
pub(super) struct GoalEvents {
    heap: Vec<GoalEvent>,
    sequence: u64,
    /// The first one was taken, and its place is for the next one that is added: most events lead to one.
    hole: bool,
}

impl GoalEvents {
    /// A new one, after all others of that moment.
    #[inline]
    pub(super) fn add(&mut self, time: u64, slot: u32) {
        self.sequence += 1;
        self.push(GoalEvent(u128::from(time) << 64 | u128::from(self.sequence << SLOT_BITS | u64::from(slot))));
    }

    #[inline]
    pub(super) fn push(&mut self, new: GoalEvent) {
        if std::mem::take(&mut self.hole) {
            return self.sink(new);
        }
        let mut at = self.heap.len();
        self.heap.push(new);
        while at > 0 {
            let parent = (at - 1) / CHILDREN;
            if self.heap[parent] <= new {
                break;
            }
            self.heap[at] = self.heap[parent];
            at = parent;
        }
        self.heap[at] = new;
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<GoalEvent> {
        if std::mem::take(&mut self.hole) {
            let last = self.heap.pop()?;
            if !self.heap.is_empty() {
                self.sink(last);
            }
        }
        let first = self.heap.first().copied();
        self.hole = first.is_some();
        first
    }

    /// Puts `new` into the first place, and down from there.
    #[inline]
    fn sink(&mut self, new: GoalEvent) {
        let (mut at, count) = (0, self.heap.len());
        loop {
            let child = at * CHILDREN + 1;
            let Some(children) = self.heap.get(child..count.min(child + CHILDREN)).filter(|children| !children.is_empty()) else {
                break;
            };
            let (mut least, mut first) = (0, children[0]);
            for (index, &other) in children.iter().enumerate().skip(1) {
                if other < first {
                    (least, first) = (index, other);
                }
            }
            if new <= first {
                break;
            }
            self.heap[at] = first;
            at = child + least;
        }
        self.heap[at] = new;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foregather_machine::SplitMix;
    use std::collections::BTreeSet;

    #[test]
    fn the_first_in_time_and_order_comes_first() {
        let (mut random, mut queue, mut model) = (SplitMix(1), GoalEvents::default(), BTreeSet::new());
        for number in 1..5_000u64 {
            let time = random.below(50);
            queue.add(time, number as u32);
            model.insert((time, number));
            while random.below(3) == 0 {
                let first = queue.pop().map(|first| (first.time(), u64::from(first.slot())));
                assert_eq!(first, model.pop_first());
            }
        }
        while let Some(first) = queue.pop() {
            assert_eq!(Some((first.time(), u64::from(first.slot()))), model.pop_first());
        }
        assert_eq!(model.len(), 0);
    }
}
