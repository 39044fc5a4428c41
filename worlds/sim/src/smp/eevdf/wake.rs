//! Woken threads: where they are put, and whether they run at once.
use super::fair::Fair;
use super::queue::QueuePosition;
use super::rules::{Placement, Preemption};
use super::weights::virtual_span;
use crate::smp::machine::{Machine, NOBODY};
use foregather_machine::CpuId;

impl Fair {
    /// A thread wakes; `by` is its waker's processor.
    pub(super) fn wake(&mut self, machine: &mut Machine, thread: u32, by: Option<CpuId>) {
        let entity = &self.entities[thread as usize];
        if entity.place == QueuePosition::Dozing {
            self.rouse(machine, thread);
        } else {
            self.shares.enter(entity.group, entity.own_weight);
            let cpu = self.place(machine, thread, by);
            self.enqueue(machine, cpu, thread);
        }
        if self.entities[thread as usize].place == QueuePosition::Queued {
            self.preempt(machine, thread);
        }
    }

    /// A thread that only dozed goes on where it is, with its debt. If it has slept the debt off, it begins
    /// again: a lag in its favour is void.
    pub(super) fn rouse(&mut self, machine: &Machine, thread: u32) {
        let cpu = self.entities[thread as usize].cpu;
        self.update(machine, cpu);
        let (entity, queue) = (&mut self.entities[thread as usize], &mut self.queues[cpu as usize]);
        queue.dozing -= 1;
        entity.place = QueuePosition::Queued;
        let owed = queue.average() - entity.had;
        if owed > 0 {
            queue.advance(entity, owed);
            entity.deadline = entity.had + virtual_span(entity.slice, entity.weight);
        }
    }

    /// No thread runs there, and none that could.
    pub(super) fn is_idle(&self, machine: &Machine, cpu: CpuId) -> bool {
        machine.cpu(cpu).current == NOBODY && self.queues[cpu as usize].members.is_empty()
    }

    /// The processor that a woken thread goes to. Threads that were put somewhere a moment ago count: no two
    /// get the same idle processor.
    pub(super) fn place(&self, machine: &Machine, thread: u32, by: Option<CpuId>) -> CpuId {
        let it = machine.thread(thread);
        let own = it.confined.unwrap_or(it.cpu);
        if self.rules.placement == Placement::Stay {
            return own;
        }
        let mut from_own = (own..machine.cpus().end).chain(0..own);
        let idle = from_own.find(|&cpu| machine.allows(thread, cpu) && self.is_idle(machine, cpu));
        let busy = match self.rules.placement {
            Placement::Packing => by.filter(|&cpu| machine.allows(thread, cpu)).unwrap_or(own),
            Placement::Stay | Placement::IdleScan => own,
        };
        idle.unwrap_or(busy)
    }

    /// A thread has joined a queue: an idle processor takes it, and a busy one if it would choose it now.
    pub(super) fn preempt(&mut self, machine: &mut Machine, thread: u32) {
        let cpu = self.entities[thread as usize].cpu;
        let processor = machine.cpu(cpu);
        let (present, marked) = (processor.current, processor.marked);
        let wins = |fair: &Self| fair.queues[cpu as usize].pick(&fair.entities, Some(present)) == Some(thread);
        if marked {
        } else if present != NOBODY && self.rules.lazy_preemption {
            self.queues[cpu as usize].put_off |= self.rules.wakeup_preemption && wins(self);
        } else if present != NOBODY && self.rules.preemption == Preemption::Lazy {
            let over = self.is_over(machine, cpu);
            // The waker's own system call returns to user mode at this moment.
            match over || self.rules.wakeup_preemption && wins(self) {
                true if machine.actor == present => machine.mark(cpu),
                preempts => self.queues[cpu as usize].put_off |= preempts,
            }
        } else if present == NOBODY || self.is_over(machine, cpu) || self.rules.wakeup_preemption && wins(self) {
            machine.mark(cpu);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smp::dispatch::Dispatch;
    use crate::smp::eevdf::Eevdf;
    use crate::smp::machine::{Life, ThreadSpec};
    use crate::smp::{MachineSpec, Record, Scheduler};

    /// The processors that sleepers go to if they are woken in one go, and have all run last on processor 1
    /// of 4.
    fn woken(placement: Placement, sleepers: u32) -> Vec<CpuId> {
        let rules = Eevdf { placement, ..Eevdf::LINUX };
        let spec = MachineSpec { cpus: 4, scheduler: Scheduler::Eevdf(rules.clone()), ..MachineSpec::tsafrir2002() };
        let mut machine = Machine::new(spec.hardware(), &vec![ThreadSpec::default(); sleepers as usize], 1, Record::NOTHING);
        let mut fair = Fair::new(&rules, &machine);
        let threads: Vec<u32> = (0..sleepers).collect();
        for &thread in &threads {
            machine.threads[thread as usize].cpu = 1;
            machine.enter(thread, Life::Blocked);
            machine.enter(thread, Life::Ready);
        }
        fair.woken(&mut machine, &threads, Some(3));
        assert_eq!(machine.counts.duplicate_marks, 0);
        fair.entities.iter().map(|entity| entity.cpu).collect()
    }

    /// The flaw of Linux 2.4 (Tsafrir & Feitelson 2002 appendix A) is gone: an idle processor is promised to
    /// one thread only.
    #[test]
    fn threads_woken_at_once_share_out_the_idle_processors() {
        assert_eq!(woken(Placement::IdleScan, 6), [1, 2, 3, 0, 1, 1]);
        assert_eq!(woken(Placement::Packing, 6), [1, 2, 3, 0, 3, 3]);
        assert_eq!(woken(Placement::Stay, 3), [1, 1, 1]);
    }
}
