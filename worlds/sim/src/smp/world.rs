//! The simulation itself: events, the programs they let go on, and what these want next.
use super::cpu::{Shared, SmpCpu};
use super::dispatch::Dispatch;
use super::kernel::Kernel;
use super::machine::{Machine, ThreadSpec};
use super::options::{MachineSpec, Scheduler};
use super::record::Record;
use super::{eevdf, linux24, round_robin};
use crate::engine::Engine;
use crate::event::Queue;
use crate::tasks::Tasks;
use foregather_machine::Nanos;
use std::cell::{Cell, RefCell};
use std::task::Poll;

/// How many events pass between two looks at whether to go on.
const LOOK_INTERVAL: u64 = 1 << 16;

/// Threads on the processors of one machine.
pub struct Smp<Q> {
    shared: Shared<Q>,
    order: Vec<u32>,
    limit: Nanos,
    /// A program has asked to stop.
    stopped: Cell<bool>,
}

/// A scheduler at work.
pub(super) fn build(scheduler: &Scheduler, machine: &Machine) -> Box<dyn Dispatch> {
    match scheduler {
        Scheduler::RoundRobin(rules) => round_robin::build(*rules, machine),
        Scheduler::Linux24(rules) => linux24::build(*rules, machine),
        Scheduler::Eevdf(rules) => eevdf::build(rules, machine),
    }
}

/// Why a simulation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Nothing was left to happen.
    Done,
    /// A program or the limit.
    Stopped,
    /// Somebody outside.
    Interrupted,
}

impl<Q: Queue> Smp<Q> {
    /// `threads` threads of one job, queued up in a random order that the seed decides.
    pub fn new(machine: &MachineSpec, threads: u32, seed: u64) -> Self {
        let specs = vec![ThreadSpec::default(); threads as usize];
        Self::of(machine, &specs, seed, true, Nanos::MAX, Record::NOTHING)
    }

    pub(super) fn of(
        spec: &MachineSpec,
        threads: &[ThreadSpec],
        seed: u64,
        shuffled: bool,
        limit: Nanos,
        record: Record,
    ) -> Self {
        let mut order: Vec<u32> = (0..threads.len() as u32).collect();
        let mut machine = Machine::new(spec.hardware(), threads, seed, record);
        if shuffled {
            machine.random.shuffle(&mut order);
        }
        let scheduler = build(&spec.scheduler, &machine);
        let kernel = RefCell::new(Kernel::new(machine, scheduler, spec.ties));
        Self { shared: Shared { engine: Engine::default(), kernel }, order, limit, stopped: Cell::new(false) }
    }

    /// A thread's processor.
    pub fn cpu(&self, thread: u32) -> SmpCpu<'_, Q> {
        assert!((thread as usize) < self.order.len(), "there is no thread {thread}");
        SmpCpu { shared: &self.shared, thread }
    }

    /// Ends the simulation at this moment.
    pub(super) fn stop(&self) {
        self.stopped.set(true);
    }

    /// Runs a program on every thread; returns their outputs (`None`: still waiting when nothing was left to happen).
    pub fn run<'s, F: Future>(&'s self, program: impl Fn(SmpCpu<'s, Q>) -> F) -> Vec<Option<F::Output>> {
        self.run_while(program, || true, |_| ()).0
    }

    /// The same while `go_on` says so. `ended` sees the machine before unfinished programs are dropped.
    pub(super) fn run_while<'s, F: Future, T>(
        &'s self,
        program: impl Fn(SmpCpu<'s, Q>) -> F,
        go_on: impl Fn() -> bool,
        ended: impl FnOnce(&mut Machine) -> T,
    ) -> (Vec<Option<F::Output>>, End, T) {
        let Shared { engine, kernel } = &self.shared;
        let mut tasks = Tasks::new((0..self.order.len() as u32).map(|thread| program(self.cpu(thread))));
        kernel.borrow_mut().begin(engine, &self.order);
        let mut end = self.settle_moment(&mut tasks);
        let mut events = 0;
        while end.is_none() {
            let Some(event) = engine.next() else {
                end = Some(End::Done);
                break;
            };
            if Nanos(event.time) > self.limit {
                end = Some(End::Stopped);
                break;
            }
            kernel.borrow_mut().happen(engine, event.task, event.what);
            end = self.settle_moment(&mut tasks);
            events += 1;
            if events % LOOK_INTERVAL == 0 && !go_on() {
                end = Some(End::Interrupted);
            }
        }
        let end = end.unwrap_or(End::Done);
        kernel.borrow_mut().close();
        let seen = ended(&mut kernel.borrow_mut().machine);
        (tasks.into_outputs(), end, seen)
    }

    /// Lets all programs go on that can at this moment.
    fn settle_moment<F: Future>(&self, tasks: &mut Tasks<F>) -> Option<End> {
        let Shared { engine, kernel } = &self.shared;
        loop {
            let mut at_work = kernel.borrow_mut();
            let Some(thread) = at_work.due.pop_front() else {
                at_work.drain(engine);
                if at_work.due.is_empty() {
                    #[cfg(debug_assertions)]
                    at_work.assert_consistent();
                    return None;
                }
                continue;
            };
            if !at_work.may_go_on(engine, thread) {
                continue;
            }
            drop(at_work);
            let ended = tasks.poll(thread) == Poll::Ready(());
            if self.stopped.get() {
                return Some(End::Stopped);
            }
            kernel.borrow_mut().went_on(engine, thread, ended);
        }
    }

    /// The events there were, and their hash.
    pub fn history(&self) -> (u64, u64) {
        self.shared.engine.history()
    }
}
