//! The central barrier: a ticket counter, and one epoch word on which members wait.
//!
//! An arriving thread takes a ticket. Each `size` consecutive tickets form one episode, so the ticket alone
//! determines the episode and whether the thread is the last to arrive. No rank is needed, and more than
//! `size` threads may use the barrier in turn. The last adds 1 to the epoch, which counts the completed
//! episodes. In a barrier of two, both words share one cache line, because each member writes to the line
//! once per episode anyway. With more members, they are on separate lines; otherwise each arrival would take
//! the line away from the members that watch the epoch.
use foregather_machine::{CounterOf, Cpu, VALUE_MASK, WordLine};

/// The maximum size for which a single cache line is faster.
const SHARE_A_LINE: u32 = 2;

/// An episode is complete if the epoch is ahead of it by 1 to this number. Any other epoch is before the end
/// of the episode.
const HALF: u32 = VALUE_MASK >> 1;

/// A view of a central barrier in shared cache lines.
pub struct Central<'g, C: Cpu> {
    epoch: &'g C::Word,
    tickets: &'g CounterOf<C>,
    size: u32,
}

/// The result of arriving: the episode, and whether the caller arrived last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The number of the episode, from 0.
    pub meeting: u64,
    /// Whether the caller arrived last. It has then already released the others and need not wait.
    pub is_last: bool,
}

impl<'g, C: Cpu> Central<'g, C> {
    /// The number of cache lines of a barrier. The first holds the epoch and, in a barrier of up to two, the
    /// tickets. The second holds the tickets of a larger barrier.
    pub const LINES: usize = 2;

    /// Creates a view of a barrier of `size` threads in [`Central::LINES`] lines.
    #[inline]
    pub fn over(lines: &'g [WordLine<C::Word>], size: u32) -> Self {
        let tickets = if size <= SHARE_A_LINE { lines[0].counter() } else { lines[1].counter() };
        Self { epoch: &lines[0][0], tickets, size }
    }

    /// Creates a view of a barrier of `size` threads over an epoch and a ticket counter, both initially 0.
    pub fn of(epoch: &'g C::Word, tickets: &'g CounterOf<C>, size: u32) -> Self {
        Self { epoch, tickets, size }
    }

    /// Returns the number of threads that wait for each other.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Returns the word on which the threads that have arrived wait.
    #[inline]
    pub fn epoch(&self) -> &'g C::Word {
        self.epoch
    }

    /// Returns the counter of all tickets ever taken.
    pub fn tickets(&self) -> &'g CounterOf<C> {
        self.tickets
    }

    /// Arrives on behalf of the calling thread, which needs no rank.
    pub fn arrive(&self, cpu: &C) -> Arrival {
        self.arrive_near(cpu, 0)
    }

    /// Arrives like [`Central::arrive`]. If the thread arrives in the expected episode, `meeting`, no
    /// division is needed.
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

    /// Arrives as a member that takes part in every episode. Returns whether it is the last; it must then
    /// call [`Central::release`].
    #[inline]
    pub(crate) fn arrive_in(&self, cpu: &C, meeting: u64) -> bool {
        let (ticket, size) = (cpu.take_ticket(self.tickets), u64::from(self.size));
        ticket == meeting.wrapping_mul(size).wrapping_add(size - 1)
    }

    /// Completes the episode. It adds instead of storing because two episodes may complete at once: a sum
    /// does not depend on the order in which their last threads add.
    #[inline]
    pub(crate) fn release(&self, cpu: &C) {
        cpu.fetch_add(self.epoch, 1);
    }

    /// Returns `Some(())` if episode `meeting` is complete.
    #[inline]
    pub fn released(&self, cpu: &C, meeting: u64) -> Option<()> {
        let ahead = cpu.load(self.epoch).wrapping_sub(meeting as u32) & VALUE_MASK;
        (ahead.wrapping_sub(1) < HALF).then_some(())
    }
}
