//! The central barrier: a counter of tickets, and one epoch word on which the others wait.
//!
//! Arriving takes a ticket. Tickets are dealt out to meetings in order, `size` to each, so the ticket alone
//! says in which meeting a thread has arrived and whether it was the last: no rank is needed, and any number
//! of threads may take turns. The last adds 1 to the epoch, which counts the meetings that are over. Two
//! members share one line, since each of them writes it once a meeting anyway; with more members the late
//! arrivals would take the line away from the members that watch the epoch.
use foregather_machine::{CounterOf, Cpu, VALUE_MASK, WordLine};

/// The most members that fare best on one line.
const SHARE_A_LINE: u32 = 2;

/// An epoch ahead of a meeting by at most this has ended it; other epochs are before it.
const HALF: u32 = VALUE_MASK >> 1;

/// One central barrier, as a member finds it in its lines.
pub struct Central<'g, C: Cpu> {
    epoch: &'g C::Word,
    tickets: &'g CounterOf<C>,
    size: u32,
}

/// The meaning of a ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The number of the meeting, from 0 on.
    pub meeting: u64,
    /// Was it the last to arrive? Then it has released the others, and need not wait.
    pub is_last: bool,
}

impl<'g, C: Cpu> Central<'g, C> {
    /// Lines that a barrier takes: the first holds the epoch, and the tickets of a pair; the second the
    /// tickets of a larger group.
    pub const LINES: usize = 2;

    /// A barrier over [`Central::LINES`] lines, for meetings of `size` threads.
    #[inline]
    pub fn over(lines: &'g [WordLine<C::Word>], size: u32) -> Self {
        let tickets = if size <= SHARE_A_LINE { lines[0].counter() } else { lines[1].counter() };
        Self { epoch: &lines[0][0], tickets, size }
    }

    /// A barrier over an epoch and a counter of tickets that are 0 at first, for meetings of `size` threads.
    pub fn of(epoch: &'g C::Word, tickets: &'g CounterOf<C>, size: u32) -> Self {
        Self { epoch, tickets, size }
    }

    /// The number of threads that wait for each other.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// The word on which the threads that have arrived wait.
    #[inline]
    pub fn epoch(&self) -> &'g C::Word {
        self.epoch
    }

    /// The counter of all tickets ever taken.
    pub fn tickets(&self) -> &'g CounterOf<C> {
        self.tickets
    }

    /// The calling thread arrives, with or without a rank.
    pub fn arrive(&self, cpu: &C) -> Arrival {
        self.arrive_near(cpu, 0)
    }

    /// [`Central::arrive`] for a thread that expects to arrive in `meeting`: if it does, no division is
    /// needed.
    #[inline]
    pub(crate) fn arrive_near(&self, cpu: &C, meeting: u64) -> Arrival {
        let (ticket, size) = (cpu.take_ticket(self.tickets), u64::from(self.size));
        let within = ticket.wrapping_sub(meeting.wrapping_mul(size));
        let (meeting, place) = if within < size { (meeting, within) } else { (ticket / size, ticket % size) };
        let is_last = place == size - 1;
        if is_last {
            self.release(cpu);
        }
        Arrival { meeting, is_last }
    }

    /// A member that knows its meeting, since it arrives once in each, arrives: was it the last, which then
    /// calls [`Central::release`]?
    #[inline]
    pub(crate) fn arrive_in(&self, cpu: &C, meeting: u64) -> bool {
        let (ticket, size) = (cpu.take_ticket(self.tickets), u64::from(self.size));
        ticket == meeting.wrapping_mul(size).wrapping_add(size - 1)
    }

    /// The meeting is over. Adds, since two meetings may end at once: a sum does not depend on the order in
    /// which their last threads add.
    #[inline]
    pub(crate) fn release(&self, cpu: &C) {
        cpu.fetch_add(self.epoch, 1);
    }

    /// Is the meeting over?
    #[inline]
    pub fn released(&self, cpu: &C, meeting: u64) -> Option<()> {
        let ahead = cpu.load(self.epoch).wrapping_sub(meeting as u32) & VALUE_MASK;
        (ahead.wrapping_sub(1) < HALF).then_some(())
    }
}
