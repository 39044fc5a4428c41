//! Where threads run, and moving them: the verbs of [`Placement`].
//!
//! Only under a scheduler with a queue for each processor can a thread be moved from one to another. Under
//! one queue for all, as under round robin and Linux 2.4, any processor takes the thread whose turn it is:
//! there no thread is movable, and every action is refused.
use super::cpu::{SmpCpu, nothing};
use super::kernel::Kernel;
use super::machine::{Life, Machine, Want};
use super::scout::ScoutReply;
use crate::event::Queue;
use foregather_machine::{Affinity, Costs, CpuId, Nanos, Park, Placement, ThreadId};

#[cfg(test)]
mod tests;

/// The fingerprint of threads that may run everywhere; the others' follow from their processors.
const FREE: u32 = 1;

impl Machine {
    /// This machine's processor of that number as programs count, if there is one.
    fn processor_called(&self, cpu: CpuId) -> Option<CpuId> {
        cpu.checked_sub(self.first.cpu).filter(|cpu| self.cpus().contains(cpu))
    }

    /// Returns whether the thread may run there, as its program sees it. A move in progress does not change
    /// this.
    fn may_ever(&self, thread: u32, cpu: CpuId) -> bool {
        let local = self.processor_called(cpu);
        local.is_some_and(|cpu| self.thread(thread).spec.allows(cpu))
    }

    fn affinity(&self, thread: u32, width: u32) -> Affinity {
        // Numbers of events are apart by more than the processors of a machine, so no two machines have the
        // same fingerprint.
        let (cpus, free) = (self.cpus().end, FREE + self.first.event);
        let beyond = self.first.cpu + cpus;
        let spec = &self.thread(thread).spec;
        let fingerprint = match spec.pins[..] {
            [pin] if cpus > 1 => free + 1 + pin,
            [] | [_] => free,
            // Machines that share one time have no such threads, so their numbers are free.
            _ => free + 1 + cpus + self.threads.iter().position(|other| other.spec.pins == spec.pins).unwrap_or(0) as u32,
        };
        let most = if spec.pins.is_empty() { cpus } else { spec.pins.len() as u32 };
        Affinity { fingerprint, width: width.min(most), beyond }
    }

    /// Asks the scout of that thread's process; the thread pays for it.
    fn ask_scout(&mut self, thread: u32, cpu: CpuId) -> bool {
        let (space, times) = (self.thread(thread).spec.space, (self.now, self.now + self.prices.wake_idle));
        let answer = self.scouts.ask(space, cpu, times, |cpu| self.processors[cpu as usize].idle);
        if answer == ScoutReply::Sent {
            self.threads[thread as usize].debt += self.prices.waker;
        }
        answer == ScoutReply::Idle
    }
}

impl Kernel {
    /// Brings a ready thread that no processor holds to the processor of a running one. A thread that moves,
    /// moves on.
    fn fetch(&mut self, thread: u32, by: u32) -> bool {
        let to = self.machine.thread(by).cpu;
        let it = self.machine.thread(thread);
        let movable = self.scheduler.moves() && it.life == Life::Ready && !it.held && self.machine.allows(thread, to);
        if movable {
            self.scheduler.fetched(&mut self.machine, thread, to);
        }
        movable
    }
}

impl<Q: Queue> SmpCpu<'_, Q> {
    /// The simulation's number of that thread. The question costs a look.
    fn look_at(&self, thread: ThreadId) -> Option<u32> {
        let machine = &mut self.kernel.borrow_mut().machine;
        machine.threads[self.thread as usize].debt += machine.prices.look;
        thread.checked_sub(1 + machine.first.thread).filter(|&number| (number as usize) < machine.threads.len())
    }
}

/// Ends a thread's confinement to where it moves, however the move ends.
struct Freeing<'m, 's, Q: Queue>(&'m SmpCpu<'s, Q>);

impl<Q: Queue> Drop for Freeing<'_, '_, Q> {
    fn drop(&mut self) {
        let it = &mut self.0.kernel.borrow_mut().machine.threads[self.0.thread as usize];
        it.confined = it.spec.pin();
    }
}

impl<Q: Queue> Placement for SmpCpu<'_, Q> {
    fn place(&self) -> Option<CpuId> {
        let machine = &self.kernel.borrow().machine;
        Some(machine.first.cpu + machine.thread(self.thread).cpu)
    }
    fn identity(&self) -> Option<ThreadId> {
        Some(self.kernel.borrow().machine.first.thread + self.thread + 1)
    }
    fn running(&self, thread: ThreadId) -> Option<bool> {
        let number = self.look_at(thread)?;
        let machine = &self.kernel.borrow_mut().machine;
        let it = machine.thread(number);
        // A thread to which a processor still switches does not run yet.
        Some(it.life == Life::Running && !machine.cpu(it.cpu).switching)
    }
    fn affinity(&self) -> Option<Affinity> {
        let Kernel { machine, scheduler, .. } = &*self.kernel.borrow_mut();
        scheduler.moves().then(|| machine.affinity(self.thread, scheduler.width(machine, self.thread)))
    }
    fn allows(&self, cpu: CpuId) -> bool {
        self.kernel.borrow_mut().machine.may_ever(self.thread, cpu)
    }
    fn idle(&self, cpu: CpuId) -> Option<bool> {
        let machine = &mut self.kernel.borrow_mut().machine;
        machine.processor_called(cpu).map(|cpu| machine.ask_scout(self.thread, cpu))
    }
    /// On an idle processor the thread runs after [`Prices::move_call`]; at a busy one it queues up.
    ///
    /// [`Prices::move_call`]: super::Prices::move_call
    async fn move_to(&self, cpu: CpuId) -> bool {
        if !self.kernel.borrow_mut().scheduler.moves() || !self.allows(cpu) {
            return false;
        }
        if self.place() != Some(cpu) {
            let _until_there = Freeing(self);
            let cpu = cpu - self.kernel.borrow().machine.first.cpu;
            self.leaf(Want::Move(cpu), None, Nanos::ZERO, nothing).await;
        }
        true
    }
    async fn pull(&self, thread: ThreadId) -> bool {
        let fetched = self.look_at(thread).is_some_and(|thread| self.kernel.borrow_mut().fetch(thread, self.thread));
        if fetched {
            self.yield_now().await;
        }
        fetched
    }
    fn note_of(&self, cpu: CpuId) -> u32 {
        let machine = &self.kernel.borrow().machine;
        machine.notes.get(&(machine.thread(self.thread).spec.space, cpu)).copied().unwrap_or(0)
    }
    fn set_note(&self, cpu: CpuId, word: u32) {
        let machine = &mut self.kernel.borrow_mut().machine;
        machine.notes.insert((machine.thread(self.thread).spec.space, cpu), word);
    }
    fn costs(&self) -> Costs {
        self.kernel.borrow_mut().machine.costs
    }
}
