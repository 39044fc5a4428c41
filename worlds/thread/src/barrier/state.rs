//! The state that all threads of a barrier share: its words, and the names of the threads that have slots.
use crate::{Thread, Word, own};
use core::sync::atomic::{AtomicBool, Ordering::*};
use core::time::Duration;
use foregather_barrier::{Central, Seat};
use foregather_host::{clock, forks};
use foregather_machine::{Cause, Error, Missing, Nanos, Participant, VALUE_MASK, WaitError, WordLine, Words};
use foregather_wait::Roster;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The most members.
const MOST: u32 = 1 << 24;
/// The most slots: threads beyond that are guests.
const MOST_SLOTS: u32 = 1 << 10;

/// A barrier for any threads of a process. Threads share it in an `Arc`, which keeps what a waiting thread
/// uses of it.
pub struct ThreadBarrier {
    central: [WordLine<Word>; Central::<Thread>::LINES],
    roster: Box<[WordLine<Word>]>,
    size: u32,
    /// A thread has aborted it: no further episode can be relied on.
    left: AtomicBool,
    /// No thread will wait again: threads may give up their slots.
    retired: AtomicBool,
    /// The number of forks at which it was made: in a child of a fork the other threads do not exist.
    forks: u32,
    names: Mutex<Names>,
}

/// The threads that have slots, or had them last.
struct Names {
    free: Vec<u32>,
    holders: Vec<Holder>,
    /// The first thread that aborted the barrier.
    left: Option<Participant>,
    /// The number of the next claim.
    claims: u64,
}

#[derive(Clone, Default)]
struct Holder {
    /// The claim by which the thread took the slot; 0 for none.
    claim: u64,
    who: Participant,
}

/// A thread's right to a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SlotClaim {
    pub(super) rank: u32,
    claim: u64,
}

impl ThreadBarrier {
    /// Makes a barrier for `size` threads; 0 means 1.
    ///
    /// # Panics
    /// Above 16,777,216.
    #[must_use]
    pub fn new(size: usize) -> Self {
        let size = u32::try_from(size.max(1)).ok().filter(|&size| size <= MOST);
        let size = size.expect("a barrier has at most 16,777,216 members");
        let slots = size.min(MOST_SLOTS);
        let free = (0..slots).rev().collect();
        let names = Names { free, holders: vec![Holder::default(); slots as usize], left: None, claims: 0 };
        Self {
            central: Default::default(),
            roster: (0..Roster::<Thread>::lines(slots)).map(|_| WordLine::default()).collect(),
            size,
            left: AtomicBool::new(false),
            retired: AtomicBool::new(false),
            forks: forks::generation(),
            names: Mutex::new(names),
        }
    }

    /// The number of threads of an episode.
    pub fn size(&self) -> u32 {
        self.size
    }

    #[inline]
    pub(super) fn central(&self) -> Central<'_, Thread> {
        Central::over(&self.central, self.size)
    }

    #[inline]
    pub(super) fn roster(&self) -> Roster<'_, Thread> {
        Roster::new(&self.roster)
    }

    fn names(&self) -> MutexGuard<'_, Names> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a free slot, or one whose thread has missed many episodes; `None` if there is no such slot.
    #[cold]
    pub(super) fn claim(&self, cpu: &Thread) -> Option<SlotClaim> {
        let mut names = self.names();
        let meeting = self.tickets() / u64::from(self.size);
        let idle = |&rank: &u32| Seat::is_idle(cpu, self.roster(), rank, meeting);
        let rank = names.free.pop().or_else(|| (0..names.holders.len() as u32).find(idle))?;
        names.claims += 1;
        let claim = names.claims;
        let who = Participant { rank: Some(rank), name: own::name(), ended: false };
        names.holders[rank as usize] = Holder { claim, who };
        // The thread that had an idle slot sees by its word that it has lost it.
        cpu.store(self.roster().arrived(rank), meeting as u32 & VALUE_MASK);
        Some(SlotClaim { rank, claim })
    }

    /// The thread has ended. Its slot may be taken; until then it keeps the thread's name.
    pub(super) fn vacate(&self, cpu: &Thread, hold: SlotClaim) {
        let mut names = self.names();
        let holder = &mut names.holders[hold.rank as usize];
        if holder.claim == hold.claim {
            holder.who.ended = true;
            self.roster().vacate(cpu, hold.rank);
            names.free.push(hold.rank);
        }
    }

    /// Makes all waits fail, those that wait now and later ones, and name the calling thread. A complete
    /// episode is not disturbed.
    pub fn abort(&self) {
        self.names().left.get_or_insert_with(|| Participant { name: own::name(), ..Participant::default() });
        self.left.store(true, Release);
        Thread::current().poison(self.central().epoch());
    }

    /// No thread will wait again: its slots are given up when their threads next look for one.
    pub fn retire(&self) {
        self.retired.store(true, Relaxed);
    }

    pub(super) fn is_retired(&self) -> bool {
        self.retired.load(Relaxed)
    }

    /// Checks whether a wait can succeed at all.
    #[inline]
    pub(super) fn check(&self) -> Result<(), WaitError> {
        if self.left.load(Acquire) || self.forks != forks::generation_now() { Err(self.refusal()) } else { Ok(()) }
    }

    #[cold]
    fn refusal(&self) -> WaitError {
        let left = self.left.load(Acquire).then(|| self.names().left.clone()).flatten();
        WaitError::Left(Box::new(left.unwrap_or_else(Participant::parent)))
    }

    fn tickets(&self) -> u64 {
        self.central().tickets().load(Acquire)
    }

    /// The error of a wait in the episode `meeting` that began at `began`.
    #[cold]
    pub(super) fn explain(&self, cpu: &Thread, meeting: u64, began: Nanos, error: &Error) -> WaitError {
        if !matches!(error.cause(), Cause::TimedOut { .. }) {
            return self.refusal();
        }
        let size = u64::from(self.size);
        let came = self.tickets().saturating_sub(meeting.wrapping_mul(size)).min(size);
        let arrived = meeting.wrapping_add(1) as u32 & VALUE_MASK;
        let names = self.names();
        let seated = names.holders.iter().filter(|holder| holder.claim != 0).map(|holder| &holder.who);
        let behind = |who: &&Participant| who.rank.is_some_and(|rank| cpu.load(self.roster().arrived(rank)) != arrived);
        let waited = Duration::from_nanos((clock::now() - began).0);
        let who = seated.filter(behind).cloned().collect();
        WaitError::TimedOut(Box::new(Missing { waited, count: (size - came) as usize, who }))
    }
}

foregather_machine::debug_by! { [] ThreadBarrier, "ThreadBarrier", |this| size: this.size }
