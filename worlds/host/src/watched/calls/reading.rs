//! What a watcher reads of the page.
use super::awaited::COMMUNICATORS;
use super::{
    AWAITED, AwaitedMessage, COUNTED, COUNTED_RANKS, CallPage, CallSlot, INSIDE, MpiCall, NO_RANK, RECENT, TAGS, UNKNOWN,
};
use core::sync::atomic::{AtomicU32, Ordering::*, fence};
use foregather_machine::{Rank, ThreadId};

/// How many messages a thread has sent to or wanted from each rank, by tag.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageCounts(Vec<[u32; TAGS]>);

impl MessageCounts {
    /// Counts of messages: peer, tag, number.
    pub fn of(counts: &[(Rank, u32, u32)]) -> Self {
        let mut all = Self::default();
        for &(peer, tag, count) in counts {
            let peer = peer as usize;
            all.0.resize(all.0.len().max(peer + 1), [0; TAGS]);
            all.0[peer][tag as usize % TAGS] += count;
        }
        all
    }

    /// The number for a peer and a tag.
    pub fn get(&self, peer: Rank, tag: u32) -> u32 {
        self.0.get(peer as usize).map_or(0, |tags| tags[tag as usize % TAGS])
    }

    /// How many more there are for a peer than there are in `other` for `own`, tag by tag.
    pub fn surplus(&self, peer: Rank, other: &Self, own: Rank) -> u32 {
        (0..TAGS as u32).map(|tag| self.get(peer, tag).saturating_sub(other.get(own, tag))).sum()
    }

    fn read(counts: &[[AtomicU32; TAGS]], size: usize) -> Self {
        Self(counts[..size.min(COUNTED_RANKS)].iter().map(|tags| core::array::from_fn(|tag| tags[tag].load(Relaxed))).collect())
    }
}

/// The collective calls of a thread on one communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectiveCount {
    /// The communicator.
    pub communicator: u16,
    /// How many the thread's process has begun.
    pub number: u64,
    last: u64,
}

impl CollectiveCount {
    /// A count and the last calls, the latest first.
    pub fn new(communicator: u16, number: u64, last: &[MpiCall]) -> Self {
        let last = last.iter().rev().fold(0, |all, call| all << 8 | *call as u64);
        Self { communicator, number, last }
    }

    /// The function of the call of that number, if it is one of the last eight.
    pub fn call(&self, number: u64) -> Option<MpiCall> {
        let ago = self.number.checked_sub(number).filter(|ago| *ago < 8 && number > 0)?;
        MpiCall::of_number((self.last >> (ago * 8)) as u8)
    }
}

/// One reading of a slot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedCall {
    /// Its process.
    pub process: u32,
    /// The thread that called.
    pub thread: ThreadId,
    /// The rank of its process; `None` before `MPI_Init` has returned.
    pub rank: Option<Rank>,
    /// How many ranks there are.
    pub size: u32,
    /// The level of threads: from 2 on, other threads may call MPI.
    pub level: u32,
    /// How many threads its process had when `MPI_Init` returned.
    pub threads: u32,
    /// Whether the process has returned from `MPI_Finalize`.
    pub has_finalized: bool,
    /// How many calls it has begun.
    pub number: u64,
    /// How far it was after all else had been read, as in [`CallPage::progress`].
    pub progress: (u64, bool),
    /// Whether it is in a call now.
    pub is_inside: bool,
    /// That call, or the last one.
    pub call: Option<MpiCall>,
    /// The communicator of a collective call.
    pub communicator: Option<u16>,
    /// The root of a collective call, in its communicator.
    pub root: Option<Rank>,
    /// The messages that the call waits for.
    pub awaited: Vec<AwaitedMessage>,
    /// Whether it waits for something else, too.
    pub has_unknown: bool,
    /// What it sent last, the latest first.
    pub recent: Vec<AwaitedMessage>,
    /// Its collective calls, by communicator.
    pub collectives: Vec<CollectiveCount>,
    /// Receives from any rank, or of any tag.
    pub wild: u32,
    /// Messages sent, and wanted.
    pub sent: MessageCounts,
    /// See `sent`.
    pub wanted: MessageCounts,
}

/// A communicator of the page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedCommunicator {
    /// Whether all its members know it by this number.
    pub is_certain: bool,
    /// Its members, as ranks of `MPI_COMM_WORLD`; empty if that is not known.
    pub members: Vec<Rank>,
}

impl RecordedCall {
    /// The collective calls on a communicator. `None` if others are counted at their place.
    pub fn collectives_on(&self, communicator: u16) -> Option<CollectiveCount> {
        let is_its = |count: &&CollectiveCount| usize::from(count.communicator) % COUNTED == usize::from(communicator) % COUNTED;
        match self.collectives.iter().find(is_its) {
            Some(count) => Some(*count).filter(|count| count.communicator == communicator),
            None => Some(CollectiveCount { communicator, number: 0, last: 0 }),
        }
    }
}

impl CallPage {
    /// How far each thread is: its process and number, its calls, and whether it is in one.
    pub fn progress(&self) -> Vec<(u32, ThreadId, u64, bool)> {
        let of = |slot: &CallSlot| {
            let (number, is_inside) = slot.progress();
            (slot.process.load(Relaxed), slot.thread.load(Relaxed), number, is_inside)
        };
        self.taken().map(of).collect()
    }

    /// Reads all slots. A slot whose thread moves meanwhile may be read partly before and partly after: its
    /// [`RecordedCall::progress`] is then not the one of before.
    pub fn calls(&self) -> Vec<RecordedCall> {
        self.taken().map(CallSlot::read).collect()
    }

    /// A communicator but the one of all ranks.
    pub fn read_communicator(&self, number: u16) -> Option<RecordedCommunicator> {
        let slot = self.0.communicators.get(usize::from(number)).filter(|_| usize::from(number) < COMMUNICATORS)?;
        let size = slot.size.load(Acquire) as usize;
        let is_member = |rank: &Rank| slot.members[*rank as usize / 64].load(Relaxed) & 1 << (rank % 64) != 0;
        let members: Vec<Rank> = (0..super::MOST_MEMBERS as Rank).filter(is_member).collect();
        let members = if members.len() == size { members } else { Vec::new() };
        (size > 0).then(|| RecordedCommunicator { is_certain: slot.is_certain.load(Relaxed) != 0, members })
    }
}

impl CallSlot {
    /// A number that grows with each call and with the end of `MPI_Finalize`, and whether it is in a call.
    fn progress(&self) -> (u64, bool) {
        let number = self.number.load(Relaxed) * 2 + u64::from(self.has_finalized.load(Relaxed));
        (number, self.doing.load(Relaxed) & INSIDE != 0)
    }

    fn read(&self) -> RecordedCall {
        let mut call = self.read_fields();
        fence(Acquire);
        call.progress = self.progress();
        call
    }

    fn read_fields(&self) -> RecordedCall {
        let (doing, rank) = (self.doing.load(Relaxed), self.rank.load(Acquire));
        let size = self.size.load(Relaxed);
        let part = |from: u32| (doing >> from & 0xffff).checked_sub(1);
        let stored = (doing >> 8 & 0xff).min(AWAITED as u64) as usize;
        let words = |places: &mut dyn Iterator<Item = u64>| places.filter_map(AwaitedMessage::of_word).collect();
        let sends = self.sends.load(Relaxed);
        let of_ring = |ago: u64| self.recent[sends.saturating_sub(ago) as usize % RECENT].load(Relaxed);
        let counted = |[count, last]: &[core::sync::atomic::AtomicU64; 2]| {
            let count = count.load(Relaxed);
            let communicator = (count >> 48).checked_sub(1)? as u16;
            Some(CollectiveCount { communicator, number: count & ((1 << 48) - 1), last: last.load(Relaxed) })
        };
        RecordedCall {
            process: self.process.load(Relaxed),
            thread: self.thread.load(Relaxed),
            rank: (rank != NO_RANK).then_some(rank),
            size,
            level: self.level.load(Relaxed),
            threads: self.threads.load(Relaxed),
            has_finalized: self.has_finalized.load(Acquire) != 0,
            number: self.number.load(Relaxed),
            progress: (0, false),
            is_inside: doing & INSIDE != 0,
            call: (doing != 0).then(|| MpiCall::of_number(doing as u8)).flatten(),
            communicator: part(16).map(|number| number as u16),
            root: part(32).map(|root| root as Rank),
            awaited: words(&mut self.awaited[..stored].iter().map(|word| word.load(Relaxed))),
            has_unknown: doing & UNKNOWN != 0,
            recent: words(&mut (1..=sends.min(RECENT as u64)).map(of_ring)),
            collectives: self.collectives.iter().filter_map(counted).collect(),
            wild: self.wild.load(Relaxed),
            sent: MessageCounts::read(&self.sent, size as usize),
            wanted: MessageCounts::read(&self.wanted, size as usize),
        }
    }
}
