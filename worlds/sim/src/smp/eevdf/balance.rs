//! Threads that change their queue while they wait: pulled by processors that are about to be idle, pushed to those that
//! are, and moved between busy ones now and then.
//!
//! Lengths of queues are compared, not loads: a queue of light threads counts like one of heavy ones.
use super::fair::Fair;
use super::queue::Place;
use crate::smp::machine::Machine;
use foregather_machine::CpuId;

impl Fair {
    /// Of one processor's waiting threads the one that another may take, the longest waiting first. One that has had more
    /// than its share waits on, unless nobody else is there: it would not run sooner, and never if it were moved all the time.
    fn movable(&self, machine: &Machine, from: CpuId, to: CpuId, warm_too: bool) -> Option<u32> {
        let queue = &self.queues[from as usize];
        let empty = self.queues[to as usize].members.is_empty();
        let free = |&thread: &u32| {
            let (entity, it) = (&self.entities[thread as usize], machine.thread(thread));
            let waits = entity.place == Place::Queued && !it.held && (empty || queue.eligible(entity));
            let may = machine.allows(thread, to) && !self.limits.throttled(entity.group, to);
            waits && may && (warm_too || entity.cold_from <= machine.now)
        };
        let waiting = queue.members.iter().copied().filter(free);
        waiting.min_by_key(|&thread| self.entities[thread as usize].cold_from)
    }

    /// Moves a thread to a processor, from the longest queue of at least that length.
    fn pull(&mut self, machine: &mut Machine, to: CpuId, least: usize, warm_too: bool) -> Option<u32> {
        let mut best: Option<(usize, u32)> = None;
        for from in machine.cpus().filter(|&from| from != to) {
            let length = self.queues[from as usize].runnable();
            if length >= least && best.is_none_or(|(longest, _)| length > longest) {
                let thread = self.movable(machine, from, to, warm_too);
                best = thread.map(|thread| (length, thread)).or(best);
            }
        }
        let (_, thread) = best?;
        self.carry(machine, thread, to);
        Some(thread)
    }

    fn carry(&mut self, machine: &mut Machine, thread: u32, to: CpuId) {
        self.dequeue(machine, thread, Place::Queued);
        self.enqueue(machine, to, thread);
    }

    /// A processor that would be idle looks for a thread elsewhere that has waited for a while.
    pub(super) fn pull_when_idle(&mut self, machine: &mut Machine, cpu: CpuId) -> bool {
        self.pull(machine, cpu, 2, false).is_some()
    }

    /// At a tick: one thread for an idle processor, and now and then one from a queue that is longer by two.
    pub(super) fn balance(&mut self, machine: &mut Machine, cpu: CpuId) {
        let interval = self.rules.balance_interval;
        if interval.0 == 0 {
            return;
        }
        if self.queues[cpu as usize].runnable() > 1 {
            let mut idle = machine.cpus().filter(|&to| self.is_idle(machine, to));
            let pair = idle.find_map(|to| self.movable(machine, cpu, to, true).map(|thread| (thread, to)));
            if let Some((thread, to)) = pair {
                self.carry(machine, thread, to);
                self.preempt(machine, thread);
            }
        }
        if self.queues[cpu as usize].balance_at <= machine.now {
            self.queues[cpu as usize].balance_at = machine.now + interval;
            let least = self.queues[cpu as usize].runnable() + 2;
            if let Some(thread) = self.pull(machine, cpu, least, true) {
                self.preempt(machine, thread);
            }
        }
    }
}
