//! A network, and running one program on all of its nodes.
use super::fault::{Fates, Faults};
use super::node::Node;
use super::nodes::{Nodes, RESUME, RUNNING, SENDING, SLOTS_MAX, WAKE};
use super::noise::{Interrupts, Noise};
use super::record::{Record, Recorder};
use super::wire::{Model, Wire};
use crate::engine::{EventHandler, Run};
use crate::event::{Event, Queue};
use foregather_machine::{Cause, Error, LogGp, Nanos, Rank};

/// The most nodes of a network.
const SIZE_MAX: u32 = 1 << 24;

/// Nodes and what lies between them.
pub struct Network<Q, M: Model = LogGp> {
    pub(super) nodes: Nodes<Q>,
    pub(super) wire: M::Wire,
    faults: Faults,
    interrupts: Option<(Interrupts, u64)>,
    phases: Vec<(Rank, Nanos)>,
}

impl<Q: Queue, M: Model> Network<Q, M> {
    /// `size` nodes with `slots` slots each.
    ///
    /// # Errors
    /// [`Cause::Size`] for no nodes or more than 2^24; [`Cause::Setting`] if the model contradicts itself.
    pub fn new(size: u32, slots: u32, model: M) -> Result<Self, Error> {
        if size == 0 || size > SIZE_MAX {
            return Err(Cause::Size { what: "a simulated network", size, needs: "at least 1 and at most 2^24 nodes" }.into());
        }
        if slots > SLOTS_MAX {
            return Err(Cause::Slot { slot: slots, slots: SLOTS_MAX }.into());
        }
        let wire = model.wire(size)?;
        Ok(Self { nodes: Nodes::new(size, slots), wire, faults: Faults::default(), interrupts: None, phases: vec![] })
    }

    /// Interrupts the programs, each node's with a phase of its own, which the seed decides.
    ///
    /// # Errors
    /// [`Cause::Setting`] if no time is left between them.
    pub fn interrupted(mut self, interrupts: Interrupts, seed: u64) -> Result<Self, Error> {
        self.interrupts = Some((interrupts, seed));
        self.make_noise()?;
        Ok(self)
    }

    /// Lets the interrupts of `node` begin there within the period: for tests that need one at a certain
    /// moment.
    #[must_use]
    pub fn phase(mut self, node: Rank, phase: Nanos) -> Self {
        self.nodes.noise.set_phase(node, phase);
        self.phases.push((node, phase));
        self
    }

    /// Makes the network faulty.
    ///
    /// # Errors
    /// [`Cause::Setting`] if the rates add up to more than every packet.
    pub fn faulty(mut self, faults: &Faults) -> Result<Self, Error> {
        if u64::from(faults.loss_ppm) + u64::from(faults.duplicate_ppm) + u64::from(faults.delay_ppm) > 1_000_000 {
            return Err(Cause::Setting { what: "faults", needs: "rates that add up to a million at most" }.into());
        }
        self.faults = faults.clone();
        self.nodes.fates = Fates::new(faults);
        self.nodes.drifts = faults.drifts.clone().into();
        self.make_noise()?;
        Ok(self)
    }

    fn make_noise(&mut self) -> Result<(), Error> {
        let (interrupts, seed) = self.interrupts.unzip();
        self.nodes.noise = Noise::new(self.nodes.size, interrupts, &self.faults.pauses, seed.unwrap_or(0))?;
        self.phases.iter().for_each(|&(node, phase)| self.nodes.noise.set_phase(node, phase));
        Ok(())
    }

    /// Messages have lengths, but carry nothing: for studies of time alone.
    #[must_use]
    pub fn without_contents(mut self) -> Self {
        self.nodes.contents = false;
        self
    }

    /// Records every packet.
    #[must_use]
    pub fn recording(mut self) -> Self {
        self.nodes.recorder = Some(Recorder::default());
        self
    }

    /// The record so far; empty without [`Network::recording`].
    pub fn record(&self) -> Record {
        self.nodes.recorder.as_ref().map(|recorder| recorder.record(&self.nodes.noise)).unwrap_or_default()
    }

    /// The nodes, in the order of their ranks.
    pub fn nodes(&self) -> Box<[Node<'_, Q, M>]> {
        (0..self.nodes.size).map(|rank| Node::new(&self.nodes, &self.wire, rank)).collect()
    }

    /// Runs `program` on every node, the `i`-th from `start(i)` on. May be called again: time goes on from
    /// there.
    pub fn run<'n, F: Future>(
        &'n self,
        nodes: &'n [Node<'n, Q, M>],
        start: impl Fn(Rank) -> Nanos,
        program: impl Fn(&'n Node<'n, Q, M>) -> F,
    ) -> Run<F::Output> {
        self.nodes.engine.run(nodes.iter().map(program), start, self)
    }

    /// What the program of `node` waits for, in words, if it waits. [`Record::waits_for`] knows more.
    pub fn waits_for(&self, node: Rank) -> Option<String> {
        match self.nodes.doing(node).get() {
            RUNNING => None,
            SENDING => Some("its packet to leave".into()),
            slot if u32::from(slot) <= self.nodes.slots => Some(format!("a null message in slot {}", slot - 1)),
            _ => Some("a sized message or a REQUEST".into()),
        }
    }
}

impl<Q: Queue, M: Model> EventHandler for Network<Q, M> {
    #[inline]
    fn happens(&self, event: &Event) -> bool {
        match event.what {
            WAKE => true,
            RESUME => {
                self.nodes.doing(event.task).set(RUNNING);
                true
            }
            _ => self.wire.happens(&self.nodes, event),
        }
    }
    #[inline]
    fn unsettled(&self) -> bool {
        self.wire.unsettled()
    }
    #[inline]
    fn settle(&self) {
        self.wire.settle(&self.nodes);
    }
    #[inline]
    fn touch(&self, task: u32) {
        self.nodes.touch(task);
    }
}
