//! The cluster itself: its machines, NICs and lanes, and its main loop.
use super::cluster_event::ClusterEvent;
use super::lane_state::LaneState;
use super::notice::Timer;
use super::report::{Deadlocked, Report};
use super::spec::ClusterSpec;
use super::timeline::{Activity, Actor, Stroke, Timeline};
use super::wires::Wires;
use crate::engine::Engine;
use crate::event::{Event, EventPriority, Queue};
use crate::smp::{First, Node};
use crate::tasks::Tasks;
use crate::word::SimWord;
use foregather_machine::{Address, Nanos, Rank, SharedLines, SplitMix};
use slab::Slab;
use std::cell::{Cell, RefCell};

/// Nodes with processors and a network, before and while they run.
pub struct Cluster<Q> {
    pub(super) spec: ClusterSpec,
    pub(super) engine: Engine<Q>,
    pub(super) nodes: Box<[Node]>,
    pub(super) desks: Box<[LaneState]>,
    /// By lane number: the roster of the threads of that number.
    pub(super) rosters: Box<[SharedLines<SimWord>]>,
    pub(super) wires: Wires,
    pub(super) timers: Box<[RefCell<Timer>]>,
    pub(super) foreseen: RefCell<Slab<ClusterEvent>>,
    /// Nodes with programs that may go on at this moment.
    pub(super) touched: RefCell<Vec<Rank>>,
    pub(super) dead: Box<[Cell<bool>]>,
    pub(super) random: RefCell<SplitMix>,
    /// Random numbers for faults alone.
    pub(super) fates: RefCell<SplitMix>,
    pub(super) timeline: Timeline,
    pub(super) frames: Cell<u64>,
    pub(super) dropped: Cell<u64>,
    pub(super) stopped: Cell<bool>,
    /// How many numbers of events each machine has; the cluster's own come behind them.
    stride: u32,
}

impl<Q: Queue> Cluster<Q> {
    /// Builds the cluster.
    ///
    /// # Errors
    /// If the specification is invalid; the error says what to change.
    pub fn new(spec: ClusterSpec) -> Result<Self, String> {
        spec.check()?;
        let (nodes, threads) = (spec.nodes, spec.threads);
        let stride = Node::events(&spec.machine, threads);
        let mut random = SplitMix(spec.seed);
        let node = |rank| {
            let first = First { event: rank * stride, thread: rank * threads, cpu: rank * spec.machine.cpus };
            let node = Node::new(&spec.machine, threads, first, random.next(), spec.spans);
            node.set_points(spec.faults.points_ppm, spec.faults.seed ^ SplitMix::mix(u64::from(rank)));
            node
        };
        Ok(Self {
            engine: Engine::default(),
            nodes: (0..nodes).map(node).collect(),
            desks: (0..nodes * threads).map(|_| LaneState::default()).collect(),
            rosters: (0..threads).map(|_| SharedLines::own(nodes as usize + 1)).collect(),
            wires: Wires::new(spec.nic, nodes),
            timers: (0..nodes).map(|rank| RefCell::new(Timer::new(SplitMix::mix(spec.seed ^ u64::from(rank) << 32)))).collect(),
            foreseen: RefCell::default(),
            touched: RefCell::default(),
            dead: (0..nodes).map(|_| Cell::new(false)).collect(),
            random: RefCell::new(random),
            fates: RefCell::new(SplitMix(spec.faults.seed)),
            timeline: Timeline::new(spec.spans),
            frames: Cell::new(0),
            dropped: Cell::new(0),
            stopped: Cell::new(false),
            stride,
            spec,
        })
    }

    /// That lane's number in the whole cluster.
    pub(super) fn number(&self, at: Address) -> u32 {
        at.rank * self.spec.threads + at.lane
    }

    /// The lane of that number.
    pub(super) fn address(&self, number: u32) -> Address {
        Address { rank: number / self.spec.threads, lane: number % self.spec.threads }
    }

    /// The machine of that lane, and its thread there.
    pub(super) fn node(&self, lane: u32) -> (&Node, u32) {
        let Address { rank, lane } = self.address(lane);
        (&self.nodes[rank as usize], lane)
    }

    /// Schedules an event.
    pub(super) fn foresee(&self, at: Nanos, happening: ClusterEvent) {
        let what = self.foreseen.borrow_mut().insert(happening) as u32;
        self.engine.at(at.max(self.engine.now()), EventPriority::Arrival, self.stride * self.spec.nodes, what);
    }

    /// Marks that programs of that node may go on.
    pub(super) fn touch(&self, rank: Rank) {
        let mut touched = self.touched.borrow_mut();
        if !touched.contains(&rank) {
            touched.push(rank);
        }
    }

    /// Runs the program of each lane by its number, once.
    pub(super) fn run_lanes<F: Future>(&self, program: impl Fn(u32) -> F) -> Report<F::Output> {
        for &(rank, at) in &self.spec.deaths {
            self.foresee(at, ClusterEvent::Dies(rank));
        }
        for pause in &self.spec.faults.pauses {
            self.foresee(pause.from + pause.length, ClusterEvent::Resumes(pause.node));
        }
        let mut tasks = Tasks::new((0..self.desks.len() as u32).map(program));
        self.nodes.iter().for_each(|node| node.begin(&self.engine));
        let mut on = (0..self.spec.nodes).all(|rank| self.settle(rank, &mut tasks));
        while on {
            let Some(event) = self.engine.next().filter(|event| Nanos(event.time) <= self.spec.limit) else { break };
            on = self.happens(&event, &mut tasks);
        }
        let end = self.engine.now().min(self.spec.limit);
        for node in &self.nodes {
            node.idle_until(end);
            node.close();
        }
        // Before the unfinished programs are dropped, so that their drops send nothing.
        self.dead.iter().for_each(|dead| dead.set(true));
        self.report(end, tasks.into_outputs())
    }

    /// One event, and all its effects at this moment. Returns whether the simulation goes on.
    fn happens<F: Future>(&self, event: &Event, tasks: &mut Tasks<F>) -> bool {
        let rank = event.task / self.stride;
        if rank < self.spec.nodes {
            if self.dead[rank as usize].get() {
                return true;
            }
            if let Some(until) = self.spec.faults.paused(rank, self.engine.now()) {
                self.engine.postpone(event, until);
                return true;
            }
            self.nodes[rank as usize].happens(&self.engine, event);
            return self.settle(rank, tasks);
        }
        let happening = self.foreseen.borrow_mut().remove(event.what as usize);
        self.happens_here(happening);
        let touched = self.touched.take();
        let on = touched.iter().all(|&rank| self.settle(rank, tasks));
        // The list goes back, so that its memory is used again.
        let mut empty = touched;
        empty.clear();
        *self.touched.borrow_mut() = empty;
        on
    }

    fn settle<F: Future>(&self, rank: Rank, tasks: &mut Tasks<F>) -> bool {
        let node = &self.nodes[rank as usize];
        loop {
            if self.dead[rank as usize].get() || self.spec.faults.paused(rank, self.engine.now()).is_some() {
                return true;
            }
            if node.settle(&self.engine, tasks, &self.stopped) {
                return false;
            }
            // A processor that has nothing to do polls.
            if !(node.has_idle() && self.sweep(rank)) {
                return true;
            }
        }
    }

    fn report<T>(&self, end: Nanos, outputs: Vec<Option<T>>) -> Report<T> {
        let waits = |(number, output): (u32, &Option<T>)| {
            let (node, thread) = self.node(number);
            output.is_none().then(|| Deadlocked { at: self.address(number), why: node.why(thread) })
        };
        let alive = |stuck: &Deadlocked| !self.spec.deaths.iter().any(|(rank, at)| *rank == stuck.at.rank && *at <= end);
        let (events, trace) = self.engine.history();
        let mut spans = Vec::new();
        for (node, rank) in self.nodes.iter().zip(0..) {
            let (of_node, yields) = node.record();
            spans.push(of_node);
            for (lane, at) in yields {
                let at_whom = Address { rank, lane };
                self.timeline.note(Stroke {
                    at: at_whom,
                    place: Actor::Thread,
                    what: Activity::Yield,
                    pieces: 0,
                    bytes: 0,
                    from: at,
                    to: at,
                });
            }
        }
        Report {
            deadlocked: (0..).zip(&outputs).filter_map(waits).filter(alive).collect(),
            outputs,
            end,
            frames: self.frames.get(),
            dropped: self.dropped.get(),
            splits: (0..self.desks.len() as u32).map(|lane| self.node(lane)).map(|(node, thread)| node.split(thread)).collect(),
            counts: self.nodes.iter().map(Node::counts).collect(),
            strokes: self.timeline.take(),
            spans,
            trace,
            events,
        }
    }
}
