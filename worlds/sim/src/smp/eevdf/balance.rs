//! Threads that change their queue while they wait: pulled by processors that are about to be idle, given to those that
//! are, and moved between busy ones now and then.
//!
//! Lengths of queues are compared, not loads: a queue of light threads counts like one of heavy ones.
use super::fair::Fair;
use super::queue::QueuePosition;
use crate::smp::machine::Machine;
use foregather_machine::{CpuId, Nanos};

/// Linux has to fail to find a load that is small enough before it moves one that is too large. Every third time, and an odd
/// number of ticks, so that it is not always the same thread that waits then.
const SLIGHTLY_EVERY: u64 = 3;

/// A queue must be longer than this to be longer by much (`imbalance_pct`).
const IMBALANCE_PERCENT: usize = 117;

impl Fair {
    /// Of one processor's waiting threads the one that another may take, the longest waiting first. One that has had more
    /// than its share waits on, unless nobody else is there: it would not run sooner, and never if it were moved all the time.
    /// One that ran a moment ago has warm caches and stays: threads that yield to each other are never moved apart.
    fn movable(&self, machine: &Machine, from: CpuId, to: CpuId) -> Option<u32> {
        let queue = &self.queues[from as usize];
        let empty = self.queues[to as usize].members.is_empty();
        let free = |&thread: &u32| {
            let (entity, it) = (&self.entities[thread as usize], machine.thread(thread));
            let waits = entity.place == QueuePosition::Queued && !it.held && (empty || queue.eligible(entity));
            let may = machine.allows(thread, to) && !self.limits.throttled(entity.group, to);
            waits && may && entity.cold_from <= machine.now
        };
        let waiting = queue.members.iter().copied().filter(free);
        waiting.min_by_key(|&thread| self.entities[thread as usize].cold_from)
    }

    /// Moves a thread to a processor, from the longest queue of at least that length, if it can be moved.
    fn pull(&mut self, machine: &mut Machine, to: CpuId, least: usize) -> Option<u32> {
        let mut best: Option<(usize, u32)> = None;
        for from in machine.cpus().filter(|&from| from != to) {
            let length = self.queues[from as usize].runnable();
            if length >= least && best.is_none_or(|(longest, _)| length > longest) {
                self.update(machine, from);
                let thread = self.movable(machine, from, to);
                best = thread.map(|thread| (length, thread)).or(best);
            }
        }
        let (_, thread) = best?;
        self.dequeue(machine, thread, QueuePosition::Queued);
        self.enqueue(machine, to, thread);
        Some(thread)
    }

    /// The same for a processor that has to be told.
    fn give(&mut self, machine: &mut Machine, to: CpuId, least: usize) {
        if let Some(thread) = self.pull(machine, to, least.max(2)) {
            self.preempt(machine, thread);
        }
    }

    /// A processor that would be idle looks for a thread elsewhere that has waited for a while.
    pub(super) fn pull_when_idle(&mut self, machine: &mut Machine, cpu: CpuId) -> bool {
        self.pull(machine, cpu, 2).is_some()
    }

    /// Once a tick: a thread for every idle processor. Now and then one for every busy one, from a queue that is longer by two;
    /// every third time by one, if that is much, so that three threads on two processors take turns. The first processor that
    /// sees the tick acts for all: on those that have seen it, threads that change places can not be moved.
    pub(super) fn balance(&mut self, machine: &mut Machine) {
        let interval = self.rules.balance_interval;
        if interval == Nanos::ZERO || self.balanced == machine.now || self.queues.iter().all(|queue| queue.runnable() < 2) {
            return;
        }
        self.balanced = machine.now;
        let all = self.balance_at <= machine.now;
        if all {
            self.balance_at = machine.now + interval;
            self.balances += 1;
        }
        for cpu in machine.cpus() {
            if all || self.is_idle(machine, cpu) {
                let least = self.queues[cpu as usize].runnable() + 2;
                self.give(machine, cpu, least);
            }
        }
        if all && self.balances.is_multiple_of(SLIGHTLY_EVERY) {
            self.even_out(machine);
        }
    }

    /// One thread to the shortest queue, if there is one that is longer by one and by much.
    fn even_out(&mut self, machine: &mut Machine) {
        let lengths = machine.cpus().map(|cpu| (self.queues[cpu as usize].runnable(), cpu));
        if let Some((length, cpu)) = lengths.min().filter(|(length, _)| 100 * (length + 1) > IMBALANCE_PERCENT * length) {
            self.give(machine, cpu, length + 1);
        }
    }
}
