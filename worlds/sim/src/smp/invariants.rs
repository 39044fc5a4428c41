//! What must be true after every event; checked in debug builds, so by every test.
use super::kernel::Kernel;
use super::machine::{Life, Machine, NOBODY};
use foregather_machine::Nanos;

impl Kernel {
    /// The machine is consistent, and the scheduler has queued each thread that is ready and can be chosen,
    /// exactly once.
    pub(super) fn assert_consistent(&self) {
        self.machine.assert_consistent();
        let mut queued = self.scheduler.queued(&self.machine);
        queued.sort_unstable();
        let ready = |&thread: &u32| self.machine.thread(thread).life == Life::Ready && !self.machine.thread(thread).held;
        let expected: Vec<u32> = (0..self.machine.threads.len() as u32).filter(ready).collect();
        assert_eq!(queued, expected, "the queue has every thread that can be chosen, once");
    }
}

impl Machine {
    /// Every thread is in one place, every held thread has one holder, and all processor time is accounted
    /// for.
    fn assert_consistent(&self) {
        let mut holders = vec![0; self.threads.len()];
        for (cpu, processor) in self.processors.iter().enumerate() {
            for thread in [processor.current, processor.from] {
                if thread != NOBODY {
                    holders[thread as usize] += 1;
                }
            }
            if processor.current != NOBODY {
                let thread = self.thread(processor.current);
                assert_eq!((thread.life, thread.cpu as usize), (Life::Running, cpu), "thread {}", processor.current);
                assert!(thread.held);
            }
            assert!(processor.from == NOBODY || processor.switching, "processor {cpu} lets go when its switch ends");
            let split = processor.split.total() + (self.now - processor.since);
            assert_eq!(split, self.now, "processor {cpu} has done something at every moment");
        }
        for (number, thread) in self.threads.iter().enumerate() {
            assert_eq!(holders[number] > 0, thread.held, "thread {number} is held by who runs it or switches away from it");
            let running = self.cpu(thread.cpu).current as usize == number;
            assert_eq!(running, thread.life == Life::Running, "thread {number} runs where a processor runs it");
        }
        let could = self.threads.iter().filter(|t| matches!(t.life, Life::Ready | Life::Running)).count();
        let busy = self.processors.iter().filter(|p| p.current != NOBODY).count();
        assert_eq!((could as u32, busy as u32), (self.runnable, self.busy));
        assert!(self.now < Nanos::MAX);
    }
}
