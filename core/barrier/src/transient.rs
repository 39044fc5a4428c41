//! A central barrier that may be destroyed as soon as one thread has returned from a wait, while others are
//! still leaving, as POSIX allows with `pthread_barrier_destroy`.
//!
//! A leaving thread increments a counter and does not touch the barrier after that. The thread that destroys
//! the barrier waits until all threads that have arrived have also left (race 10 in `README.md`).
use crate::{Arrival, Central};
use foregather_machine::{Cpu, Error, VALUE_MASK, WaitContext};
use foregather_wait::{Policy, WaitFor, Waiter};

/// A barrier for any threads, over words that the program owns.
pub struct Transient<'g, C: Cpu> {
    central: Central<'g, C>,
    left: &'g C::Word,
}

impl<'g, C: Cpu> Transient<'g, C> {
    /// Creates a view of the barrier `central`; `left`, initially 0, counts the threads that have left.
    pub fn over(central: Central<'g, C>, left: &'g C::Word) -> Self {
        Self { central, left }
    }

    /// Waits until all threads of an episode have arrived. Returns true for the last one.
    ///
    /// # Errors
    /// If the wait can no longer succeed: a lost peer.
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

    /// Waits until all `tickets` threads that have ever arrived have left. The memory can then be freed. All
    /// episodes must be complete.
    ///
    /// # Errors
    /// As [`Transient::meet`].
    pub async fn dissolve(&self, cpu: &C, tickets: u64) -> Result<(), Error> {
        let all = tickets as u32 & VALUE_MASK;
        let out = || (cpu.load(self.left) == all).then_some(());
        Policy::Block.wait(cpu, self.left, WaitContext::new("barrier that is destroyed", 0), out).await.map(drop)
    }
}
