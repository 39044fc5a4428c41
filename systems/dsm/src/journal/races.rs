//! Data races: two threads access a byte, at least one of them stores it, and no lock or barrier orders the
//! accesses.
//!
//! Each thread has a vector clock: what it knows about the others through locks that it acquired after them,
//! and through barriers. Accesses of two threads are unordered if neither thread knows about the other's
//! access. DJIT (Itzkovitz, Schuster & Zeev Ben Mordehai 1999) detects accesses by protection faults, so it
//! sees only the first access to a minipage in an epoch, and a race can hide behind an access that faulted
//! before. Journals contain all bytes that a thread accessed in an epoch, so no race is hidden, and accesses
//! of two threads to different bytes of a minipage are not races.
//!
//! Limits: only accesses through [`Array`](crate::memory::Array) are seen. Only locks, flags and barriers
//! order events; messages, pushes and `fetch_add` do not. Locks are analysed in the order of this run;
//! another order may have more races. Two `fetch_add` do not race with each other.
use super::order::{NextEvent, walk};
use super::places::Places;
use super::{Bytes, Journal, Operation};
use crate::memory::Site;
use crate::{Access, Minipage};
use core::fmt;
use core::ops::Range;
use serde::Serialize;
use std::collections::BTreeMap;

mod clocks;

use clocks::Clocks;

/// The races of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Races {
    /// One entry for each allocation and pair of [`How`], in the order of allocations.
    pub races: Vec<Race>,
    /// Events that found no room in a journal: what followed them is unknown.
    pub missed: u64,
}

/// Races at one allocation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Race {
    /// File and line of the allocation.
    pub place: String,
    /// The minipage of the first race.
    pub minipage: Minipage,
    /// The first bytes that both threads accessed, counted from the array's first byte.
    pub bytes: Range<u32>,
    /// The elements that contain these bytes.
    pub elements: Range<u32>,
    /// The unit that contains the first of them.
    pub unit: u32,
    /// The two accesses, in their presumed order.
    pub touches: [Toucher; 2],
    /// How many pairs of accesses, in different epochs, race in this way.
    pub count: u64,
}

/// One side of a race.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Toucher {
    /// Its rank.
    pub rank: u32,
    /// Its number among all threads.
    pub thread: u32,
    /// How it accessed the bytes.
    pub how: How,
    /// How many barriers its thread had passed.
    pub barriers: u32,
    /// The locks that its thread held.
    pub locks: Vec<u32>,
}

/// The kind of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum How {
    /// A load.
    Load,
    /// A store.
    Store,
    /// An atomic load and store.
    Atomic,
}

/// An access that a later one may race with.
struct EarlierAccess {
    thread: usize,
    clock: u32,
    how: How,
    bytes: Bytes,
    barriers: u32,
    locks: Vec<u32>,
}

/// Finds the races of a run.
pub fn find(journals: &[Journal], sites: &[Site]) -> Races {
    let mut search = RaceSearch {
        journals,
        sites,
        places: Places::new(sites),
        clocks: Clocks::new(journals.len()),
        locks: vec![vec![]; journals.len()],
        barriers: 0,
        known: BTreeMap::new(),
        found: BTreeMap::new(),
    };
    walk(journals, |step| search.take(step));
    Races { races: search.found.into_values().collect(), missed: journals.iter().map(|journal| journal.missed).sum() }
}

/// Flags have clocks like locks, under numbers of their own.
const FLAG: u32 = 1 << 31;

struct RaceSearch<'j> {
    journals: &'j [Journal],
    sites: &'j [Site],
    places: Places<'j>,
    clocks: Clocks,
    /// The locks that each thread holds.
    locks: Vec<Vec<u32>>,
    barriers: u32,
    /// For each minipage, accesses that not all threads know about yet.
    known: BTreeMap<Minipage, Vec<EarlierAccess>>,
    /// For each site and pair of access kinds.
    found: BTreeMap<(usize, How, How), Race>,
}

impl RaceSearch<'_> {
    fn take(&mut self, step: NextEvent<'_>) {
        let (thread, event) = match step {
            NextEvent::Event(thread, event) => (thread, event),
            NextEvent::Barrier => {
                // After a barrier, all threads know everything that happened before it.
                self.known.clear();
                self.clocks.meet();
                self.barriers += 1;
                return;
            }
        };
        match &event.what {
            Operation::Lock(lock) => {
                self.clocks.acquire(thread, *lock);
                self.locks[thread].push(*lock);
            }
            Operation::Unlock(lock) => {
                self.clocks.release(thread, *lock);
                self.locks[thread].retain(|held| held != lock);
            }
            // The waiting thread learns what the posting thread knew, and at worst more.
            Operation::Post(flag) => self.clocks.release(thread, *flag | FLAG),
            Operation::Wait(flag) => self.clocks.acquire(thread, *flag | FLAG),
            Operation::Touch { minipage, access, bytes, atomic, .. } => {
                let how = match access {
                    _ if *atomic => How::Atomic,
                    Access::Write => How::Store,
                    _ => How::Load,
                };
                self.touch(thread, *minipage, how, bytes);
            }
            _ => {}
        }
    }

    fn touch(&mut self, thread: usize, minipage: Minipage, how: How, bytes: &Bytes) {
        let known = self.known.entry(minipage).or_default();
        let now = EarlierAccess {
            thread,
            clock: self.clocks.own(thread),
            how,
            bytes: bytes.clone(),
            barriers: self.barriers,
            locks: self.locks[thread].clone(),
        };
        let clocks = &self.clocks;
        for before in known.iter().filter(|before| !clocks.knows(thread, before.thread, before.clock)) {
            let harmless = before.how == now.how && now.how != How::Store;
            if let Some(common) = before.bytes.common(&now.bytes).filter(|_| !harmless) {
                let race = (before, &now);
                note(&mut self.found, (self.journals, self.sites, &self.places), minipage, race, &common);
            }
        }
        // An access that races with the older one races with this one, too.
        let replaced = |older: &EarlierAccess| older.thread == thread && older.how == how && now.bytes.holds(&older.bytes);
        known.retain(|older| !replaced(older) && !clocks.known_to_all(older.thread, older.clock));
        known.push(now);
    }
}

type RaceSources<'s, 'j> = (&'j [Journal], &'j [Site], &'s Places<'j>);

fn note(
    found: &mut BTreeMap<(usize, How, How), Race>,
    (journals, sites, places): RaceSources<'_, '_>,
    minipage: Minipage,
    (before, now): (&EarlierAccess, &EarlierAccess),
    common: &Range<u32>,
) {
    let Some((number, bytes)) = places.bytes(minipage, &common.clone().into()) else { return };
    let (Some(bytes), site) = (bytes.ranges().next(), &sites[number]) else { return };
    let kinds = (before.how.min(now.how), before.how.max(now.how));
    let race = found.entry((number, kinds.0, kinds.1)).or_insert_with(|| {
        let side = |side: &EarlierAccess| {
            let Journal { rank, thread, .. } = journals[side.thread];
            Toucher { rank, thread, how: side.how, barriers: side.barriers, locks: side.locks.clone() }
        };
        let elements = bytes.start / site.element_bytes..bytes.end.div_ceil(site.element_bytes);
        let (unit, touches) = (bytes.start / site.unit_bytes.max(1), [side(before), side(now)]);
        Race { place: site.place.clone(), minipage, bytes, elements, unit, touches, count: 0 }
    });
    race.count += 1;
}

impl fmt::Display for Toucher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let does = match self.how {
            How::Load => "loads",
            How::Store => "stores",
            How::Atomic => "adds, all at once,",
        };
        write!(f, "thread {} (rank {}) {does} ", self.thread, self.rank)?;
        match self.barriers {
            0 => write!(f, "before the first barrier")?,
            passed => write!(f, "after barrier {passed}")?,
        }
        match &self.locks[..] {
            [] => write!(f, " without a lock"),
            [lock] => write!(f, " with lock {lock}"),
            locks => write!(f, " with locks {locks:?}"),
        }
    }
}

impl fmt::Display for Race {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, minipage, bytes, elements, unit, touches: [before, now], count } = self;
        writeln!(
            f,
            "{place}: {count} pairs of touches race. For one, at element {} of the array, {bytes:?} of its bytes",
            elements.start
        )?;
        write!(f, "  (unit {unit}, minipage {}): {before}; {now}; nothing orders them", minipage.0)
    }
}

impl fmt::Display for Races {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.races.is_empty() {
            writeln!(f, "no data races seen")?;
        }
        self.races.iter().try_for_each(|race| writeln!(f, "{race}"))?;
        super::missed(f, self.missed)
    }
}

#[cfg(test)]
mod tests;
