//! All journals as one: in an order that locks and barriers allow, and the clocks suggest.
//!
//! Between threads only locks and barriers say for certain which event was first; for the rest the hosts'
//! clocks decide. Barriers set the clocks of different hosts: no thread leaves one before all have come.
use super::{Event, Journal, Operation};
use std::collections::BTreeMap;

/// The next step of the walk.
pub(super) enum NextEvent<'j> {
    /// A thread does something alone; its number is its place among the journals.
    Event(usize, &'j Event),
    /// All threads meet.
    Barrier,
}

/// A thread on its way through its journal.
struct Walk<'j> {
    events: core::iter::Peekable<core::slice::Iter<'j, Event>>,
    /// What to add to its clock, in nanoseconds.
    behind: i128,
}

impl Walk<'_> {
    /// When its next event took effect: leaving a lock and posting a flag take effect at once.
    fn next_ns(&mut self) -> Option<i128> {
        let behind = self.behind;
        self.events.peek().map(|event| behind + i128::from(done(event)))
    }
}

fn done(event: &Event) -> u64 {
    if matches!(event.what, Operation::Unlock(_) | Operation::Post(_)) { event.at_ns } else { event.ended().0 }
}

/// Walks through all journals.
pub(super) fn walk<'j>(journals: &'j [Journal], mut see: impl FnMut(NextEvent<'j>)) {
    let behind = offsets(journals);
    let walk = |(journal, behind): (&'j Journal, i128)| Walk { events: journal.events.iter().peekable(), behind };
    let mut threads: Vec<Walk<'j>> = journals.iter().zip(behind).map(walk).collect();
    let mut held: BTreeMap<u32, usize> = BTreeMap::new();
    loop {
        let (mut first, mut barred) = (None, None);
        for (number, thread) in threads.iter_mut().enumerate() {
            let (Some(ns), Some(event)) = (thread.next_ns(), thread.events.peek()) else { continue };
            let waits = match event.what {
                Operation::Barrier => true,
                Operation::Lock(lock) => held.get(&lock).is_some_and(|&holder| holder != number),
                _ => false,
            };
            let least = if waits { &mut barred } else { &mut first };
            if least.is_none_or(|(other, _)| ns < other) {
                *least = Some((ns, number));
            }
        }
        let Some((_, number)) = first.or(barred) else { return };
        if first.is_none() && meet(&mut threads) {
            see(NextEvent::Barrier);
            continue;
        }
        // A thread that waits for an event that a cut-off journal lacks goes on nevertheless.
        let Some(event) = threads[number].events.next() else { return };
        match event.what {
            Operation::Lock(lock) => {
                held.insert(lock, number);
            }
            Operation::Unlock(lock) => {
                held.remove(&lock);
            }
            _ => {}
        }
        see(NextEvent::Event(number, event));
    }
}

/// If all threads that have not ended are at a barrier, they pass it.
fn meet(threads: &mut [Walk<'_>]) -> bool {
    let there = |thread: &mut Walk<'_>| thread.events.peek().is_none_or(|event| event.what == Operation::Barrier);
    let all = threads.iter_mut().all(there);
    if all {
        for thread in threads {
            thread.events.next();
        }
    }
    all
}

/// The offset of each thread's clock: 0, unless that contradicts a barrier.
fn offsets(journals: &[Journal]) -> Vec<i128> {
    let Some(first) = journals.first() else { return vec![] };
    let offset = |journal: &Journal| {
        // With an offset between the two, each of the two threads comes to the barrier before the other
        // leaves it.
        let (mut least, mut most) = (i128::MIN, i128::MAX);
        for (ours, theirs) in barriers(journal).zip(barriers(first)) {
            let ([came, left], [there, gone]) = (ours, theirs);
            (least, most) = (least.max(there - left), most.min(gone - came));
        }
        if least <= 0 && 0 <= most { 0 } else { least + (most - least) / 2 }
    };
    journals.iter().map(offset).collect()
}

/// When a thread came to each barrier, and when it left.
fn barriers(journal: &Journal) -> impl Iterator<Item = [i128; 2]> {
    let barriers = journal.events.iter().filter(|event| event.what == Operation::Barrier);
    barriers.map(|event| [event.at_ns, event.ended().0].map(i128::from))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::hand_made::{at, journal};
    use Operation::{Barrier, End, Lock, Start, Unlock};

    /// The steps as `thread: when`, in nanoseconds of that thread's clock.
    fn steps(journals: &[Journal]) -> Vec<String> {
        let mut steps = vec![];
        walk(journals, |step| match step {
            NextEvent::Event(thread, event) => steps.push(format!("{thread}:{}", event.at_ns)),
            NextEvent::Barrier => steps.push("all".to_owned()),
        });
        steps
    }

    #[test]
    fn the_clock_decides_but_nobody_passes_a_barrier_alone_or_has_a_lock_that_another_has() {
        let one = journal(0, [at(10, 0, Lock(1)), at(20, 0, Unlock(1)), at(25, 5, Barrier), at(40, 0, End)]);
        let two = journal(1, [at(11, 4, Lock(1)), at(16, 0, Unlock(1)), at(28, 2, Barrier), at(31, 0, Start)]);
        assert_eq!(steps(&[one, two]), ["0:10", "0:20", "1:11", "1:16", "all", "1:31", "0:40"]);
    }

    #[test]
    fn clocks_of_different_hosts_are_set_by_barriers() {
        let one = journal(0, [at(1_000, 10, Barrier), at(1_020, 0, Start), at(1_040, 10, Barrier)]);
        let two = journal(1, [at(0, 12, Barrier), at(15, 0, Start), at(35, 16, Barrier)]);
        assert_eq!(steps(&[one, two]), ["all", "1:15", "0:1020", "all"]);
    }

    #[test]
    fn a_journal_that_was_cut_off_holds_nobody_up() {
        let one = journal(0, [at(1, 0, Lock(1)), at(2, 0, Lock(2))]);
        let two = journal(1, [at(3, 0, Lock(1)), at(4, 0, Unlock(1)), at(5, 1, Barrier), at(7, 0, End)]);
        assert_eq!(steps(&[one, two]), ["0:1", "0:2", "1:3", "1:4", "all", "1:7"]);
    }
}
