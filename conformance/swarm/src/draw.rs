//! Draws: one number decides all that a run leaves to chance.
use foregather_machine::{Nanos, SplitMix};
use std::ops::RangeInclusive;

/// A stream of decisions.
#[derive(Clone, Debug)]
pub(crate) struct Draw(SplitMix);

impl Draw {
    /// The decisions of one subject's run by one seed.
    pub(crate) fn new(seed: u64, subject: &str) -> Self {
        let mixed = subject.bytes().fold(seed, |mixed, byte| SplitMix::mix(mixed ^ u64::from(byte) << 17).wrapping_add(seed));
        Self(SplitMix(mixed))
    }

    /// A stream for one thread: its decisions do not depend on the order in which threads run.
    pub(crate) fn for_thread(seed: u64, thread: u32) -> Self {
        Self(SplitMix(SplitMix::mix(seed ^ u64::from(thread + 1) << 40)))
    }

    /// A seed for something else.
    pub(crate) fn seed(&mut self) -> u64 {
        self.0.next()
    }

    /// A number below `n`, uniform.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0.below(n.max(1))
    }

    /// A number within a range, uniform.
    pub(crate) fn within(&mut self, range: RangeInclusive<u32>) -> u32 {
        range.start() + self.below(u64::from(range.end() - range.start()) + 1) as u32
    }

    /// Yes, once in that many times.
    pub(crate) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// One of these.
    pub(crate) fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize].clone()
    }

    /// A span below `most`, often a much shorter one, now and then none.
    pub(crate) fn span(&mut self, most: Nanos) -> Nanos {
        let most = most.0 >> self.below(8);
        Nanos(if self.one_in(4) { 0 } else { self.below(most) })
    }

    /// A number of bytes up to `most`, most often few.
    pub(crate) fn bytes(&mut self, most: usize) -> usize {
        let scale = [8, 64, 600, most][self.below(4) as usize].min(most);
        self.below(scale as u64 + 1) as usize
    }
}
