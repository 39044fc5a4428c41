//! The central barrier: one counter of arrivals, one epoch word on which the others wait.
//!
//! It is the sense-reversing barrier with the whole epoch in place of its last bit, so a waiter needs no sense of its
//! own and an error message can name the episode. Two members share one line, since each of them writes it once an
//! episode anyway; with more members the late arrivals would take the line away from those who watch the epoch.
use foregather_machine::{Cpu, WordLine};

/// How many members fare best on one line.
const SHARE_A_LINE: u32 = 2;

/// Lines that one takes: the first holds the epoch, and the counter of a pair; the second a larger group's counter.
pub(crate) const LINES: usize = 2;

/// The words of one central barrier, as a member finds them.
pub(crate) struct Central<'g, C: Cpu> {
    epoch: &'g C::Word,
    count: &'g C::Word,
    size: u32,
}

impl<'g, C: Cpu> Central<'g, C> {
    /// Over [`LINES`] lines.
    pub(crate) fn over(lines: &'g [WordLine<C::Word>], size: u32) -> Self {
        let count = if size <= SHARE_A_LINE { &lines[0][1] } else { &lines[1][0] };
        Self { epoch: &lines[0][0], count, size }
    }

    #[inline]
    pub(crate) fn epoch(&self) -> &'g C::Word {
        self.epoch
    }

    /// Arrives; the last to do so releases the others into epoch `next`, and has nothing to wait for.
    #[inline]
    pub(crate) fn arrive(&self, cpu: &C, next: u32) -> bool {
        let last = cpu.fetch_add(self.count, 1) == self.size - 1;
        if last {
            cpu.store(self.count, 0);
            cpu.publish(self.epoch, next);
        }
        last
    }

    /// Has the epoch gone on from `episode`?
    #[inline]
    pub(crate) fn released(&self, cpu: &C, episode: u32) -> Option<()> {
        (cpu.load(self.epoch) != episode).then_some(())
    }
}
