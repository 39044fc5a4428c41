//! Round robin: one queue for all processors.
//!
//! Tsafrir & Feitelson 2002 §2.3 and §3. An idle processor takes a woken thread: the one it ran on last, else
//! the one that has been idle for longest.
use super::dispatch::Dispatch;
use super::machine::{Machine, NOBODY};
use foregather_machine::{CpuId, Nanos};
use std::collections::VecDeque;

/// One queue for all processors, a fresh quantum at every dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundRobin {
    /// How long a thread runs before the next one of the queue.
    pub quantum: Nanos,
}

impl RoundRobin {
    /// The quantum of Tsafrir & Feitelson 2002 §2.1: 100 steps.
    pub const TSAFRIR_2002: Self = Self { quantum: Nanos::from_us(100) };
}

/// A scheduler by these rules.
pub(super) fn build(rules: RoundRobin, machine: &Machine) -> Box<dyn Dispatch> {
    let left = vec![rules.quantum; machine.threads.len()];
    Box::new(Turns { quantum: rules.quantum, queue: VecDeque::new(), left })
}

struct Turns {
    quantum: Nanos,
    /// Ready threads that can be chosen.
    queue: VecDeque<u32>,
    /// What is left of each thread's quantum.
    left: Vec<Nanos>,
}

impl Turns {
    /// Marks an idle processor for a ready thread, its own before others, then the one that has been idle for
    /// longest.
    fn call_idle(machine: &mut Machine, thread: u32) {
        if machine.all_busy() {
            return;
        }
        let free = |cpu: CpuId| {
            let processor = machine.cpu(cpu);
            processor.current == NOBODY && !processor.marked && machine.allows(thread, cpu)
        };
        let own = machine.thread(thread).cpu;
        let idle = if free(own) {
            Some(own)
        } else {
            machine.cpus().filter(|&cpu| free(cpu)).min_by_key(|&cpu| machine.cpu(cpu).last_schedule)
        };
        if let Some(cpu) = idle {
            machine.mark(cpu);
        }
    }
}

impl Dispatch for Turns {
    fn begin(&mut self, _: &mut Machine, order: &[u32]) {
        self.queue.extend(order);
    }

    fn choose(&mut self, machine: &mut Machine, cpu: CpuId, present: Option<u32>) -> Option<u32> {
        if let Some(present) = present.filter(|&thread| self.left[thread as usize] > Nanos::ZERO) {
            return Some(present);
        }
        if let Some(place) = self.queue.iter().position(|&thread| machine.allows(thread, cpu)) {
            return self.queue.remove(place);
        }
        if let Some(present) = present {
            self.left[present as usize] = self.quantum;
        }
        present
    }

    fn dispatched(&mut self, _: &mut Machine, _: CpuId, thread: u32, _: Nanos) {
        self.left[thread as usize] = self.quantum;
    }

    fn put_back(&mut self, machine: &mut Machine, thread: u32) {
        self.queue.push_back(thread);
        Self::call_idle(machine, thread);
    }

    fn woken(&mut self, machine: &mut Machine, threads: &[u32], _: Option<CpuId>) {
        for &thread in threads {
            if !machine.thread(thread).held {
                self.queue.push_back(thread);
                Self::call_idle(machine, thread);
            }
        }
    }

    fn left(&mut self, _: &mut Machine, _: u32) {}

    fn yielded(&mut self, _: &mut Machine, thread: u32) {
        self.left[thread as usize] = Nanos::ZERO;
    }

    fn charge(&mut self, _: &Machine, _: CpuId, thread: u32, span: Nanos) {
        let left = &mut self.left[thread as usize];
        *left = *left - span;
    }

    fn expiry(&self, machine: &Machine, cpu: CpuId) -> Nanos {
        let processor = machine.cpu(cpu);
        processor.since + self.left[processor.current as usize]
    }

    #[cfg(debug_assertions)]
    fn queued(&self, _: &Machine) -> Vec<u32> {
        self.queue.iter().copied().collect()
    }
}
