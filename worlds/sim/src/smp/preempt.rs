//! When a marked processor takes its thread off: at once, or when the thread leaves the kernel or its
//! extended slice ends.
use super::cpu::SmpCpu;
use super::dispatch::KernelPreemption;
use super::kernel::Kernel;
use super::machine::NOBODY;
use crate::engine::Engine;
use crate::event::Queue;
use foregather_machine::{Clock, CpuId, Nanos};

impl Kernel {
    /// Returns whether a marked processor keeps its thread for now: in the kernel, or for an extended slice.
    pub(super) fn defers<Q: Queue>(&mut self, engine: &Engine<Q>, cpu: CpuId) -> bool {
        let (now, thread) = (self.machine.now, self.machine.cpu(cpu).current);
        if thread == NOBODY {
            return false;
        }
        let extension = self.scheduler.slice_extension();
        let (it, processor) = (&mut self.machine.threads[thread as usize], &mut self.machine.processors[cpu as usize]);
        let preemptible = self.scheduler.kernel_preemption() == KernelPreemption::Anywhere;
        let defers = if it.in_kernel && !preemptible {
            !std::mem::take(&mut it.may_resched)
        } else if it.asks_extension && !it.extended && !it.in_kernel && extension > Nanos::ZERO {
            it.extended = true;
            processor.extended_until = now + extension;
            true
        } else {
            it.asks_extension && it.extended && processor.extended_until > now && processor.extended_until < Nanos::MAX
        };
        processor.deferred = defers;
        if defers && !processor.switching {
            self.arm(engine, cpu);
        }
        defers
    }

    /// The end of an extended slice has come.
    pub(super) fn end_extension<Q: Queue>(&mut self, engine: &Engine<Q>, cpu: CpuId) -> bool {
        let processor = &mut self.machine.processors[cpu as usize];
        if processor.switching || processor.extended_until > self.machine.now {
            return false;
        }
        processor.extended_until = Nanos::MAX;
        let ends = !self.defers(engine, cpu);
        if ends {
            self.schedule(engine, cpu);
        }
        ends
    }
}

impl<Q: Queue> SmpCpu<'_, Q> {
    /// Runs in the kernel for `span`, as in a page fault. With voluntary preemption it can be preempted once,
    /// in the middle.
    pub(super) async fn in_kernel(&self, span: Nanos) {
        self.kernel.borrow_mut().machine.threads[self.thread as usize].in_kernel = true;
        let middle = match self.kernel.borrow().scheduler.kernel_preemption() {
            KernelPreemption::Voluntary => Nanos(span.0 / 2),
            KernelPreemption::Anywhere | KernelPreemption::Never => Nanos::ZERO,
        };
        if middle > Nanos::ZERO {
            self.delay(middle).await;
            self.kernel.borrow_mut().machine.threads[self.thread as usize].may_resched = true;
        }
        self.delay(span - middle).await;
        let Kernel { machine, scheduler, .. } = &mut *self.kernel.borrow_mut();
        let it = &mut machine.threads[self.thread as usize];
        (it.in_kernel, it.may_resched) = (false, false);
        let cpu = it.cpu;
        scheduler.leaves_kernel(machine, cpu);
    }

    /// The thread enters a critical section for which it asks for a longer slice, if it is to be preempted.
    pub(super) fn ask_extension(&self) {
        self.kernel.borrow_mut().machine.threads[self.thread as usize].asks_extension = true;
    }

    /// The critical section is over: a thread that has had an extension gives its processor back.
    pub(super) fn end_section(&self) {
        let it = &mut self.kernel.borrow_mut().machine.threads[self.thread as usize];
        (it.asks_extension, it.extended) = (false, false);
    }
}
