//! One case, set up to the microsecond: who comes when, and whose interrupt falls where.
use anyhow::{Result, bail};
use foregather_machine::{Error, Nanos, Rank};
use foregather_sim::event::Calendar;
use foregather_sim::net::{Circuits, Interrupts, Network, Node, Record, profile};

/// The only message length of most claims: 32 KiB.
pub(super) const M: usize = 32 << 10;
/// Between two interrupts where one alone is wanted.
const SELDOM: Nanos = Nanos::from_ms(10_000);
const SLOTS: u32 = 16;

/// A node of the simulated iPSC/860.
pub(super) type Ipsc<'n> = Node<'n, Calendar, Circuits>;

/// What is set up.
#[derive(Clone, Debug)]
pub(super) struct Directed {
    pub(super) nodes: u32,
    pub(super) model: Circuits,
    /// Who comes late, and by how much.
    pub(super) late: Vec<(Rank, Nanos)>,
    /// One interrupt: whose, when, how long.
    pub(super) interrupt: Option<(Rank, Nanos, Nanos)>,
}

/// What came of it.
pub(super) struct DirectedRun<T> {
    /// When each node was done.
    pub(super) ends: Vec<Nanos>,
    pub(super) outputs: Vec<T>,
    pub(super) record: Record,
}

impl Directed {
    /// Undisturbed nodes that all come at once.
    pub(super) fn new(nodes: u32) -> Self {
        Self { nodes, model: profile::IPSC860, late: vec![], interrupt: None }
    }

    /// The node comes so many microseconds late.
    pub(super) fn late(mut self, node: Rank, us: u64) -> Self {
        self.late.push((node, Nanos::from_us(us)));
        self
    }

    /// The last node does.
    pub(super) fn last_late(self, us: u64) -> Self {
        let last = self.nodes - 1;
        self.late(last, us)
    }

    /// The node's program is interrupted once.
    pub(super) fn interrupted(self, node: Rank, at: Nanos, length: Nanos) -> Self {
        Self { interrupt: Some((node, at, length)), ..self }
    }

    /// By how much a node comes late.
    pub(super) fn lateness(&self, node: Rank) -> Nanos {
        self.late.iter().find(|late| late.0 == node).map_or(Nanos::ZERO, |late| late.1)
    }

    /// Plays it: everybody runs the program.
    pub(super) fn run<T>(&self, program: impl AsyncFn(&Ipsc<'_>) -> Result<T, Error>) -> Result<DirectedRun<T>> {
        let mut network = Network::<Calendar, _>::new(self.nodes, SLOTS, self.model)?.without_contents().recording();
        if let Some((node, at, length)) = self.interrupt {
            network = network.interrupted(Interrupts { length, period: SELDOM }, 1)?;
            for other in 0..self.nodes {
                // The others' are far away.
                network = network.phase(other, if other == node { at } else { Nanos(SELDOM.0 / 2) });
            }
        }
        let nodes = network.nodes();
        let run = network.run(&nodes, |rank| self.lateness(rank), |node| program(node));
        if let Some(&node) = run.deadlocked().first() {
            bail!("node {node} waits for ever for {}", network.waits_for(node).unwrap_or_else(|| "nothing".into()));
        }
        let outputs = run.outputs.into_iter().flatten().collect::<Result<_, _>>()?;
        Ok(DirectedRun { ends: run.finished, outputs, record: network.record() })
    }
}

impl<T> DirectedRun<T> {
    /// When the last node was done; the first one came at 0.
    pub(super) fn cost(&self) -> Nanos {
        self.ends.iter().copied().max().unwrap_or(Nanos::ZERO)
    }

    /// From the first exit to the last.
    pub(super) fn precision(&self) -> Nanos {
        self.cost() - self.ends.iter().copied().min().unwrap_or(Nanos::ZERO)
    }
}
