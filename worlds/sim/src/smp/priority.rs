//! Fixed priorities: of a machine's threads the one with the lowest number runs, at once and for as long as
//! it can. So do threads of a real-time class, or those of a system that serves others (Itzkovitz & Schuster
//! 1999 §3.5: the sweeper's priority is above the application's).
use super::dispatch::Dispatch;
use super::machine::{Machine, NOBODY};
use foregather_machine::{CpuId, Nanos};
use std::collections::BTreeSet;

/// A scheduler of fixed priorities.
pub(super) fn build() -> Box<dyn Dispatch> {
    Box::new(Urgency::default())
}

#[derive(Default)]
struct Urgency {
    /// Ready threads that can be chosen, the most urgent first.
    ready: BTreeSet<u32>,
}

impl Urgency {
    /// Marks a processor for a ready thread: an idle one, its own before others, or that of the least urgent
    /// thread after it.
    fn call(machine: &mut Machine, thread: u32) {
        let own = machine.thread(thread).cpu;
        let after = |cpu: CpuId| {
            let processor = machine.cpu(cpu);
            let open = !processor.marked && machine.allows(thread, cpu) && processor.current > thread;
            // `NOBODY` is above the numbers of all threads.
            open.then_some((processor.current, cpu == own, cpu))
        };
        if let Some((_, _, cpu)) = machine.cpus().filter_map(after).max() {
            machine.mark(cpu);
        }
    }

    fn ready(&mut self, machine: &mut Machine, thread: u32) {
        self.ready.insert(thread);
        Self::call(machine, thread);
    }
}

const _: () = assert!(NOBODY == u32::MAX);

impl Dispatch for Urgency {
    fn begin(&mut self, _: &mut Machine, order: &[u32]) {
        self.ready.extend(order);
    }

    fn choose(&mut self, machine: &mut Machine, cpu: CpuId, present: Option<u32>) -> Option<u32> {
        let first = self.ready.iter().copied().find(|&thread| machine.allows(thread, cpu));
        match (first, present) {
            (Some(first), None) => self.ready.take(&first),
            (Some(first), Some(present)) if first < present => self.ready.take(&first),
            _ => present,
        }
    }

    fn dispatched(&mut self, _: &mut Machine, _: CpuId, _: u32, _: Nanos) {}

    fn put_back(&mut self, machine: &mut Machine, thread: u32) {
        self.ready(machine, thread);
    }

    fn woken(&mut self, machine: &mut Machine, threads: &[u32], _: Option<CpuId>) {
        for &thread in threads {
            if !machine.thread(thread).held {
                self.ready(machine, thread);
            }
        }
    }

    fn left(&mut self, _: &mut Machine, _: u32) {}

    fn yielded(&mut self, _: &mut Machine, _: u32) {}

    fn charge(&mut self, _: &Machine, _: CpuId, _: u32, _: Nanos) {}

    fn expiry(&self, _: &Machine, _: CpuId) -> Nanos {
        Nanos::MAX
    }

    #[cfg(debug_assertions)]
    fn queued(&self, _: &Machine) -> Vec<u32> {
        self.ready.iter().copied().collect()
    }
}
