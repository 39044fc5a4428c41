//! Writes a journal while its thread runs.
use super::{Bytes, Event, Journal, What};
use crate::{Access, Minipage};
use foregather_machine::Nanos;
use std::ops::Range;

/// Where this epoch's events of a minipage stand: for loads and for stores.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    epoch: u32,
    events: [Option<u32>; 2],
}

/// Writes a thread's journal.
#[derive(Debug)]
pub struct Recorder {
    journal: Journal,
    room: usize,
    epoch: u32,
    seen: Vec<Seen>,
    /// Processor time up to which everything is accounted for.
    accounted: Nanos,
}

impl Recorder {
    /// For a thread that has used so much processor time by now. There is room for `room` events.
    pub fn new(thread: u32, minipages: u32, room: usize, cpu: Nanos) -> Self {
        let journal = Journal { thread, ..Journal::default() };
        Self { journal, room, epoch: 1, seen: vec![Seen::default(); minipages as usize], accounted: cpu }
    }

    /// Something that is no touch; `cpu` is the processor time of this thread by now.
    pub fn note(&mut self, what: What, cpu: Nanos) {
        self.epoch += u32::from(what.synchronises());
        self.add(what, cpu);
    }

    /// Loads (or stores) these bytes of a minipage. `true`: for the first time in this epoch.
    pub fn touch(&mut self, minipage: Minipage, access: Access, bytes: Range<u32>, cpu: impl FnOnce() -> Nanos) -> bool {
        let column = usize::from(access == Access::Write);
        let epoch = self.epoch;
        let seen = &mut self.seen[minipage.0 as usize];
        if seen.epoch != epoch {
            *seen = Seen { epoch, events: [None; 2] };
        }
        if let Some(at) = seen.events[column] {
            // No event there: there was no room for it.
            if let Some(Event { what: What::Touch { bytes: all, .. }, .. }) = self.journal.events.get_mut(at as usize) {
                all.include(bytes);
            }
            return false;
        }
        seen.events[column] = Some(self.journal.events.len() as u32);
        self.add(What::Touch { minipage, access, bytes: bytes.into(), again: false }, cpu());
        true
    }

    /// A minipage had been taken away since it was touched in this epoch.
    pub fn again(&mut self, minipage: Minipage, access: Access, cpu: Nanos) {
        self.add(What::Touch { minipage, access, bytes: Bytes::default(), again: true }, cpu);
    }

    /// What was used since the last event was not computing, but faults and waiting.
    pub fn resume(&mut self, cpu: Nanos) {
        self.accounted = cpu;
    }

    /// So much processor time went into a fault.
    pub fn discount(&mut self, span: Nanos) {
        self.accounted += span;
    }

    /// The journal, ended.
    pub fn end(mut self, cpu: Nanos) -> Journal {
        self.add(What::End, cpu);
        self.journal
    }

    fn add(&mut self, what: What, cpu: Nanos) {
        if self.journal.events.len() >= self.room {
            self.journal.missed += 1;
            return;
        }
        let computed_ns = cpu.0.saturating_sub(self.accounted.0);
        self.accounted = self.accounted.max(cpu);
        self.journal.events.push(Event { computed_ns, what });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_first_touches_of_an_epoch_are_events_and_computing_is_what_is_not_discounted() {
        let mut recorder = Recorder::new(3, 2, 5, Nanos(100));
        let minipage = Minipage(1);
        assert!(recorder.touch(minipage, Access::Read, 0..4, || Nanos(150)));
        recorder.discount(Nanos(30));
        assert!(!recorder.touch(minipage, Access::Read, 4..8, || unreachable!("it is known")));
        assert!(recorder.touch(minipage, Access::Write, 0..4, || Nanos(200)));
        recorder.note(What::Barrier, Nanos(210));
        recorder.resume(Nanos(500));
        assert!(recorder.touch(minipage, Access::Read, 0..4, || Nanos(501)));
        recorder.again(minipage, Access::Read, Nanos(502));
        let journal = recorder.end(Nanos(600));
        let computed: Vec<_> = journal.events.iter().map(|event| event.computed_ns).collect();
        assert_eq!((computed, journal.missed, journal.thread), (vec![50, 20, 10, 1, 1], 1, 3));
        let whole = What::Touch { minipage, access: Access::Read, bytes: (0..8).into(), again: false };
        assert_eq!(journal.events[0].what, whole);
    }
}
