//! Threads that change their queue while they wait: pulled by processors that are about to be idle, given to those that
//! are, and moved between busy ones now and then, by what queues weigh.
use super::fair::Fair;
use super::queue::QueuePosition;
use crate::smp::machine::Machine;
use foregather_machine::{CpuId, Nanos};

/// A queue must weigh more than this to weigh more by much (`imbalance_pct`).
const IMBALANCE_PERCENT: u64 = 117;

/// So often in a row nothing small enough may be found, before what is twice as heavy is small enough, and four times, and so on. Linux
/// doubles at each failure; that it is two makes the time between two such moves an odd number of ticks, so that it is not always the
/// same thread that waits then.
const PATIENCE: u32 = 2;

/// After so many doublings any thread is small enough.
const MOST_DOUBLINGS: u32 = 24;

impl Fair {
    /// What those weigh that run or could.
    fn load(&self, cpu: CpuId) -> u64 {
        let awake = |thread: &&u32| self.entities[**thread as usize].place == QueuePosition::Queued;
        self.queues[cpu as usize].members.iter().filter(awake).map(|&thread| self.entities[thread as usize].weight).sum()
    }

    /// Of one processor's waiting threads of at most that weight the one that another may take, the longest waiting first. One that has
    /// had more than its share waits on, unless nobody else is there: it would not run sooner, and never if it were moved all the time.
    /// One that ran a moment ago has warm caches and stays: threads that yield to each other are never moved apart.
    fn movable(&self, machine: &Machine, from: CpuId, to: CpuId, most: u64) -> Option<u32> {
        let queue = &self.queues[from as usize];
        let empty = self.queues[to as usize].members.is_empty();
        let free = |&thread: &u32| {
            let (entity, it) = (&self.entities[thread as usize], machine.thread(thread));
            let waits = entity.place == QueuePosition::Queued && !it.held && (empty || queue.eligible(entity));
            let may = machine.allows(thread, to) && !self.limits.throttled(entity.group, to);
            waits && may && entity.weight <= most && entity.cold_from <= machine.now
        };
        let waiting = queue.members.iter().copied().filter(free);
        waiting.min_by_key(|&thread| self.entities[thread as usize].cold_from)
    }

    /// Moves a thread to a processor, from the heaviest queue of two threads or more from which one can be moved that is no heavier than
    /// `most` says of the two queues' weights.
    fn pull(&mut self, machine: &mut Machine, to: CpuId, most: impl Fn(u64, u64) -> u64) -> Option<u32> {
        let own = self.load(to);
        let mut best: Option<(u64, u32)> = None;
        for from in machine.cpus().filter(|&from| from != to) {
            let load = self.load(from);
            if self.queues[from as usize].runnable() >= 2 && best.is_none_or(|(heaviest, _)| load > heaviest) {
                self.update(machine, from);
                let thread = self.movable(machine, from, to, most(load, own));
                best = thread.map(|thread| (load, thread)).or(best);
            }
        }
        let (_, thread) = best?;
        self.dequeue(machine, thread, QueuePosition::Queued);
        self.enqueue(machine, to, thread);
        Some(thread)
    }

    /// A processor that would be idle looks for a thread elsewhere that has waited for a while.
    pub(super) fn pull_when_idle(&mut self, machine: &mut Machine, cpu: CpuId) -> bool {
        self.pull(machine, cpu, |_, _| u64::MAX).is_some()
    }

    /// Once a tick: a thread for every idle processor. Now and then one for every busy one, from a queue that weighs more: so small
    /// a thread that it weighs no less afterwards, or, after it was looked for in vain, a larger one, so that three threads
    /// on two processors take turns. The first processor that sees the tick acts for all: on those that have seen it, threads that change
    /// places can not be moved.
    pub(super) fn balance(&mut self, machine: &mut Machine) {
        let interval = self.rules.balance_interval;
        if interval == Nanos::ZERO || self.balanced == machine.now || self.queues.iter().all(|queue| queue.runnable() < 2) {
            return;
        }
        self.balanced = machine.now;
        for cpu in machine.cpus() {
            if self.is_idle(machine, cpu)
                && let Some(thread) = self.pull(machine, cpu, |_, _| u64::MAX)
            {
                self.preempt(machine, thread);
            }
        }
        if self.balance_at <= machine.now {
            self.balance_at = machine.now + interval;
            self.even_out(machine);
        }
    }

    /// A thread for every busy processor from a heavier queue, if one is small enough, the lightest first. A larger one is given to one only,
    /// or the next would take it back.
    fn even_out(&mut self, machine: &mut Machine) {
        let doublings = (self.failures / PATIENCE).min(MOST_DOUBLINGS);
        let small = |load: u64, own: u64| {
            let much = u128::from(load) * 100 > u128::from(own) * u128::from(IMBALANCE_PERCENT);
            if much { ((load - own) / 2) << doublings } else { 0 }
        };
        let mut lightest_first: Vec<CpuId> = machine.cpus().collect();
        lightest_first.sort_by_key(|&cpu| self.load(cpu));
        let most = if doublings == 0 { lightest_first.len() } else { 1 };
        let mut moved = 0;
        for cpu in lightest_first {
            if moved < most
                && let Some(thread) = self.pull(machine, cpu, small)
            {
                self.preempt(machine, thread);
                moved += 1;
            }
        }
        self.failures = if moved > 0 { 0 } else { self.failures + 1 };
    }
}
