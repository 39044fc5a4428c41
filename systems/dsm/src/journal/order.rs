//! Merges the journals of all threads into one order that respects locks, flags and barriers, and otherwise
//! follows the clocks of the hosts.
//!
//! Clocks of different hosts may differ. Their offsets are derived from barriers: no thread leaves a barrier
//! before all have arrived.
use super::{Event, Journal, Operation};
use std::collections::BTreeMap;

/// The next step of the walk.
pub(super) enum NextEvent<'j> {
    /// An event of one thread, with the index of its journal.
    Event(usize, &'j Event),
    /// All threads leave a barrier.
    Barrier,
}

/// The position in the journal of one thread.
struct Walk<'j> {
    events: core::iter::Peekable<core::slice::Iter<'j, Event>>,
    /// What to add to its clock to get the first thread's, in nanoseconds.
    offset_ns: i128,
}

impl Walk<'_> {
    /// Returns when its next event took effect.
    fn next_ns(&mut self) -> Option<i128> {
        let offset_ns = self.offset_ns;
        self.events.peek().map(|event| offset_ns + i128::from(effect_ns(event)))
    }
}

/// Returns when an event took effect: an unlock and a post at their start, other events at their end.
fn effect_ns(event: &Event) -> u64 {
    if matches!(event.what, Operation::Unlock(_) | Operation::Post(_)) { event.at_ns } else { event.ended().0 }
}

/// Calls `see` with each event and each barrier, in the merged order.
pub(super) fn walk<'j>(journals: &'j [Journal], mut see: impl FnMut(NextEvent<'j>)) {
    let offsets = offsets(journals);
    let walk = |(journal, offset_ns): (&'j Journal, i128)| Walk { events: journal.events.iter().peekable(), offset_ns };
    let mut threads: Vec<Walk<'j>> = journals.iter().zip(offsets).map(walk).collect();
    let mut held: BTreeMap<u32, usize> = BTreeMap::new();
    // Posts that no wait has taken yet, by flag.
    let mut posted: BTreeMap<u32, u64> = BTreeMap::new();
    loop {
        let (mut first, mut first_waiting) = (None, None);
        for (number, thread) in threads.iter_mut().enumerate() {
            let (Some(ns), Some(event)) = (thread.next_ns(), thread.events.peek()) else { continue };
            let waits = match event.what {
                Operation::Barrier => true,
                Operation::Lock(lock) => held.get(&lock).is_some_and(|&holder| holder != number),
                Operation::Wait(flag) => posted.get(&flag).is_none_or(|&posts| posts == 0),
                _ => false,
            };
            let least = if waits { &mut first_waiting } else { &mut first };
            if least.is_none_or(|(other, _)| ns < other) {
                *least = Some((ns, number));
            }
        }
        let Some((_, number)) = first.or(first_waiting) else { return };
        if first.is_none() && pass_barrier(&mut threads) {
            see(NextEvent::Barrier);
            continue;
        }
        // If all threads wait, a journal was truncated before the event that one of them waits for; the first
        // thread continues without it.
        let Some(event) = threads[number].events.next() else { return };
        match event.what {
            Operation::Lock(lock) => {
                held.insert(lock, number);
            }
            Operation::Unlock(lock) => {
                held.remove(&lock);
            }
            Operation::Post(flag) => *posted.entry(flag).or_default() += 1,
            Operation::Wait(flag) => {
                // Without a post if the journal that has it was cut off.
                let posts = posted.entry(flag).or_default();
                *posts = posts.saturating_sub(1);
            }
            _ => {}
        }
        see(NextEvent::Event(number, event));
    }
}

/// Moves all threads past a barrier and returns true if each has arrived there or has no more events.
fn pass_barrier(threads: &mut [Walk<'_>]) -> bool {
    let there = |thread: &mut Walk<'_>| thread.events.peek().is_none_or(|event| event.what == Operation::Barrier);
    let all = threads.iter_mut().all(there);
    if all {
        for thread in threads {
            thread.events.next();
        }
    }
    all
}

/// Returns the offset of each thread's clock to the first one's: 0, unless that contradicts a barrier.
fn offsets(journals: &[Journal]) -> Vec<i128> {
    let Some(first) = journals.first() else { return vec![] };
    let offset = |journal: &Journal| {
        // With an offset between these bounds, each of the two threads arrives at every barrier before the
        // other leaves it.
        let (mut least, mut most) = (i128::MIN, i128::MAX);
        for (ours, theirs) in barriers(journal).zip(barriers(first)) {
            let ([arrived, left], [first_arrived, first_left]) = (ours, theirs);
            (least, most) = (least.max(first_arrived - left), most.min(first_left - arrived));
        }
        if least <= 0 && 0 <= most { 0 } else { least + (most - least) / 2 }
    };
    journals.iter().map(offset).collect()
}

/// Returns when a thread arrived at each barrier, and when it left.
fn barriers(journal: &Journal) -> impl Iterator<Item = [i128; 2]> {
    let barriers = journal.events.iter().filter(|event| event.what == Operation::Barrier);
    barriers.map(|event| [event.at_ns, event.ended().0].map(i128::from))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::hand_made::{at, journal};
    use Operation::{Barrier, End, Lock, Post, Start, Unlock, Wait};

    /// Returns the steps as `thread:start`, in nanoseconds of that thread's clock.
    fn steps(journals: &[Journal]) -> Vec<String> {
        let mut steps = vec![];
        walk(journals, |step| match step {
            NextEvent::Event(thread, event) => steps.push(format!("{thread}:{}", event.at_ns)),
            NextEvent::Barrier => steps.push("all".to_owned()),
        });
        steps
    }

    #[test]
    fn the_clock_decides_unless_a_lock_or_a_barrier_does() {
        let one = journal(0, [at(10, 0, Lock(1)), at(20, 0, Unlock(1)), at(25, 5, Barrier), at(40, 0, End)]);
        let two = journal(1, [at(11, 4, Lock(1)), at(16, 0, Unlock(1)), at(28, 2, Barrier), at(31, 0, Start)]);
        assert_eq!(steps(&[one, two]), ["0:10", "0:20", "1:11", "1:16", "all", "1:31", "0:40"]);
    }

    #[test]
    fn barriers_align_the_clocks_of_different_hosts() {
        let one = journal(0, [at(1_000, 10, Barrier), at(1_020, 0, Start), at(1_040, 10, Barrier)]);
        let two = journal(1, [at(0, 12, Barrier), at(15, 0, Start), at(35, 16, Barrier)]);
        assert_eq!(steps(&[one, two]), ["all", "1:15", "0:1020", "all"]);
    }

    #[test]
    fn a_wait_comes_after_its_post_although_the_clocks_of_two_hosts_differ() {
        let one = journal(0, [at(100, 0, Post(1)), at(200, 0, Post(1))]);
        let two = journal(1, [at(10, 5, Wait(1)), at(17, 0, Start), at(20, 5, Wait(1))]);
        assert_eq!(steps(&[one, two]), ["0:100", "1:10", "1:17", "0:200", "1:20"]);
        let (alone, after) = (journal(0, [at(10, 5, Wait(1)), at(20, 0, End)]), journal(1, [at(30, 0, Start)]));
        assert_eq!(steps(&[alone, after]), ["1:30", "0:10", "0:20"], "a post that is missing holds the thread up, not the walk");
    }

    #[test]
    fn a_cut_off_journal_blocks_no_other_thread() {
        let one = journal(0, [at(1, 0, Lock(1)), at(2, 0, Lock(2))]);
        let two = journal(1, [at(3, 0, Lock(1)), at(4, 0, Unlock(1)), at(5, 1, Barrier), at(7, 0, End)]);
        assert_eq!(steps(&[one, two]), ["0:1", "0:2", "1:3", "1:4", "all", "1:7"]);
    }
}
