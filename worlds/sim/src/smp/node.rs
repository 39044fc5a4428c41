//! One machine with its processors, in a time that it may share with others.
use super::counts::{Counts, Split};
use super::cpu::SmpCpu;
use super::dispatch::Dispatch;
use super::kernel::Kernel;
use super::machine::{First, Machine, NOBODY, ThreadSpec};
use super::options::{MachineSpec, Scheduler};
use super::points::FaultPoints;
use super::record::{Record, Span};
use super::{eevdf, linux24, priority, round_robin};
use crate::engine::Engine;
use crate::event::{Event, Queue};
use crate::tasks::Tasks;
use crate::word::SimWord;
use foregather_machine::{Nanos, Rank, WaitContext};
use std::cell::{Cell, RefCell};
use std::task::Poll;

/// A scheduler at work.
pub(super) fn build(scheduler: &Scheduler, machine: &Machine) -> Box<dyn Dispatch> {
    match scheduler {
        Scheduler::RoundRobin(rules) => round_robin::build(*rules, machine),
        Scheduler::Linux24(rules) => linux24::build(*rules, machine),
        Scheduler::Eevdf(rules) => eevdf::build(rules, machine),
        Scheduler::Priority => priority::build(),
    }
}

/// A machine, its threads, and the order in which they are queued up at first.
pub(crate) struct Node {
    pub(super) kernel: RefCell<Kernel>,
    order: Vec<u32>,
    first: First,
}

impl Node {
    pub(super) fn of(
        spec: &MachineSpec,
        threads: &[ThreadSpec],
        first: First,
        seed: u64,
        shuffled: bool,
        record: Record,
    ) -> Self {
        let mut order: Vec<u32> = (0..threads.len() as u32).collect();
        let mut machine = Machine::new(spec.hardware(), threads, seed, record);
        machine.first = first;
        if shuffled {
            machine.random.shuffle(&mut order);
        }
        let scheduler = build(&spec.scheduler, &machine);
        Self { kernel: RefCell::new(Kernel::new(machine, scheduler, spec.ties)), order, first }
    }

    /// `threads` threads of one job, in a random order that the seed decides; at most `spans` spans of theirs
    /// are kept.
    pub(crate) fn new(spec: &MachineSpec, threads: u32, first: First, seed: u64, spans: usize) -> Self {
        let specs = vec![ThreadSpec::default(); threads as usize];
        Self::of(spec, &specs, first, seed, true, Record { spans, ..Record::NOTHING })
    }

    /// Fault points say yes in `ppm` of a million cases.
    pub(crate) fn set_points(&self, ppm: u32, seed: u64) {
        self.kernel.borrow_mut().machine.points = FaultPoints::new(ppm, seed, self.threads());
    }

    /// How many numbers of events a machine uses, from its first on.
    pub(crate) fn events(spec: &MachineSpec, threads: u32) -> u32 {
        spec.cpus + 1 + threads
    }

    pub(crate) fn threads(&self) -> u32 {
        self.order.len() as u32
    }

    /// The processor of a thread's program.
    pub(crate) fn cpu<'s, Q>(&'s self, engine: &'s Engine<Q>, thread: u32) -> SmpCpu<'s, Q> {
        assert!(thread < self.threads(), "there is no thread {thread}");
        SmpCpu { engine, kernel: &self.kernel, thread }
    }

    /// Every processor looks for its first thread.
    pub(crate) fn begin<Q: Queue>(&self, engine: &Engine<Q>) {
        self.kernel.borrow_mut().begin(engine, &self.order);
    }

    /// An event happens on this machine: [`Node::settle`] follows.
    #[inline]
    pub(crate) fn happens<Q: Queue>(&self, engine: &Engine<Q>, event: &Event) {
        self.kernel.borrow_mut().happen(engine, event.task, event.what);
    }

    /// Continues all programs that can continue at the current time, until one requests a stop. Returns
    /// whether one did. The programs of all machines are in one list, in the order of their numbers.
    pub(crate) fn settle<Q: Queue, F: Future>(&self, engine: &Engine<Q>, tasks: &mut Tasks<F>, stopped: &Cell<bool>) -> bool {
        loop {
            let mut at_work = self.kernel.borrow_mut();
            let Some(thread) = at_work.due.pop_front() else {
                at_work.drain(engine);
                if at_work.due.is_empty() {
                    #[cfg(debug_assertions)]
                    at_work.assert_consistent();
                    return false;
                }
                continue;
            };
            if !at_work.may_go_on(engine, thread) {
                continue;
            }
            drop(at_work);
            let ended = tasks.poll(self.first.thread + thread) == Poll::Ready(());
            if stopped.get() {
                return true;
            }
            self.kernel.borrow_mut().went_on(engine, thread, ended);
        }
    }

    /// A thread owes `cost` more of processor time; returns when it will have paid, if no other takes its
    /// processor.
    pub(crate) fn charge(&self, thread: u32, cost: Nanos) -> Nanos {
        let machine = &mut self.kernel.borrow_mut().machine;
        let debt = &mut machine.threads[thread as usize].debt;
        *debt += cost;
        machine.now + *debt
    }

    /// A word changes from outside, by no thread of this machine: threads that look see it. Sleepers do not
    /// before [`Node::rouse`]: if there are any, returns when the interrupt that must wake them, and that
    /// takes `price`, has been served.
    pub(crate) fn ring<Q: Queue>(&self, engine: &Engine<Q>, word: &SimWord, price: Nanos) -> Option<Nanos> {
        let mut kernel = self.kernel.borrow_mut();
        kernel.machine.advance(engine.now());
        word.value.set(word.value.get().wrapping_add(1) & foregather_machine::VALUE_MASK);
        let sleeper = kernel.sleeper(word);
        match sleeper {
            Some(thread) => {
                // A thread that prepares to park from now on must not sleep.
                word.version.set(word.version.get().wrapping_add(1));
                kernel.interrupt(engine, thread, price);
                Some(engine.now() + price)
            }
            None => {
                kernel.changed(word);
                None
            }
        }
    }

    /// Returns whether some processor is idle.
    pub(crate) fn has_idle(&self) -> bool {
        let processors = &self.kernel.borrow().machine.processors;
        processors.iter().any(|processor| processor.current == NOBODY && !processor.switching)
    }

    /// Returns whether a thread sleeps on the word.
    pub(crate) fn has_sleeper(&self, word: &SimWord) -> bool {
        self.kernel.borrow().sleeper(word).is_some()
    }

    /// Wakes a word's sleepers.
    pub(crate) fn rouse<Q: Queue>(&self, engine: &Engine<Q>, word: &SimWord) {
        let mut kernel = self.kernel.borrow_mut();
        kernel.machine.advance(engine.now());
        kernel.changed(word);
    }

    /// Another machine is known to be lost: no wait succeeds any more, and every thread looks.
    pub(crate) fn lose<Q: Queue>(&self, engine: &Engine<Q>, rank: Rank) {
        let mut kernel = self.kernel.borrow_mut();
        kernel.machine.advance(engine.now());
        kernel.machine.lost.get_or_insert((rank, engine.now()));
        kernel.rouse_all();
    }

    /// The rank that was lost, if that is known here.
    pub(crate) fn lost(&self) -> Option<Rank> {
        self.kernel.borrow().machine.lost.map(|(rank, _)| rank)
    }

    /// No event comes before `end`, or none at all.
    pub(crate) fn idle_until(&self, end: Nanos) {
        self.kernel.borrow_mut().machine.advance(end);
    }

    /// No more events will come: accounts for all time.
    pub(crate) fn close(&self) {
        self.kernel.borrow_mut().close();
    }

    /// The wait whose peers a thread last asked the machine to check.
    pub(crate) fn why(&self, thread: u32) -> Option<WaitContext> {
        self.kernel.borrow().machine.thread(thread).why
    }

    /// One thread's processor time by use.
    pub(crate) fn split(&self, thread: u32) -> Split {
        self.kernel.borrow().machine.thread(thread).split
    }

    pub(crate) fn counts(&self) -> Counts {
        self.kernel.borrow().machine.counts
    }

    /// What each thread did when, and which thread yielded when.
    pub(crate) fn record(&self) -> (Vec<Span>, Vec<(u32, Nanos)>) {
        let machine = &self.kernel.borrow().machine;
        (machine.recorded.spans.clone(), machine.yields.clone())
    }
}
