//! A central barrier whose memory may go away as soon as one thread is back from a wait, while the others are
//! still on their way out: what POSIX allows with `pthread_barrier_destroy`.
//!
//! A thread counts itself out, and touches nothing of the barrier after that; the thread that destroys it
//! waits until as many are out as have come (race 10 in `README.md`).
use crate::{Arrival, Central};
use foregather_machine::{Cpu, Error, VALUE_MASK, WaitContext};
use foregather_wait::{Policy, WaitFor, Waiter};

/// A barrier for any threads, over words of the program's own.
pub struct Transient<'g, C: Cpu> {
    central: Central<'g, C>,
    left: &'g C::Word,
}

impl<'g, C: Cpu> Transient<'g, C> {
    /// The barrier `central`, whose threads count themselves out at `left`, which is 0 at first.
    pub fn over(central: Central<'g, C>, left: &'g C::Word) -> Self {
        Self { central, left }
    }

    /// Waits until all threads of a meeting have come. True for the last one.
    ///
    /// # Errors
    /// When the wait can no longer succeed: a lost peer.
    pub async fn meet(&self, cpu: &C, waiter: &Waiter) -> Result<bool, Error> {
        let Arrival { meeting, is_last } = self.central.arrive(cpu);
        if is_last {
            waiter.came_last();
        } else {
            let why = || (WaitContext::new("barrier", 0), WaitFor::Unseen(self.central.size()));
            waiter.wait(cpu, self.central.epoch(), false, why, || self.central.released(cpu, meeting)).finish().await?;
        }
        cpu.add_last(self.left, 1);
        Ok(is_last)
    }

    /// Waits until all threads that have ever come, `tickets` of them, are out: then the memory can go. All
    /// their meetings must be over.
    ///
    /// # Errors
    /// As [`Transient::meet`].
    pub async fn dissolve(&self, cpu: &C, tickets: u64) -> Result<(), Error> {
        let all = tickets as u32 & VALUE_MASK;
        let out = || (cpu.load(self.left) == all).then_some(());
        Policy::Block.wait(cpu, self.left, WaitContext::new("barrier that is destroyed", 0), out).await.map(drop)
    }
}
