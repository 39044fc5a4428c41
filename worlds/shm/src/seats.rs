//! Slots for processes that join one after another: each process registers itself in its rank's slot, and the
//! others watch it from then on.
use crate::watch::{LOOK_INTERVAL, ended};
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use foregather_host::clock;
use foregather_host::identity::{ProcessIdentity, ProcessMark, Sight};
use foregather_machine::{Cause, Error, Nanos, Rank, SharedLines, VALUE_MASK, WaitContext};
use foregather_thread::{Scope, Word};
use rustix::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

/// The words of a slot: the PID of its process, 0 while it is free; its mark, and the kind of the mark; its
/// PID namespace, 0 if unknown.
const PROCESS: usize = 0;
const MARK: [usize; 2] = [1, 2];
const NAMESPACE: usize = 3;
/// In place of a PID: the process has left the slot normally, and is not reported lost.
const LEFT: u32 = VALUE_MASK;
/// In place of a PID: another process has verified that this one died, and it is no longer reported lost.
const DEAD: u32 = VALUE_MASK - 1;
/// The bit of a mark's second word that is set if the mark is an inode; otherwise it is a start time, or 0
/// for none.
const IS_INODE: u32 = 1 << 29;
/// Bits of a word.
const BITS: u32 = VALUE_MASK.count_ones();

/// A line of words for each rank, in a segment. A clone refers to the same lines.
#[derive(Clone)]
pub struct Seats(SharedLines<Word>);

/// The state of a slot.
#[derive(Debug)]
pub enum SeatState {
    /// No process has taken it yet.
    Free,
    /// Its process has left it normally.
    Left,
    /// Its process is running, as far as this process can see.
    Lives(u32),
    /// Its process has exited without leaving it.
    Dead,
    /// It is unknown whether its process is running; contains the reason and the remedy.
    Unknown(&'static str),
}

/// What a slot contains about its process.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Occupant {
    number: u32,
    mark: [u32; 2],
    namespace: u32,
}

impl Occupant {
    fn of(process: ProcessIdentity) -> Self {
        let (mark, kind) = match process.mark {
            ProcessMark::Unknown => (0, 0),
            ProcessMark::Inode(inode) => (inode, IS_INODE),
            ProcessMark::Started(at) => (at, 0),
        };
        let high = (mark >> BITS) as u32 & (IS_INODE - 1) | kind;
        Self { number: process.number, mark: [mark as u32 & VALUE_MASK, high], namespace: namespace_word(process.namespace) }
    }

    /// Checks what this process can find out about it.
    fn look(self) -> Sight {
        let mark = u64::from(self.mark[0]) | u64::from(self.mark[1] & (IS_INODE - 1)) << BITS;
        let mark = match (self.mark[1] & IS_INODE, mark) {
            (0, 0) => ProcessMark::Unknown,
            (0, at) => ProcessMark::Started(at),
            (_, inode) => ProcessMark::Inode(inode),
        };
        // A word cannot hold all bits of a namespace's number; this process knows its own in full.
        let here = ProcessIdentity::own();
        let namespace = match self.namespace {
            0 => None,
            there if there == namespace_word(here.namespace) => here.namespace,
            there => Some(there.into()),
        };
        ProcessIdentity { number: self.number, mark, namespace }.look(&here)
    }
}

fn namespace_word(namespace: Option<u64>) -> u32 {
    namespace.map_or(0, |number| (number as u32 & VALUE_MASK).max(1))
}

impl Seats {
    /// Creates the slots of as many ranks as there are lines, which must be zero at first.
    pub fn over(lines: SharedLines<Word>) -> Self {
        Self(lines)
    }

    /// Registers this process in the slot of `rank`. From now on its death is detected.
    pub fn take(&self, rank: Rank) {
        // The PID is stored last: others read nothing else before it is set.
        let (line, own) = (&self.0[rank as usize], Occupant::of(ProcessIdentity::own()));
        for (word, value) in MARK.into_iter().zip(own.mark) {
            line[word].store(value);
        }
        line[NAMESPACE].store(own.namespace);
        line[PROCESS].publish(own.number, Scope::Shared);
    }

    /// Leaves the slot of `rank` normally, unless another process has taken it since.
    pub fn leave(&self, rank: Rank) {
        let _ = self.0[rank as usize][PROCESS].compare_exchange(std::process::id(), LEFT, Scope::Shared);
    }

    /// Records that the process in the slot of `rank` has died, so that no further wait fails because of it.
    /// Returns false if it is not known to have died, or if another process has the slot.
    pub fn bury(&self, rank: Rank) -> bool {
        let word = &self.0[rank as usize][PROCESS];
        let before = word.load();
        matches!(self.state(rank), SeatState::Dead) && word.compare_exchange(before, DEAD, Scope::Shared).is_ok()
    }

    /// Takes over the slot of `rank` from a process that has died, and then calls `make`. `lock` lets one
    /// process at a time do this for any slot: it contains 0 or the PID of that process.
    ///
    /// # Errors
    /// [`Cause::Refused`] if no process has taken the slot yet, its process has left normally or is still
    /// running, or another process holds the lock; [`Cause::Unseen`] if this process cannot check that; the
    /// errors of `make`, and then the slot is left.
    pub fn succeed<T>(&self, rank: Rank, lock: &Word, make: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        let _locked = TakeoverLock::take(lock)?;
        let refused = |why: String| Err(Cause::Refused { why: format!("rank {rank} {why}") }.into());
        match self.state(rank) {
            SeatState::Dead => {}
            SeatState::Free => return refused("was never taken; take it without replacing anybody".to_owned()),
            SeatState::Left => return refused("has left in order, and its place is not given out again".to_owned()),
            SeatState::Lives(process) => return refused(format!("is process {process}, which still runs; end it first")),
            SeatState::Unknown(why) => return Err(Cause::Unseen { rank, why }.into()),
        }
        self.take(rank);
        make().inspect_err(|_| self.leave(rank))
    }

    /// Returns the state of a slot, as far as this process can see.
    pub fn state(&self, rank: Rank) -> SeatState {
        let Some(occupant) = self.occupant(rank) else {
            return match self.0[rank as usize][PROCESS].load() {
                0 => SeatState::Free,
                DEAD => SeatState::Dead,
                _ => SeatState::Left,
            };
        };
        let has_ended = |process| ended(core::iter::once(process)).is_some();
        match occupant.look() {
            Sight::Dead => SeatState::Dead,
            Sight::Watched(process) if has_ended(&process) => SeatState::Dead,
            Sight::Presumed(process) if has_ended(&process) => SeatState::Unknown(PRESUMED),
            Sight::Watched(_) | Sight::Presumed(_) => SeatState::Lives(occupant.number),
            Sight::Refused => SeatState::Unknown(REFUSED),
            Sight::Hidden(why) => SeatState::Unknown(why),
        }
    }

    /// The number of the process in the seat of `rank`. `None` if the seat is free, or its process has left
    /// it or was buried.
    pub fn process(&self, rank: Rank) -> Option<u32> {
        self.occupant(rank).map(|occupant| occupant.number)
    }

    fn occupant(&self, rank: Rank) -> Option<Occupant> {
        let line = &self.0[rank as usize];
        let number = Some(line[PROCESS].load()).filter(|&process| process != 0 && process < DEAD)?;
        Some(Occupant { number, mark: MARK.map(|word| line[word].load()), namespace: line[NAMESPACE].load() })
    }
}

/// The lock of processes that take over slots. If its holder dies, the next process detects that.
struct TakeoverLock<'l>(&'l Word);

impl<'l> TakeoverLock<'l> {
    fn take(word: &'l Word) -> Result<Self, Error> {
        let here = ProcessIdentity::own();
        let Err(holder) = word.compare_exchange(0, here.number, Scope::Shared) else { return Ok(Self(word)) };
        let other = ProcessIdentity { number: holder, mark: ProcessMark::Unknown, ..here };
        let has_died = holder != here.number && matches!(other.look(&here), Sight::Dead);
        if has_died && word.compare_exchange(holder, here.number, Scope::Shared).is_ok() {
            return Ok(Self(word));
        }
        let why = format!("process {holder} takes the place of another one at this moment; call again");
        Err(Cause::Refused { why }.into())
    }
}

impl Drop for TakeoverLock<'_> {
    fn drop(&mut self) {
        let _ = self.0.compare_exchange(std::process::id(), 0, Scope::Shared);
    }
}

const REFUSED: &str = "the system refuses descriptors of processes; \
                       raise the limit of open files (ulimit -n), or allow pidfd_open in the container's seccomp filter";
const PRESUMED: &str = "a process of its number has ended, which need not be the one that was meant; \
                        run all processes in one pid namespace, with /proc mounted in each";

/// The processes in some slots, and when a wait last checked them.
pub(crate) struct Seated {
    seats: Seats,
    ranks: Range<Rank>,
    known: Mutex<Vec<WatchedSeat>>,
    last_look: AtomicU64,
}

/// A watched process.
struct WatchedSeat {
    rank: Rank,
    occupant: Occupant,
    descriptor: OwnedFd,
    /// Whether it was verified that the descriptor belongs to this process.
    proven: bool,
}

impl Seated {
    pub(crate) fn new(seats: &Seats, ranks: Range<Rank>) -> Arc<Self> {
        Arc::new(Self { seats: seats.clone(), ranks, known: Mutex::default(), last_look: AtomicU64::new(0) })
    }

    /// Returns an error, at most once per interval, for a process that has exited without leaving its slot,
    /// or that cannot be checked.
    pub(crate) fn check(&self, why: &WaitContext) -> Result<(), Error> {
        let now = clock::now();
        if now - Nanos(self.last_look.load(Relaxed)) < LOOK_INTERVAL {
            return Ok(());
        }
        self.last_look.store(now.0, Relaxed);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|known| self.seats.occupant(known.rank) == Some(known.occupant));
        self.meet(&mut known, now, why)?;
        let lost = ended(known.iter().map(|known| &known.descriptor)).map(|at| &known[at]);
        match lost {
            // A process that left normally before it exited is not lost.
            Some(lost) if self.seats.occupant(lost.rank) == Some(lost.occupant) => Err(match lost.proven {
                true => Error::peer_lost(lost.rank, now, why),
                false => Cause::Unseen { rank: lost.rank, why: PRESUMED }.into(),
            }),
            _ => Ok(()),
        }
    }

    /// Opens descriptors of processes that have joined since the last check.
    ///
    /// # Errors
    /// If a process exited before that, or cannot be checked.
    fn meet(&self, known: &mut Vec<WatchedSeat>, now: Nanos, why: &WaitContext) -> Result<(), Error> {
        for rank in self.ranks.clone() {
            if known.iter().any(|known| known.rank == rank) {
                continue;
            }
            let Some(occupant) = self.seats.occupant(rank) else { continue };
            let (descriptor, proven) = match occupant.look() {
                Sight::Watched(descriptor) => (descriptor, true),
                Sight::Presumed(descriptor) => (descriptor, false),
                // Its slot is being written, in several steps.
                Sight::Dead | Sight::Hidden(_) if self.seats.occupant(rank) != Some(occupant) => continue,
                Sight::Dead => return Err(Error::peer_lost(rank, now, why)),
                Sight::Hidden(why) => return Err(Cause::Unseen { rank, why }.into()),
                // Waits with a timeout end anyway, and a later check may see more.
                Sight::Refused => continue,
            };
            known.push(WatchedSeat { rank, occupant, descriptor, proven });
        }
        Ok(())
    }
}

impl core::fmt::Debug for Seated {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Seated({:?})", self.ranks)
    }
}
