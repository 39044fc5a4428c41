//! Records a journal while its thread runs.
use super::{Event, Journal, Operation};
use crate::{Access, Minipage};
use foregather_machine::Nanos;
use std::ops::Range;

/// How a thread accesses bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    /// A load.
    Load,
    /// A store.
    Store,
    /// An atomic load and store.
    Atomic,
}

impl Touch {
    /// Returns the access right that this needs.
    pub fn access(self) -> Access {
        if self == Self::Load { Access::Read } else { Access::Write }
    }
}

/// A point in time of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// On the host's clock.
    pub at: Nanos,
    /// The CPU time that the thread had used.
    pub cpu: Nanos,
}

/// The indices of this epoch's events of a minipage, by [`Touch`].
#[derive(Clone, Copy, Debug, Default)]
struct LastTouches {
    epoch: u32,
    events: [Option<u32>; 3],
}

/// Records a thread's journal.
#[derive(Debug)]
pub struct Recorder {
    journal: Journal,
    room: usize,
    epoch: u32,
    seen: Vec<LastTouches>,
    /// The CPU time that is already accounted for.
    accounted: Nanos,
}

impl Recorder {
    /// Creates the recorder of a thread that has used `cpu` of CPU time so far, with room for `room` events.
    pub fn new((rank, thread): (u32, u32), minipages: u32, room: usize, cpu: Nanos) -> Self {
        let journal = Journal { rank, thread, ..Journal::default() };
        Self { journal, room, epoch: 1, seen: vec![LastTouches::default(); minipages as usize], accounted: cpu }
    }

    /// Records that an action other than an access begins now.
    pub fn note(&mut self, what: Operation, now: Moment) {
        self.epoch += u32::from(what.synchronises());
        self.add(what, now);
    }

    /// Records a load or store of these bytes of a minipage. Returns whether it is the first of this epoch.
    pub fn touch(&mut self, minipage: Minipage, touch: Touch, bytes: Range<u32>, now: impl FnOnce() -> Moment) -> bool {
        let epoch = self.epoch;
        let seen = &mut self.seen[minipage.0 as usize];
        if seen.epoch != epoch {
            *seen = LastTouches { epoch, events: [None; 3] };
        }
        if let Some(at) = seen.events[touch as usize] {
            // If there is no event at that index, it found no room.
            if let Some(Event { what: Operation::Touch { bytes: all, .. }, .. }) = self.journal.events.get_mut(at as usize) {
                all.include(bytes);
            }
            return false;
        }
        self.open(minipage, touch, bytes, false, now());
        true
    }

    /// Records that a minipage was invalidated since it was accessed in this epoch: later bytes belong to
    /// another copy.
    pub fn again(&mut self, minipage: Minipage, touch: Touch, bytes: Range<u32>, began: Moment) {
        self.seen[minipage.0 as usize].events = [None; 3];
        self.open(minipage, touch, bytes, true, began);
    }

    fn open(&mut self, minipage: Minipage, touch: Touch, bytes: Range<u32>, again: bool, now: Moment) {
        self.seen[minipage.0 as usize].events[touch as usize] = Some(self.journal.events.len() as u32);
        let (access, atomic) = (touch.access(), touch == Touch::Atomic);
        self.add(Operation::Touch { minipage, access, bytes: bytes.into(), again, atomic }, now);
    }

    /// Records that the last event waited until `then`.
    pub fn waited_until(&mut self, then: Nanos) {
        // Events are missing only at the end: once there is no room there never is again.
        if self.journal.missed == 0
            && let Some(event) = self.journal.events.last_mut()
        {
            event.waited_ns = then.0.saturating_sub(event.at_ns);
        }
    }

    /// Excludes the time since the last event from computing time, because it was spent on faults and waits.
    pub fn resume(&mut self, cpu: Nanos) {
        self.accounted = cpu;
    }

    /// Excludes a fault that took `span` of CPU time.
    pub fn discount(&mut self, span: Nanos) {
        self.accounted += span;
    }

    /// Ends the journal and returns it.
    pub fn end(mut self, now: Moment) -> Journal {
        self.add(Operation::End, now);
        self.journal
    }

    fn add(&mut self, what: Operation, now: Moment) {
        if self.journal.events.len() >= self.room {
            self.journal.missed += 1;
            return;
        }
        let computed_ns = now.cpu.0.saturating_sub(self.accounted.0);
        self.accounted = self.accounted.max(now.cpu);
        self.journal.events.push(Event { computed_ns, at_ns: now.at.0, waited_ns: 0, what });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a moment at which this thread has run for half of the time.
    fn cpu(cpu: u64) -> Moment {
        Moment { at: Nanos(2 * cpu), cpu: Nanos(cpu) }
    }

    #[test]
    fn only_first_touches_of_an_epoch_are_events_and_computing_is_what_is_not_discounted() {
        let mut recorder = Recorder::new((1, 3), 2, 5, Nanos(100));
        let minipage = Minipage(1);
        assert!(recorder.touch(minipage, Touch::Load, 0..4, || cpu(150)));
        recorder.discount(Nanos(30));
        recorder.waited_until(Nanos(380));
        assert!(!recorder.touch(minipage, Touch::Load, 4..8, || unreachable!("it is known")));
        assert!(recorder.touch(minipage, Touch::Store, 0..4, || cpu(200)));
        recorder.note(Operation::Barrier, cpu(210));
        recorder.waited_until(Nanos(1_000));
        recorder.resume(Nanos(500));
        assert!(recorder.touch(minipage, Touch::Atomic, 0..8, || cpu(501)));
        assert!(recorder.touch(minipage, Touch::Load, 0..4, || cpu(502)));
        assert!(recorder.touch(Minipage(0), Touch::Load, 0..4, || cpu(503)));
        recorder.waited_until(Nanos(2_000));
        let journal = recorder.end(cpu(600));
        let times: Vec<_> = journal.events.iter().map(|event| (event.computed_ns, event.at_ns, event.waited_ns)).collect();
        let expected = [(50, 300, 80), (20, 400, 0), (10, 420, 580), (1, 1002, 0), (1, 1004, 0)];
        assert_eq!((times, journal.missed, journal.rank, journal.thread), (expected.to_vec(), 2, 1, 3));
        assert_eq!(journal.events[0].what, Operation::touch(minipage, Access::Read, 0..8));
        let both = Operation::Touch { minipage, access: Access::Write, bytes: (0..8).into(), again: false, atomic: true };
        assert_eq!(journal.events[3].what, both);
    }

    #[test]
    fn what_is_touched_after_a_minipage_was_taken_away_belongs_to_another_copy() {
        let mut recorder = Recorder::new((0, 0), 1, 9, Nanos(0));
        let minipage = Minipage(0);
        recorder.touch(minipage, Touch::Load, 0..4, || cpu(1));
        recorder.touch(minipage, Touch::Store, 8..12, || cpu(2));
        recorder.again(minipage, Touch::Load, 0..4, cpu(3));
        assert!(!recorder.touch(minipage, Touch::Load, 4..8, || unreachable!("it is known")));
        assert!(recorder.touch(minipage, Touch::Store, 12..16, || cpu(4)), "the copy is another one");
        let whats: Vec<_> = recorder.end(cpu(5)).events.into_iter().map(|event| event.what).collect();
        let again = Operation::Touch { minipage, access: Access::Read, bytes: (0..8).into(), again: true, atomic: false };
        let store = |bytes: Range<u32>| Operation::touch(minipage, Access::Write, bytes);
        assert_eq!(whats, [Operation::touch(minipage, Access::Read, 0..4), store(8..12), again, store(12..16), Operation::End]);
    }
}
