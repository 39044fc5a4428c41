//! The simulation itself: events, the programs that they let go on, and what these want next.
use super::cpu::SmpCpu;
use super::machine::{First, Machine, ThreadSpec};
use super::node::Node;
use super::options::MachineSpec;
use super::record::Record;
use crate::engine::Engine;
use crate::event::Queue;
use crate::tasks::Tasks;
use foregather_machine::{Nanos, WaitContext};
use std::cell::Cell;

/// How many events pass between two looks at whether to go on.
const LOOK_INTERVAL: u64 = 1 << 16;

/// Threads on the processors of one machine.
pub struct Smp<Q> {
    engine: Engine<Q>,
    node: Node,
    limit: Nanos,
    /// A program has asked to stop.
    stopped: Cell<bool>,
}

/// Why a simulation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StopReason {
    /// No event was left.
    Done,
    /// A program asked for it, or the limit came.
    Stopped,
    /// The caller stopped it.
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
        let node = Node::of(spec, threads, First::default(), seed, shuffled, record);
        Self { engine: Engine::default(), node, limit, stopped: Cell::new(false) }
    }

    /// The simulation ends at `limit` in any case.
    #[must_use]
    pub fn ending_at(self, limit: Nanos) -> Self {
        Self { limit, ..self }
    }

    /// The wait whose peers that thread last asked the machine to check, if it waited.
    pub fn why(&self, thread: u32) -> Option<WaitContext> {
        self.node.why(thread)
    }

    /// Fault points ([`Park::sometimes`](foregather_machine::Park::sometimes)) say yes in `ppm` of a million
    /// cases, by that seed.
    #[must_use]
    pub fn with_points(self, ppm: u32, seed: u64) -> Self {
        self.node.set_points(ppm, seed);
        self
    }

    /// The processor of a thread's program.
    pub fn cpu(&self, thread: u32) -> SmpCpu<'_, Q> {
        self.node.cpu(&self.engine, thread)
    }

    /// Ends the simulation at this moment.
    pub(super) fn stop(&self) {
        self.stopped.set(true);
    }

    /// Runs a program on every thread; returns their outputs (`None`: it still waited when no event was
    /// left).
    pub fn run<'s, F: Future>(&'s self, program: impl Fn(SmpCpu<'s, Q>) -> F) -> Vec<Option<F::Output>> {
        self.run_while(program, || true, |_| ()).0
    }

    /// Runs programs like [`Smp::run`], while `go_on` says so. `ended` sees the machine before unfinished
    /// programs are dropped.
    pub(super) fn run_while<'s, F: Future, T>(
        &'s self,
        program: impl Fn(SmpCpu<'s, Q>) -> F,
        go_on: impl Fn() -> bool,
        ended: impl FnOnce(&mut Machine) -> T,
    ) -> (Vec<Option<F::Output>>, StopReason, T) {
        let (engine, node) = (&self.engine, &self.node);
        let mut tasks = Tasks::new((0..node.threads()).map(|thread| program(self.cpu(thread))));
        node.begin(engine);
        let mut end = self.settle_moment(&mut tasks);
        let mut events = 0;
        while end.is_none() {
            let Some(event) = engine.next() else {
                end = Some(StopReason::Done);
                break;
            };
            if Nanos(event.time) > self.limit {
                end = Some(StopReason::Stopped);
                break;
            }
            node.happens(engine, &event);
            end = self.settle_moment(&mut tasks);
            events += 1;
            if events % LOOK_INTERVAL == 0 && !go_on() {
                end = Some(StopReason::Interrupted);
            }
        }
        let end = end.unwrap_or(StopReason::Done);
        node.close();
        let seen = ended(&mut node.kernel.borrow_mut().machine);
        (tasks.into_outputs(), end, seen)
    }

    /// Lets all programs go on that can at this moment.
    fn settle_moment<F: Future>(&self, tasks: &mut Tasks<F>) -> Option<StopReason> {
        self.node.settle(&self.engine, tasks, &self.stopped).then_some(StopReason::Stopped)
    }

    /// How many events there were, and their hash.
    pub fn history(&self) -> (u64, u64) {
        self.engine.history()
    }
}
