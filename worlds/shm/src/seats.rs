//! Processes that come one after another: each describes itself when it takes its rank's seat, and the others
//! watch it from then on.
use crate::watch::{LOOK_INTERVAL, ended};
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use foregather_host::clock;
use foregather_host::identity::{ProcessIdentity, ProcessMark, Sight};
use foregather_machine::{Cause, Error, Nanos, Rank, SharedLines, VALUE_MASK, WaitContext};
use foregather_thread::{Scope, Word};
use rustix::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

/// The words of a seat. The number of its process, 0 while it is free; its mark, and which kind of mark that
/// is; its pid namespace, 0 if it does not know it.
const PROCESS: usize = 0;
const MARK: [usize; 2] = [1, 2];
const NAMESPACE: usize = 3;
/// In place of a number: the process has left the seat, and is not missed.
const LEFT: u32 = VALUE_MASK;
/// In place of a number: the process has died, as another one has proved, and is not missed any more.
const DEAD: u32 = VALUE_MASK - 1;
/// The bit of a mark's second word that says that it is an inode; else it is a time, and 0 is none.
const IS_INODE: u32 = 1 << 29;
/// Bits of a word.
const BITS: u32 = VALUE_MASK.count_ones();

/// A line of words for each rank, in a segment. A clone has the same lines.
#[derive(Clone)]
pub struct Seats(SharedLines<Word>);

/// The state of a seat.
#[derive(Debug)]
pub enum SeatState {
    /// No process has taken it yet.
    Free,
    /// Its process has left it in order.
    Left,
    /// Its process runs, as far as this one can see.
    Lives(u32),
    /// Its process has ended without leaving it.
    Dead,
    /// Whether its process runs cannot be known now; why, and the remedy.
    Unknown(&'static str),
}

/// What a seat says of its process.
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

    /// What this process can know of it.
    fn look(self) -> Sight {
        let mark = u64::from(self.mark[0]) | u64::from(self.mark[1] & (IS_INODE - 1)) << BITS;
        let mark = match (self.mark[1] & IS_INODE, mark) {
            (0, 0) => ProcessMark::Unknown,
            (0, at) => ProcessMark::Started(at),
            (_, inode) => ProcessMark::Inode(inode),
        };
        // A word has not all bits of a namespace's number; this process's own is known in full.
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
    /// The seats of as many ranks as there are lines, which begin as zeros.
    pub fn over(lines: SharedLines<Word>) -> Self {
        Self(lines)
    }

    /// This process takes the seat of `rank`: from now on its death is noticed.
    pub fn take(&self, rank: Rank) {
        // The number goes last: others look at nothing else before.
        let (line, own) = (&self.0[rank as usize], Occupant::of(ProcessIdentity::own()));
        for (word, value) in MARK.into_iter().zip(own.mark) {
            line[word].store(value);
        }
        line[NAMESPACE].store(own.namespace);
        line[PROCESS].publish(own.number, Scope::Shared);
    }

    /// This process leaves the seat of `rank` in order, unless another one has taken it since.
    pub fn leave(&self, rank: Rank) {
        let _ = self.0[rank as usize][PROCESS].compare_exchange(std::process::id(), LEFT, Scope::Shared);
    }

    /// Records that the process in the seat of `rank`, which has died, is missed no more: no wait ends
    /// because of it from now on. Returns whether that is recorded; not so if it is not known to have died,
    /// or another one has its seat.
    pub fn bury(&self, rank: Rank) -> bool {
        let word = &self.0[rank as usize][PROCESS];
        let before = word.load();
        matches!(self.state(rank), SeatState::Dead) && word.compare_exchange(before, DEAD, Scope::Shared).is_ok()
    }

    /// This process takes the seat of `rank` after one that has died, and then does what `make` does for it.
    /// `lock` lets one process at a time do so for any of the seats: 0, or the number of that process.
    ///
    /// # Errors
    /// [`Cause::Refused`] if no process has taken the seat yet, its process has left in order or still runs,
    /// or another process holds the lock; [`Cause::Unseen`] if nothing can be known of it; what `make`
    /// returns: the seat is left then.
    pub fn succeed<T>(&self, rank: Rank, lock: &Word, make: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        let _locked = Locked::take(lock)?;
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

    /// The state of a seat, as this process can see it.
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

    fn occupant(&self, rank: Rank) -> Option<Occupant> {
        let line = &self.0[rank as usize];
        let number = Some(line[PROCESS].load()).filter(|&process| process != 0 && process < DEAD)?;
        Some(Occupant { number, mark: MARK.map(|word| line[word].load()), namespace: line[NAMESPACE].load() })
    }
}

/// The lock of processes that take seats after others. One that dies with it is noticed by the next.
struct Locked<'l>(&'l Word);

impl<'l> Locked<'l> {
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

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        let _ = self.0.compare_exchange(std::process::id(), 0, Scope::Shared);
    }
}

const REFUSED: &str = "the system refuses descriptors of processes; \
                       raise the limit of open files (ulimit -n), or allow pidfd_open in the container's seccomp filter";
const PRESUMED: &str = "a process of its number has ended, which need not be the one that was meant; \
                        run all processes in one pid namespace, with /proc mounted in each";

/// The processes in some seats, and when a wait last asked after them.
pub(crate) struct Seated {
    seats: Seats,
    ranks: Range<Rank>,
    known: Mutex<Vec<WatchedSeat>>,
    last_look: AtomicU64,
}

/// A process that is watched.
struct WatchedSeat {
    rank: Rank,
    occupant: Occupant,
    descriptor: OwnedFd,
    /// Is it proven that the descriptor is this occupant's?
    proven: bool,
}

impl Seated {
    pub(crate) fn new(seats: &Seats, ranks: Range<Rank>) -> Arc<Self> {
        Arc::new(Self { seats: seats.clone(), ranks, known: Mutex::default(), last_look: AtomicU64::new(0) })
    }

    /// Names a process that has ended without leaving its seat, once in an interval, or one of which nothing
    /// can be known.
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
            // One that left in order, and then ended, is not lost.
            Some(lost) if self.seats.occupant(lost.rank) == Some(lost.occupant) => Err(match lost.proven {
                true => Error::peer_lost(lost.rank, now, why),
                false => Cause::Unseen { rank: lost.rank, why: PRESUMED }.into(),
            }),
            _ => Ok(()),
        }
    }

    /// Gets descriptors of processes that have come since.
    ///
    /// # Errors
    /// A process has ended before that, or nothing can be known of it.
    fn meet(&self, known: &mut Vec<WatchedSeat>, now: Nanos, why: &WaitContext) -> Result<(), Error> {
        for rank in self.ranks.clone() {
            if known.iter().any(|known| known.rank == rank) {
                continue;
            }
            let Some(occupant) = self.seats.occupant(rank) else { continue };
            let (descriptor, proven) = match occupant.look() {
                Sight::Watched(descriptor) => (descriptor, true),
                Sight::Presumed(descriptor) => (descriptor, false),
                // Its seat is written in several steps.
                Sight::Dead | Sight::Hidden(_) if self.seats.occupant(rank) != Some(occupant) => continue,
                Sight::Dead => return Err(Error::peer_lost(rank, now, why)),
                Sight::Hidden(why) => return Err(Cause::Unseen { rank, why }.into()),
                // Bounded waits end all the same, and a later look may see more.
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
