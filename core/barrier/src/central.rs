//! The central barrier: one counter of arrivals, one epoch word on which the others wait.
//!
//! It is the sense-reversing barrier with the whole epoch in place of its last bit, so a waiter needs no sense of its
//! own and an error message can name the episode. Two members share one line, since each of them writes it once an
//! episode anyway; with more members the late arrivals would take the line away from those who watch the epoch.
use crate::Line;
use foregather_machine::Cpu;

/// How many members fare best on one line.
const SHARE_A_LINE: u32 = 2;

/// The words of one central barrier. `near` holds the epoch, and the counter of a pair; `far` a larger group's counter.
pub(crate) struct Central<C: Cpu> {
    near: Line<[C::Word; 2]>,
    far: Line<C::Word>,
    size: u32,
}

impl<C: Cpu> Central<C> {
    pub(crate) fn new(size: u32) -> Self {
        Self { near: Line::default(), far: Line::default(), size }
    }

    #[inline]
    fn count(&self) -> &C::Word {
        if self.size <= SHARE_A_LINE { &self.near[1] } else { &self.far }
    }

    #[inline]
    pub(crate) fn epoch(&self) -> &C::Word {
        &self.near[0]
    }

    /// Arrives; the last to do so releases the others into epoch `next`, and has nothing to wait for.
    #[inline]
    pub(crate) fn arrive(&self, cpu: &C, next: u32) -> bool {
        let last = cpu.add(self.count(), 1) == self.size - 1;
        if last {
            cpu.note(self.count(), 0);
            cpu.store(self.epoch(), next);
        }
        last
    }

    /// Has the epoch gone on from `episode`?
    #[inline]
    pub(crate) fn released(&self, cpu: &C, episode: u32) -> Option<()> {
        (cpu.load(self.epoch()) != episode).then_some(())
    }
}
