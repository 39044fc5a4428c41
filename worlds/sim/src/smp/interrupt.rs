//! Interrupts: an event from outside takes time of a processor that a thread may be using.
use super::kernel::Kernel;
use super::machine::{Life, NOBODY};
use crate::engine::Engine;
use crate::event::Queue;
use crate::word::SimWord;
use foregather_machine::Nanos;

impl Kernel {
    /// The first thread that sleeps on a word, if any does.
    pub(super) fn sleeper(&self, word: &SimWord) -> Option<u32> {
        let mut watcher = word.first_watcher.get();
        while watcher != NOBODY && self.machine.thread(watcher).life != Life::Blocked {
            watcher = self.machine.thread(watcher).next_watcher;
        }
        (watcher != NOBODY).then_some(watcher)
    }

    /// Serves an interrupt on behalf of a sleeper. An idle processor serves it, if there is one; else the one
    /// on which the sleeper ran last. The thread (or switch) there goes on later by `price` and is charged
    /// for it, as in kernels' accounting.
    pub(super) fn interrupt<Q: Queue>(&mut self, engine: &Engine<Q>, sleeper: u32, price: Nanos) {
        let machine = &mut self.machine;
        machine.counts.interrupts += 1;
        if machine.processors.iter().any(|processor| processor.current == NOBODY && !processor.switching) {
            return;
        }
        let cpu = machine.thread(sleeper).cpu;
        self.settle(cpu);
        let processor = &mut self.machine.processors[cpu as usize];
        if processor.switching {
            processor.until += price;
        } else {
            let it = &mut self.machine.threads[processor.current as usize];
            it.left += price;
        }
        self.arm(engine, cpu);
    }

    /// Wakes all sleepers, which have reason to look. Spinners look by themselves before long.
    pub(super) fn rouse_all(&mut self) {
        let all = 0..self.machine.threads.len() as u32;
        let sleepers: Vec<u32> = all.filter(|&thread| self.machine.thread(thread).life == Life::Blocked).collect();
        if !sleepers.is_empty() {
            self.wake(&sleepers, None);
        }
    }
}
