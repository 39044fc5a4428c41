//! What a scheduler decides. The kernel (`kernel.rs`) switches the threads, and takes the price.
use super::machine::Machine;
use foregather_machine::{CpuId, Nanos};

/// Where a thread can be preempted while it runs in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KernelPreemption {
    /// At any moment.
    Anywhere,
    /// Where the kernel's code says that it may sleep.
    Voluntary,
    /// Not before it leaves the kernel.
    Never,
}

/// A scheduler. Threads and processors are numbers; [`Machine`] knows their states.
pub(super) trait Dispatch {
    /// All threads are ready, in this order.
    fn begin(&mut self, machine: &mut Machine, order: &[u32]);
    /// The processor asks which thread to run; `present` is its thread if that can go on. The chosen thread
    /// has left the queue.
    fn choose(&mut self, machine: &mut Machine, cpu: CpuId, present: Option<u32>) -> Option<u32>;
    /// The processor begins to switch to a thread, which costs `price`.
    fn dispatched(&mut self, machine: &mut Machine, cpu: CpuId, thread: u32, price: Nanos);
    /// A ready thread can be chosen from now on: the switch away from it has ended.
    fn put_back(&mut self, machine: &mut Machine, thread: u32);
    /// `threads` have become ready, in this order; those still held will be put back later. `by` woke them on
    /// its processor.
    fn woken(&mut self, machine: &mut Machine, threads: &[u32], by: Option<CpuId>);
    /// A running thread has blocked or ended.
    fn left(&mut self, machine: &mut Machine, thread: u32);
    /// A running thread offers its processor: [`Dispatch::choose`] follows.
    fn yielded(&mut self, machine: &mut Machine, thread: u32);
    /// Returns whether a thread's program may choose processors. It may not if one queue serves all of them:
    /// a runnable thread then belongs to no processor.
    fn moves(&self) -> bool {
        false
    }
    /// A running thread leaves for the only processor that it may run on now: [`Dispatch::put_back`] follows.
    fn departs(&mut self, _machine: &mut Machine, _thread: u32) {}
    /// A ready thread that can be chosen goes to that processor's queue.
    fn fetched(&mut self, _machine: &mut Machine, _thread: u32, _cpu: CpuId) {}
    /// How many whole processors' time a thread may have at most.
    fn width(&self, machine: &Machine, _thread: u32) -> u32 {
        machine.processors.len() as u32
    }
    /// A thread has run for `span`.
    fn charge(&mut self, machine: &Machine, cpu: CpuId, thread: u32, span: Nanos);
    /// When the present thread's allotment ends, if it goes on running.
    fn expiry(&self, machine: &Machine, cpu: CpuId) -> Nanos;
    /// The processor's first clock tick after now; [`Nanos::MAX`] if nothing depends on ticks.
    fn next_tick(&self, _machine: &Machine, _cpu: CpuId) -> Nanos {
        Nanos::MAX
    }
    /// A clock tick on a processor that is not idle.
    fn tick(&mut self, _machine: &mut Machine, _cpu: CpuId) {}
    /// Where the scheduler lets a thread be preempted in the kernel.
    fn kernel_preemption(&self) -> KernelPreemption {
        KernelPreemption::Anywhere
    }
    /// For how long a thread in a critical section may run on although it is to be preempted.
    fn slice_extension(&self) -> Nanos {
        Nanos::ZERO
    }
    /// The present thread of a processor leaves the kernel.
    fn leaves_kernel(&mut self, _machine: &mut Machine, _cpu: CpuId) {}
    /// The moment in [`Machine::timer`] has come.
    fn timer(&mut self, _machine: &mut Machine) {}
    /// The threads that can be chosen, for the invariants.
    #[cfg(debug_assertions)]
    fn queued(&self, machine: &Machine) -> Vec<u32>;
    /// Returns whether the scheduler gets all threads of one wake-up at once. Otherwise it gets them one by
    /// one, and processors react in between.
    fn wakes_at_once(&self) -> bool {
        true
    }
    /// Returns whether an idle processor looks for a thread whenever one may be runnable.
    fn polls_when_idle(&self) -> bool {
        false
    }
    /// Returns whether a thread cannot be chosen until the switch away from it has ended.
    fn holds(&self) -> bool {
        true
    }
}
