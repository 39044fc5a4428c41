//! The rules, asked about moments of a real machine. What happened there goes in, step by step: who was
//! charged for what, joined which queue, ran next. Out comes what the rules would have done at each
//! moment. The real machine's decision then goes in, too, whatever the rules said, so every decision is
//! one from the queues as they really were, and one difference does not bring about the next.
//!
//! A lag that a thread had before the replay began is not known, and counts as zero.
use super::fair::Fair;
use super::queue::QueuePosition;
use super::rules::Eevdf;
use super::weights::Virtual;
use crate::smp::dispatch::Dispatch;
use crate::smp::machine::{Life, Machine, NOBODY, ThreadSpec};
use crate::smp::options::{MachineSpec, Scheduler};
use crate::smp::record::Record;
use foregather_machine::{CpuId, Nanos};

/// The scheduler's view of a thread in a queue, in nanoseconds of a thread of nice 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuedThread {
    /// What it has had less than its share; it is eligible if that is not negative.
    pub lag: i64,
    /// Its deadline, against the average of its queue.
    pub deadline: i64,
    /// Whether it is asleep, but in the queue until its debt is paid.
    pub dozes: bool,
}

/// Threads of a real machine under the rules. Threads of other programs occupy processors, but are in no
/// queue.
pub struct SchedulerReplay {
    machine: Machine,
    fair: Fair,
    /// How many threads there are; the numbers from there on stand for other programs, one for each
    /// processor.
    threads: u32,
    /// By thread: whether it has taken up its place in the queue before it was woken.
    roused: Vec<bool>,
}

impl SchedulerReplay {
    /// Threads that are asleep: the nice value of each, and the only processor that it may run on.
    pub fn new(rules: &Eevdf, cpus: u32, threads: &[(i8, Option<CpuId>)]) -> Self {
        let spec = MachineSpec { cpus, scheduler: Scheduler::Eevdf(rules.clone()), ..MachineSpec::tsafrir2002() };
        let others = (0..cpus).map(|cpu| (0, Some(cpu)));
        let all = threads.iter().copied().chain(others);
        let specs: Vec<_> = all
            .map(|(nice, pin)| ThreadSpec { nice, pins: pin.into_iter().collect(), start: Some(0), ..ThreadSpec::default() })
            .collect();
        let mut machine = Machine::new(spec.hardware(), &specs, 0, Record::NOTHING);
        let fair = Fair::new(rules, &machine);
        (0..specs.len() as u32).for_each(|thread| machine.enter(thread, Life::Blocked));
        Self { machine, fair, threads: threads.len() as u32, roused: vec![false; threads.len()] }
    }

    /// Time goes on. Only [`SchedulerReplay::charge`] charges threads for it.
    pub fn at(&mut self, now: Nanos) {
        self.machine.now = now;
        self.machine.processors.iter_mut().for_each(|processor| processor.since = now);
    }

    /// A thread has run for that long. The processor is to reschedule if its slice is over.
    pub fn charge(&mut self, thread: u32, span: Nanos) {
        let entity = &self.fair.entities[thread as usize];
        let cpu = entity.cpu;
        if entity.place != QueuePosition::Queued || self.machine.cpu(cpu).current != thread {
            return;
        }
        self.fair.account(&self.machine, cpu, thread, span);
        if self.fair.is_over(&self.machine, cpu) && !self.machine.cpu(cpu).marked {
            self.machine.mark(cpu);
        }
    }

    /// The processor that the rules put a thread on, if a thread or an interrupt on processor `by` wakes it.
    pub fn place(&self, thread: u32, by: CpuId) -> CpuId {
        let entity = &self.fair.entities[thread as usize];
        if entity.place == QueuePosition::Dozing { entity.cpu } else { self.fair.place(&self.machine, thread, Some(by)) }
    }

    /// A thread is going to be woken. One that dozes takes up its place again at once: the kernel charges the
    /// present thread only afterwards (`requeue_delayed_entity` in `enqueue_task_fair`, then
    /// `check_preempt_wakeup_fair`).
    pub fn waking(&mut self, thread: u32) {
        if self.fair.entities[thread as usize].place == QueuePosition::Dozing {
            self.fair.rouse(&self.machine, thread);
            self.machine.enter(thread, Life::Ready);
            self.roused[thread as usize] = true;
        }
    }

    /// A thread is awake, and in the queue of that processor, which is to reschedule if the rules say so.
    pub fn woken(&mut self, thread: u32, on: CpuId) {
        let roused = std::mem::take(&mut self.roused[thread as usize]);
        let Self { machine, fair, .. } = self;
        let entity = &fair.entities[thread as usize];
        match entity.place {
            // It has taken up its place already.
            QueuePosition::Queued if roused && entity.cpu == on => {}
            QueuePosition::Queued | QueuePosition::Stopped => return,
            QueuePosition::Dozing if entity.cpu == on => fair.rouse(machine, thread),
            QueuePosition::Dozing => fair.dequeue(machine, thread, QueuePosition::Asleep),
            QueuePosition::Asleep => {}
        }
        machine.enter(thread, Life::Ready);
        machine.threads[thread as usize].cpu = on;
        if fair.entities[thread as usize].place == QueuePosition::Asleep {
            fair.enqueue(machine, on, thread);
        }
        fair.preempt(machine, thread);
    }

    /// A thread goes to the queue of another processor.
    pub fn migrated(&mut self, thread: u32, to: CpuId) {
        let Self { machine, fair, .. } = self;
        match fair.entities[thread as usize].place {
            QueuePosition::Queued => {
                fair.dequeue(machine, thread, QueuePosition::Queued);
                fair.enqueue(machine, to, thread);
            }
            QueuePosition::Dozing => fair.dequeue(machine, thread, QueuePosition::Asleep),
            QueuePosition::Asleep | QueuePosition::Stopped => {}
        }
        machine.threads[thread as usize].cpu = to;
    }

    /// Whether the rules have asked the processor to reschedule since it last switched.
    pub fn is_marked(&self, cpu: CpuId) -> bool {
        self.machine.cpu(cpu).marked
    }

    /// The mark, if there is one, has had no consequence.
    pub fn unmark(&mut self, cpu: CpuId) {
        self.machine.processors[cpu as usize].marked = false;
        self.machine.marked.retain(|&marked| marked != cpu);
    }

    /// The thread that runs on a processor, if it is none of another program.
    pub fn present(&self, cpu: CpuId) -> Option<u32> {
        Some(self.machine.cpu(cpu).current).filter(|&thread| thread < self.threads)
    }

    /// How many threads run on a processor or could.
    pub fn runnable(&self, cpu: CpuId) -> usize {
        self.fair.queues[cpu as usize].runnable()
    }

    /// A thread in a queue; `None` if it sleeps.
    pub fn view(&self, thread: u32) -> Option<QueuedThread> {
        let entity = &self.fair.entities[thread as usize];
        let queue = &self.fair.queues[entity.cpu as usize];
        let real = |span: Virtual| (span >> 10) as i64;
        let dozes = entity.place == QueuePosition::Dozing;
        let (lag, deadline) = (real(queue.average() - entity.had), real(entity.deadline - queue.average()));
        (dozes || entity.place == QueuePosition::Queued).then_some(QueuedThread { lag, deadline, dozes })
    }

    /// The present thread of a processor has fallen asleep.
    pub fn sleeps(&mut self, cpu: CpuId) {
        if let Some(thread) = self.present(cpu) {
            self.machine.enter(thread, Life::Blocked);
            self.fair.left(&mut self.machine, thread);
            self.machine.processors[cpu as usize].current = NOBODY;
        }
    }

    /// The thread that the rules choose for a processor now; its present thread is one of those that can be
    /// chosen. No thread is pulled from another processor.
    pub fn choose(&mut self, cpu: CpuId) -> Option<u32> {
        let present = self.present(cpu);
        if self.runnable(cpu) > 0 {
            return self.fair.choose(&mut self.machine, cpu, present);
        }
        for thread in self.fair.queues[cpu as usize].members.clone() {
            self.fair.dequeue(&mut self.machine, thread, QueuePosition::Asleep);
        }
        None
    }

    /// The processor has changed over to that thread, whatever the rules say.
    pub fn runs(&mut self, cpu: CpuId, thread: u32) {
        self.roused[thread as usize] = false;
        self.leave(cpu);
        // A record of how it left another processor may be missing.
        let elsewhere = self.machine.cpus().find(|&cpu| self.machine.cpu(cpu).current == thread);
        elsewhere.into_iter().for_each(|cpu| self.leave(cpu));
        let Self { machine, fair, .. } = self;
        let entity = &fair.entities[thread as usize];
        if entity.place != QueuePosition::Queued || entity.cpu != cpu {
            if entity.place != QueuePosition::Asleep {
                fair.dequeue(machine, thread, QueuePosition::Asleep);
            }
            machine.enter(thread, Life::Ready);
            fair.enqueue(machine, cpu, thread);
        }
        machine.enter(thread, Life::Running);
        machine.threads[thread as usize].cpu = cpu;
        machine.processors[cpu as usize].current = thread;
        fair.dispatched(machine, cpu, thread, Nanos::ZERO);
    }

    /// The processor is idle.
    pub fn idles(&mut self, cpu: CpuId) {
        self.leave(cpu);
    }

    /// The processor has changed over to a thread of another program.
    pub fn runs_other(&mut self, cpu: CpuId) {
        self.leave(cpu);
        self.machine.processors[cpu as usize].current = self.threads + cpu;
    }

    /// No thread runs on the processor; the one that did is ready, unless it fell asleep.
    fn leave(&mut self, cpu: CpuId) {
        if let Some(thread) = self.present(cpu) {
            self.machine.enter(thread, Life::Ready);
        }
        self.machine.processors[cpu as usize].current = NOBODY;
        self.unmark(cpu);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foregather_machine::SplitMix;

    const MS: Nanos = Nanos::from_ms(1);

    /// Threads of nice 0 on one processor, all awake; the first one runs.
    fn replay(threads: usize) -> SchedulerReplay {
        let mut replay = SchedulerReplay::new(&Eevdf::LINUX, 1, &vec![(0, Some(0)); threads]);
        (0..threads as u32).for_each(|thread| replay.woken(thread, 0));
        replay.runs(0, 0);
        replay
    }

    #[test]
    fn a_slice_that_is_over_marks_the_processor_and_another_thread_is_chosen() {
        let mut replay = replay(2);
        replay.at(MS * 2);
        replay.charge(0, MS * 2);
        assert!(!replay.is_marked(0), "its slice of 2.8 ms is not over");
        replay.at(MS * 4);
        replay.charge(0, MS * 2);
        assert!(replay.is_marked(0));
        assert_eq!((replay.choose(0), replay.runnable(0)), (Some(1), 2));
        // The real machine chose otherwise, and the rules go on from there.
        replay.runs(0, 0);
        assert_eq!((replay.present(0), replay.is_marked(0)), (Some(0), false));
        assert!(replay.view(0).unwrap().lag < 0 && replay.view(1).unwrap().lag > 0);
    }

    #[test]
    fn a_sleeper_in_debt_stays_in_the_queue_and_one_without_does_not() {
        let mut replay = replay(3);
        replay.charge(0, MS);
        replay.sleeps(0);
        assert!(replay.view(0).unwrap().dozes);
        assert_eq!((replay.runnable(0), replay.choose(0)), (2, Some(1)));
        replay.runs(0, 1);
        replay.woken(0, 0);
        assert!(!replay.view(0).unwrap().dozes && replay.view(0).unwrap().lag < 0);
        replay.sleeps(0);
        assert_eq!(replay.view(1), None, "it was owed time");
    }

    /// The account of the present thread is behind when a thread that dozes takes up its place.
    #[test]
    fn a_sleeper_keeps_its_place_if_its_debt_is_paid_only_by_what_is_charged_afterwards() {
        let mut replay = replay(2);
        replay.charge(0, MS);
        replay.sleeps(0);
        replay.runs(0, 1);
        let deadline = |replay: &SchedulerReplay| replay.fair.entities[0].deadline;
        let (before, mut late) = (deadline(&replay), SchedulerReplay::new(&Eevdf::LINUX, 1, &[(0, Some(0)); 2]));
        replay.waking(0);
        replay.charge(1, MS * 2);
        replay.woken(0, 0);
        assert_eq!((deadline(&replay), replay.view(0).unwrap().dozes), (before, false));
        // Charged before, the debt is paid, and the sleeper begins again.
        (0..2).for_each(|thread| late.woken(thread, 0));
        late.runs(0, 0);
        late.charge(0, MS);
        late.sleeps(0);
        late.runs(0, 1);
        late.charge(1, MS * 2);
        late.woken(0, 0);
        assert!(deadline(&late) > before);
    }

    #[test]
    fn other_programs_occupy_a_processor_but_are_in_no_queue() {
        let mut replay = SchedulerReplay::new(&Eevdf::LINUX, 2, &[(0, None), (5, None)]);
        assert_eq!(replay.place(0, 1), 0);
        replay.runs_other(0);
        assert_eq!((replay.place(0, 0), replay.present(0), replay.runnable(0)), (1, None, 0));
        replay.woken(0, 1);
        replay.runs(1, 0);
        replay.woken(1, 1);
        assert_eq!(replay.runnable(1), 2);
        replay.migrated(1, 0);
        replay.runs(0, 1);
        assert_eq!((replay.present(0), replay.present(1)), (Some(1), Some(0)));
        replay.sleeps(0);
        assert_eq!(replay.choose(0), None);
        replay.idles(0);
        assert_eq!(replay.place(1, 1), 0);
        replay.runs(0, 0);
        assert_eq!((replay.present(0), replay.present(1)), (Some(0), None), "it runs in one place");
        replay.sleeps(0);
        replay.woken(1, 1);
        assert_eq!(replay.choose(1), Some(1));
    }

    /// Records may be missing or late, so any step may follow any other; every choice checks all queues.
    #[test]
    fn no_order_of_steps_confuses_the_queues() {
        for seed in 0..200 {
            let mut random = SplitMix(seed);
            let threads: Vec<_> = (0..4).map(|_| (random.below(10) as i8, None)).collect();
            let mut replay = SchedulerReplay::new(&Eevdf::LINUX, 2, &threads);
            for step in 0..200 {
                let (what, thread, cpu) = (random.below(9), random.below(4) as u32, random.below(2) as u32);
                replay.at(MS * step);
                match what {
                    0 | 1 => replay.woken(thread, cpu),
                    2 => replay.runs(cpu, thread),
                    3 => replay.sleeps(cpu),
                    4 => replay.migrated(thread, cpu),
                    5 => replay.runs_other(cpu),
                    6 => replay.idles(cpu),
                    7 => replay.waking(thread),
                    _ => replay.charge(thread, MS),
                }
                replay.choose(cpu);
            }
        }
    }
}
