//! The calendar queue (Brown 1988): most events fall within the next few days, so each day has a list of its
//! own.
use super::{Event, Heap, Queue};

/// A day lasts 2^10 ns, about the time between two events of a small network.
const DAY_BITS: u32 = 10;
/// Days on the ring; later events wait in a heap.
const DAYS: u64 = 256;

/// A ring of days, each sorted when it begins.
pub struct Calendar {
    day: u64,
    today: Vec<Event>,
    next: usize,
    ring: Box<[Vec<Event>]>,
    on_ring: usize,
    far: Heap,
    nearest_far: Option<Event>,
}

impl Default for Calendar {
    fn default() -> Self {
        let ring = (0..DAYS).map(|_| Vec::new()).collect();
        Self { day: 0, today: Vec::new(), next: 0, ring, on_ring: 0, far: Heap::default(), nearest_far: None }
    }
}

impl Calendar {
    /// Begins the next day that has events; false if there is none.
    fn begin_day(&mut self) -> bool {
        self.today.clear();
        self.next = 0;
        let Some(first_far) = self.nearest_far.map(|event| event.time >> DAY_BITS) else {
            return self.on_ring > 0 && self.next_day_on_ring(u64::MAX);
        };
        if self.on_ring == 0 || !self.next_day_on_ring(first_far) {
            self.day = first_far;
        }
        while let Some(event) = self.nearest_far.filter(|event| event.time >> DAY_BITS == self.day) {
            self.today.push(event);
            self.nearest_far = self.far.pop();
        }
        self.today.sort_unstable_by_key(Event::key);
        true
    }

    /// Goes to the next day on the ring that has events, if it does not lie after `last`.
    fn next_day_on_ring(&mut self, last: u64) -> bool {
        let Some(day) = (self.day + 1..self.day + DAYS).find(|day| !self.ring[(day % DAYS) as usize].is_empty()) else {
            return false;
        };
        if day > last {
            return false;
        }
        self.day = day;
        std::mem::swap(&mut self.today, &mut self.ring[(day % DAYS) as usize]);
        self.on_ring -= self.today.len();
        self.today.sort_unstable_by_key(Event::key);
        true
    }
}

impl Queue for Calendar {
    fn push(&mut self, event: Event) {
        let day = event.time >> DAY_BITS;
        if day <= self.day {
            let at = self.next + self.today[self.next..].partition_point(|earlier| earlier.key() < event.key());
            self.today.insert(at, event);
        } else if day < self.day + DAYS {
            self.ring[(day % DAYS) as usize].push(event);
            self.on_ring += 1;
        } else if self.nearest_far.is_some_and(|nearest| nearest < event) {
            self.far.push(event);
        } else if let Some(nearest) = self.nearest_far.replace(event) {
            self.far.push(nearest);
        }
    }

    fn pop(&mut self) -> Option<Event> {
        if self.next == self.today.len() && !self.begin_day() {
            return None;
        }
        self.next += 1;
        Some(self.today[self.next - 1])
    }

    #[inline]
    fn next_time(&mut self) -> Option<u64> {
        if self.next == self.today.len() && !self.begin_day() {
            return None;
        }
        Some(self.today[self.next].time)
    }

    #[inline]
    fn ahead(&self, events: usize) -> Option<u32> {
        self.today.get(self.next + events).map(|event| event.task)
    }
}
