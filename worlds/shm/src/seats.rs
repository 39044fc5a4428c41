//! Processes that come one after another: each says which it is when it takes its rank's seat, and the others
//! watch it from then on.
use crate::watch::{LOOK_INTERVAL, ended};
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use foregather_host::{clock, run_state};
use foregather_machine::{Error, Nanos, Rank, SharedLines, VALUE_MASK, WaitContext};
use foregather_thread::{Scope, Word};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, getpid, pidfd_open};
use std::sync::{Arc, Mutex, PoisonError};

/// The words of a seat: the number of its process, 0 while it is free; and when that was started, since
/// numbers come again.
const PROCESS: usize = 0;
const STARTED: [usize; 2] = [1, 2];
/// In place of a number: the process has left the seat, and is not missed.
const LEFT: u32 = VALUE_MASK;

/// A line of words for each rank, in a segment. A clone has the same lines.
#[derive(Clone)]
pub struct Seats(SharedLines<Word>);

/// The time at which a process was started, in two words.
fn started(process: u32) -> [u32; 2] {
    let started = run_state::started(process).unwrap_or(0);
    [started as u32 & VALUE_MASK, (started >> 30) as u32 & VALUE_MASK]
}

impl Seats {
    /// The seats of as many ranks as there are lines, which begin as zeros.
    pub fn over(lines: SharedLines<Word>) -> Self {
        Self(lines)
    }

    /// This process takes the seat of `rank`: from now on its death is noticed.
    pub fn take(&self, rank: Rank) {
        let line = &self.0[rank as usize];
        let process = getpid().as_raw_nonzero().get() as u32;
        for (word, value) in STARTED.into_iter().zip(started(process)) {
            line[word].store(value);
        }
        line[PROCESS].publish(process, Scope::Shared);
    }

    /// This process leaves the seat of `rank` in order.
    pub fn leave(&self, rank: Rank) {
        self.0[rank as usize][PROCESS].publish(LEFT, Scope::Shared);
    }

    fn process(&self, rank: Rank) -> Option<u32> {
        Some(self.0[rank as usize][PROCESS].load()).filter(|&process| process != 0 && process != LEFT)
    }
}

/// The processes in some seats, and when a wait last asked after them.
pub(crate) struct Seated {
    seats: Seats,
    ranks: Range<Rank>,
    /// Descriptors of processes that are known, by rank.
    known: Mutex<Vec<(Rank, OwnedFd)>>,
    last_look: AtomicU64,
}

impl Seated {
    pub(crate) fn new(seats: &Seats, ranks: Range<Rank>) -> Arc<Self> {
        Arc::new(Self { seats: seats.clone(), ranks, known: Mutex::default(), last_look: AtomicU64::new(0) })
    }

    /// Names a process that has ended without leaving its seat, once in an interval.
    pub(crate) fn check(&self, why: &WaitContext) -> Result<(), Error> {
        let now = clock::now();
        if now - Nanos(self.last_look.load(Relaxed)) < LOOK_INTERVAL {
            return Ok(());
        }
        self.last_look.store(now.0, Relaxed);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|&(rank, _)| self.seats.process(rank).is_some());
        let lost = self.meet(&mut known).or_else(|| ended(&known));
        // One that left in order, and then ended, is not lost.
        lost.filter(|&rank| self.seats.process(rank).is_some()).map_or(Ok(()), |rank| Err(Error::peer_lost(rank, now, why)))
    }

    /// Gets descriptors of processes that have come since. Returns a rank whose process has ended before
    /// that.
    fn meet(&self, known: &mut Vec<(Rank, OwnedFd)>) -> Option<Rank> {
        for rank in self.ranks.clone().filter(|rank| known.iter().all(|(other, _)| other != rank)).collect::<Vec<_>>() {
            let Some(process) = self.seats.process(rank) else { continue };
            let Some(pid) = Pid::from_raw(process as i32) else { return Some(rank) };
            match pidfd_open(pid, PidfdFlags::empty()) {
                Ok(pidfd) if STARTED.map(|word| self.seats.0[rank as usize][word].load()) == started(process) => {
                    known.push((rank, pidfd))
                }
                Ok(_) | Err(Errno::SRCH) => return Some(rank),
                // A system that refuses descriptors of processes: bounded waits end all the same.
                Err(_) => {}
            }
        }
        None
    }
}

impl core::fmt::Debug for Seated {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Seated({:?})", self.ranks)
    }
}
