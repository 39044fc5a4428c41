//! How threads get on and off processors: switches with their prices, marks, wake-ups. The scheduler chooses
//! the threads ([`Dispatch`]).
use super::dispatch::Dispatch;
use super::machine::{Life, Machine, NOBODY, Want};
use super::options::Ties;
use crate::engine::Engine;
use crate::event::{EventPriority, Queue};
use crate::word::SimWord;
use foregather_machine::{CpuId, Nanos};
use std::collections::VecDeque;

/// One machine at work.
pub(super) struct Kernel {
    pub(super) machine: Machine,
    pub(super) scheduler: Box<dyn Dispatch>,
    ties: Ties,
    /// By processor: the moment for which its next event is foreseen, and the event's number.
    pending: Vec<Pending>,
    /// Threads whose programs go on at this moment.
    pub(super) due: VecDeque<u32>,
    /// Threads to be woken at this moment, one after the other.
    to_wake: VecDeque<u32>,
    timer: (Nanos, u32),
}

#[derive(Clone, Copy)]
struct Pending {
    time: Nanos,
    class: EventPriority,
    number: u32,
}

/// What an event is about.
enum About {
    Processor(CpuId),
    Bound(u32),
    Timer,
}

impl Kernel {
    pub(super) fn new(machine: Machine, scheduler: Box<dyn Dispatch>, ties: Ties) -> Self {
        let pending = vec![Pending { time: Nanos::MAX, class: EventPriority::Arrival, number: 0 }; machine.processors.len()];
        Self { machine, scheduler, ties, pending, due: VecDeque::new(), to_wake: VecDeque::new(), timer: (Nanos::MAX, 0) }
    }

    /// The moment for which a processor's next event is foreseen.
    #[cfg(test)]
    pub(super) fn foreseen(&self, cpu: CpuId) -> Nanos {
        self.pending[cpu as usize].time
    }

    /// Every processor looks for its first thread.
    pub(super) fn begin<Q: Queue>(&mut self, engine: &Engine<Q>, order: &[u32]) {
        self.scheduler.begin(&mut self.machine, order);
        for cpu in self.machine.cpus() {
            self.schedule(engine, cpu);
        }
        self.drain(engine);
    }

    /// What an event's task number means: processors first, then the scheduler, then the threads' bounds.
    fn about(&self, task: u32) -> About {
        let cpus = self.machine.processors.len() as u32;
        match task - self.machine.first.event {
            cpu if cpu < cpus => About::Processor(cpu),
            timer if timer == cpus => About::Timer,
            thread => About::Bound(thread - cpus - 1),
        }
    }

    /// An event happens; a stale one is ignored.
    #[inline]
    pub(super) fn happen<Q: Queue>(&mut self, engine: &Engine<Q>, task: u32, number: u32) {
        self.machine.advance(engine.now());
        match self.about(task) {
            About::Processor(cpu) if self.pending[cpu as usize].number == number => self.step(engine, cpu),
            About::Timer if self.timer.1 == number => {
                self.machine.timer = Nanos::MAX;
                self.timer.0 = Nanos::MAX;
                self.scheduler.timer(&mut self.machine);
            }
            About::Bound(thread) => {
                let it = self.machine.thread(thread);
                if it.life == Life::Blocked && it.wait == number {
                    self.wake(&[thread], None);
                }
            }
            _ => {}
        }
    }

    fn step<Q: Queue>(&mut self, engine: &Engine<Q>, cpu: CpuId) {
        self.pending[cpu as usize].time = Nanos::MAX;
        let now = self.machine.now;
        if self.machine.cpu(cpu).tick <= now {
            self.settle(cpu);
            self.scheduler.tick(&mut self.machine, cpu);
            self.machine.processors[cpu as usize].tick = self.scheduler.next_tick(&self.machine, cpu);
            self.machine.delay_tick(cpu);
        }
        let processor = self.machine.cpu(cpu);
        if processor.switching {
            if processor.until <= now {
                self.end_switch(engine, cpu)
            } else {
                self.arm(engine, cpu)
            }
            return;
        }
        let thread = processor.current;
        if thread == NOBODY {
            return;
        }
        self.settle(cpu);
        if self.end_extension(engine, cpu) {
            return;
        }
        let it = self.machine.thread(thread);
        if it.left == Nanos::ZERO || it.sees <= now {
            self.due.push_back(thread);
        } else {
            self.go_on(engine, cpu);
        }
    }

    /// The present thread goes on, unless its allotment is used up.
    fn go_on<Q: Queue>(&mut self, engine: &Engine<Q>, cpu: CpuId) {
        if self.scheduler.expiry(&self.machine, cpu) <= self.machine.now {
            self.schedule(engine, cpu);
        } else {
            self.arm(engine, cpu);
        }
    }

    /// Accounts for what a processor did since it was last asked.
    #[inline]
    pub(super) fn settle(&mut self, cpu: CpuId) {
        let processor = &mut self.machine.processors[cpu as usize];
        let span = self.machine.now - processor.since;
        if span == Nanos::ZERO {
            return;
        }
        processor.since = self.machine.now;
        let thread = processor.current;
        if processor.switching {
            processor.split.switch += span;
        } else if thread == NOBODY {
            processor.split.idle += span;
        } else {
            let it = &mut self.machine.threads[thread as usize];
            it.left = it.left - span;
            if it.want == Want::Spin {
                processor.split.spin += span;
                it.split.spin += span;
            } else {
                processor.split.compute += span;
                it.split.compute += span;
            }
            self.scheduler.charge(&self.machine, cpu, thread, span);
        }
    }

    /// Foresees a processor's next event: that of its thread, the end of its allotment, or the tick,
    /// whichever comes first.
    pub(super) fn arm<Q: Queue>(&mut self, engine: &Engine<Q>, cpu: CpuId) {
        let machine = &self.machine;
        let processor = machine.cpu(cpu);
        let (time, spinning) = if processor.switching {
            (processor.until.min(processor.tick), false)
        } else if processor.current == NOBODY {
            (Nanos::MAX, false)
        } else {
            let thread = machine.thread(processor.current);
            let end = if thread.left == Nanos::MAX { Nanos::MAX } else { processor.since + thread.left };
            let allotment = self.scheduler.expiry(machine, cpu).min(processor.tick).min(processor.extended_until);
            (end.min(thread.sees).min(allotment), thread.want == Want::Spin)
        };
        let time = time.max(machine.now);
        let (class, turn) = match self.ties {
            Ties::ArriveFirst => (if spinning { EventPriority::Timeout } else { EventPriority::Arrival }, cpu as u16),
            Ties::GiveUpFirst => (if spinning { EventPriority::Arrival } else { EventPriority::Timeout }, cpu as u16),
            Ties::Processor => (EventPriority::Arrival, cpu as u16),
            Ties::Random => (EventPriority::Arrival, self.machine.random.next() as u16),
        };
        let pending = &mut self.pending[cpu as usize];
        if pending.time != time || pending.class != class {
            *pending = Pending { time, class, number: pending.number.wrapping_add(1) };
            engine.at_turn(time, class, turn, self.machine.first.event + cpu, pending.number);
        }
    }

    /// `schedule()`: chooses the thread that a processor runs next.
    pub(super) fn schedule<Q: Queue>(&mut self, engine: &Engine<Q>, cpu: CpuId) {
        self.settle(cpu);
        let machine = &mut self.machine;
        let processor = &mut machine.processors[cpu as usize];
        (processor.marked, processor.deferred, processor.extended_until) = (false, false, Nanos::MAX);
        let (present, interrupted) = (processor.current, std::mem::take(&mut processor.interrupted));
        let late = std::mem::take(&mut processor.late);
        let goes_on = present != NOBODY && machine.thread(present).life == Life::Running;
        let next = self.scheduler.choose(machine, cpu, goes_on.then_some(present)).unwrap_or(NOBODY);
        if std::mem::take(&mut machine.rearm) {
            for other in self.machine.cpus().filter(|&other| other != cpu) {
                self.arm(engine, other);
            }
        }
        if next == present {
            if present != NOBODY {
                self.arm(engine, cpu);
            }
            return;
        }
        self.switch(engine, cpu, (present, next), (interrupted, late));
    }

    fn switch<Q: Queue>(
        &mut self,
        engine: &Engine<Q>,
        cpu: CpuId,
        (present, next): (u32, u32),
        (interrupted, late): (bool, Nanos),
    ) {
        let machine = &mut self.machine;
        let now = machine.now;
        machine.counts.switches += 1;
        machine.counts.departures += u64::from(present != NOBODY);
        if present != NOBODY && machine.thread(present).life == Life::Running {
            machine.enter(present, Life::Ready);
        }
        let mut price = match (present, next) {
            (_, NOBODY) => machine.prices.switch_to_idle,
            (NOBODY, next) if machine.thread(next).want == Want::Move(cpu) => machine.prices.move_call,
            (NOBODY, _) => machine.prices.wake_idle,
            _ if interrupted => machine.prices.switch + machine.prices.waker + machine.prices.preempt,
            // The rest of the price is the call, which the thread pays when it comes back.
            (present, _) if machine.thread(present).want == Want::Yield => {
                machine.prices.yield_switch - machine.prices.yield_call
            }
            _ => machine.prices.switch,
        };
        price += late;
        if next != NOBODY {
            let it = &mut machine.threads[next as usize];
            if it.cpu != cpu {
                machine.counts.migrations += 1;
                price += machine.prices.migration;
            }
            (it.held, it.cpu) = (true, cpu);
            machine.enter(next, Life::Running);
        }
        machine.busy = machine.busy + u32::from(next != NOBODY) - u32::from(present != NOBODY);
        let processor = &mut machine.processors[cpu as usize];
        debug_assert!(!processor.switching && processor.from == NOBODY, "a processor ends one switch before it begins another");
        (processor.current, processor.from, processor.last_schedule) = (next, present, now);
        if present == NOBODY {
            processor.idle.1 = now;
        }
        (processor.switching, processor.until) = (true, now + price);
        let tick = if next == NOBODY { Nanos::MAX } else { self.scheduler.next_tick(machine, cpu) };
        machine.processors[cpu as usize].tick = tick;
        if next != NOBODY {
            self.scheduler.dispatched(machine, cpu, next, price);
        }
        if !self.scheduler.holds() {
            self.release(cpu);
        }
        if price == Nanos::ZERO { self.end_switch(engine, cpu) } else { self.arm(engine, cpu) }
    }

    /// The thread switched away from can be chosen again, if it is ready.
    fn release(&mut self, cpu: CpuId) {
        let thread = std::mem::replace(&mut self.machine.processors[cpu as usize].from, NOBODY);
        if thread != NOBODY {
            let it = &mut self.machine.threads[thread as usize];
            it.held = false;
            if it.life == Life::Ready {
                self.scheduler.put_back(&mut self.machine, thread);
            }
        }
    }

    fn end_switch<Q: Queue>(&mut self, engine: &Engine<Q>, cpu: CpuId) {
        self.settle(cpu);
        self.machine.processors[cpu as usize].switching = false;
        self.release(cpu);
        if self.machine.cpu(cpu).marked && !self.defers(engine, cpu) {
            return self.schedule(engine, cpu);
        }
        let processor = self.machine.cpu(cpu);
        if processor.current == NOBODY {
            self.machine.processors[cpu as usize].idle = (self.machine.now, Nanos::MAX);
        } else {
            let it = self.machine.thread(processor.current);
            if matches!(it.want, Want::Park | Want::Yield | Want::Move(_)) || it.sees <= self.machine.now {
                self.due.push_back(processor.current);
            } else {
                self.arm(engine, cpu);
            }
        }
    }

    /// Returns whether the thread's program continues now. It may have lost its processor, or see the change
    /// only later.
    pub(super) fn may_go_on<Q: Queue>(&mut self, engine: &Engine<Q>, thread: u32) -> bool {
        let it = self.machine.thread(thread);
        let cpu = it.cpu;
        let processor = self.machine.cpu(cpu);
        if it.life != Life::Running || processor.current != thread || processor.switching {
            return false;
        }
        self.settle(cpu);
        let it = &mut self.machine.threads[thread as usize];
        if it.sees > self.machine.now && it.left > Nanos::ZERO {
            self.arm(engine, cpu);
            return false;
        }
        it.sees = Nanos::MAX;
        self.machine.actor = thread;
        true
    }

    /// The thread's program went on until it wants something, or ended.
    pub(super) fn went_on<Q: Queue>(&mut self, engine: &Engine<Q>, thread: u32, ended: bool) {
        self.machine.actor = NOBODY;
        let it = self.machine.thread(thread);
        let (cpu, want) = (it.cpu, it.want);
        if ended || want == Want::Park {
            self.machine.enter(thread, if ended { Life::Done } else { Life::Blocked });
            self.scheduler.left(&mut self.machine, thread);
            self.schedule(engine, cpu);
        } else if want == Want::Yield {
            self.machine.threads[thread as usize].left = self.machine.prices.yield_call;
            self.machine.note_yield(thread);
            self.scheduler.yielded(&mut self.machine, thread);
            self.schedule(engine, cpu);
        } else if let Want::Move(to) = want
            && to != cpu
        {
            self.machine.threads[thread as usize].confined = Some(to);
            self.machine.enter(thread, Life::Ready);
            self.scheduler.departs(&mut self.machine, thread);
            self.schedule(engine, cpu);
        } else {
            self.machine.show(thread);
            if self.machine.cpu(cpu).deferred && !self.defers(engine, cpu) {
                return self.schedule(engine, cpu);
            }
            self.go_on(engine, cpu);
        }
    }

    /// A word has changed: running spinners see it soon, preempted ones when they run again, sleepers are
    /// woken, in the order in which they began to wait.
    pub(super) fn changed(&mut self, word: &SimWord) {
        self.changed_for(word, usize::MAX);
    }

    /// [`Kernel::changed`], but no more than `most` sleepers are woken; the others sleep on.
    pub(super) fn changed_for(&mut self, word: &SimWord, most: usize) {
        word.version.set(word.version.get().wrapping_add(1));
        let mut watcher = word.first_watcher.replace(NOBODY);
        word.last_watcher.set(NOBODY);
        let (now, line) = (self.machine.now, self.machine.prices.line);
        let mut sleepers = Vec::new();
        while watcher != NOBODY {
            let it = &mut self.machine.threads[watcher as usize];
            let next = std::mem::replace(&mut it.next_watcher, NOBODY);
            it.previous_watcher = NOBODY;
            if it.life != Life::Blocked {
                it.sees = it.sees.min(now + line);
                self.due.push_back(watcher);
            } else if sleepers.len() < most {
                sleepers.push(watcher);
            } else {
                self.machine.watch(word, watcher);
            }
            watcher = next;
        }
        if !self.scheduler.wakes_at_once() {
            self.to_wake.extend(sleepers);
        } else if !sleepers.is_empty() {
            let by = (self.machine.actor != NOBODY).then(|| self.machine.thread(self.machine.actor).cpu);
            self.wake(&sleepers, by);
        }
    }

    pub(super) fn wake(&mut self, sleepers: &[u32], by: Option<CpuId>) {
        for &thread in sleepers {
            self.machine.enter(thread, Life::Ready);
        }
        self.machine.counts.wakes += sleepers.len() as u64;
        self.scheduler.woken(&mut self.machine, sleepers, by);
    }

    /// Foresees the end of a bounded sleep.
    pub(super) fn bound<Q: Queue>(&mut self, engine: &Engine<Q>, thread: u32, until: Nanos) {
        let task = self.machine.first.event + self.machine.processors.len() as u32 + 1 + thread;
        engine.at(until.max(engine.now()), EventPriority::Timeout, task, self.machine.thread(thread).wait);
    }

    /// Lets an idle processor look for a thread, if the scheduler does so by itself. Returns whether one was
    /// found.
    fn idle_look<Q: Queue>(&mut self, engine: &Engine<Q>) -> bool {
        let idle = |cpu: &CpuId| self.machine.cpu(*cpu).current == NOBODY && !self.machine.cpu(*cpu).switching;
        let mut look = if self.scheduler.polls_when_idle() { self.machine.cpus().filter(idle).collect() } else { Vec::new() };
        look.retain(|&cpu| {
            self.schedule(engine, cpu);
            self.machine.cpu(cpu).current != NOBODY
        });
        !look.is_empty()
    }

    /// No more events will come: accounts for all time.
    pub(super) fn close(&mut self) {
        for cpu in self.machine.cpus() {
            self.settle(cpu);
        }
        self.machine.close();
    }

    /// Reschedules marked processors, in the order of their numbers. Returns whether there were any.
    fn reschedule_marked<Q: Queue>(&mut self, engine: &Engine<Q>) -> bool {
        if self.machine.marked.is_empty() {
            return false;
        }
        let mut marked = std::mem::take(&mut self.machine.marked);
        marked.sort_unstable();
        for &cpu in &marked {
            let processor = self.machine.cpu(cpu);
            if processor.marked && !processor.switching && !self.defers(engine, cpu) {
                self.schedule(engine, cpu);
            }
        }
        true
    }

    /// Marked processors reschedule; then the scheduler's own next moment is foreseen.
    pub(super) fn drain<Q: Queue>(&mut self, engine: &Engine<Q>) {
        loop {
            let marked = self.reschedule_marked(engine);
            if let Some(thread) = self.to_wake.pop_front() {
                // The sleeper's bound may have passed at the same moment.
                if self.machine.thread(thread).life == Life::Blocked {
                    self.wake(&[thread], None);
                }
            } else if !marked && !self.idle_look(engine) {
                break;
            }
        }
        if self.machine.timer != self.timer.0 {
            self.timer = (self.machine.timer, self.timer.1.wrapping_add(1));
            let task = self.machine.first.event + self.machine.processors.len() as u32;
            engine.at(self.timer.0, EventPriority::Arrival, task, self.timer.1);
        }
    }
}
