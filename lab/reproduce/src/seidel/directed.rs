//! Cases that are set up to the microsecond, and what their nodes do: the operations of Table II, and a
//! barrier with a shift behind it.
use anyhow::{Result, bail};
use foregather_barrier::{Algorithm, SignalCost};
use foregather_machine::{Clock, Error, Member, Nanos, Port, Rank};
use foregather_message::{Protocol, Ring, exchange, receive, send, synchronised_exchange};
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
    /// Which nodes come late, and by how much.
    pub(super) late: Vec<(Rank, Nanos)>,
    /// One interrupt: whose, when, how long.
    pub(super) interrupt: Option<(Rank, Nanos, Nanos)>,
}

/// A case that was played.
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

    /// The node comes `us` microseconds late.
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

    /// Plays it: all nodes run the program.
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
            bail!("node {node} waits forever for {}", network.waits_for(node).unwrap_or_else(|| "nothing".into()));
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

const TAG: u32 = 3;

/// The paper's three.
pub(super) const GSYNC: Algorithm = Algorithm::Butterfly;
pub(super) const SYNC0: Algorithm = Algorithm::Sync0;
pub(super) const RDS: Algorithm = Algorithm::Rds { hop: SignalCost::IPSC860 };
pub(super) const THREE: [Algorithm; 3] = [GSYNC, SYNC0, RDS];

/// Node 0 sends to node 1.
pub(super) fn sent(bytes: usize, protocol: Protocol) -> Result<DirectedRun<()>> {
    Directed::new(2).run(async |node: &Ipsc<'_>| {
        let out = vec![0; bytes];
        if node.rank() == 0 {
            return send(node, 1, TAG, &out, protocol).await;
        }
        node.post(0, TAG)?;
        receive(node, 0, TAG, &mut []).await.map(drop)
    })
}

/// Two nodes exchange messages, the second one late, by microseconds or to the nanosecond.
pub(super) fn exchanged(bytes: usize, protocol: Protocol, synchronised: bool, late: Nanos) -> Result<DirectedRun<()>> {
    let mut directed = Directed::new(2);
    directed.late.push((1, late));
    directed.run(async |node: &Ipsc<'_>| {
        let (peer, out) = (1 - node.rank(), vec![0; bytes]);
        let came = if synchronised {
            synchronised_exchange(node, peer, TAG, &out, &mut [], protocol).await
        } else {
            exchange(node, peer, TAG, &out, &mut [], protocol).await
        };
        came.map(drop)
    })
}

/// A shift around a ring without a synchronisation. The receives are posted before any node is late, as
/// forced messages need it.
pub(super) fn shifted(directed: &Directed, bytes: usize, protocol: Protocol) -> Result<DirectedRun<()>> {
    let punctual = Directed { late: vec![], ..directed.clone() };
    punctual.run(async |node: &Ipsc<'_>| {
        let ring = Ring::of(node.rank(), node.size())?;
        ring.post(node, TAG)?;
        node.delay(directed.lateness(node.rank())).await;
        shift(node, ring, bytes, protocol).await
    })
}

async fn shift(node: &Ipsc<'_>, ring: Ring, bytes: usize, protocol: Protocol) -> Result<(), Error> {
    ring.shift(node, TAG, &vec![0; bytes], &mut [], protocol).await.map(drop)
}

/// A barrier alone.
pub(super) fn synchronised(directed: &Directed, kind: Algorithm) -> Result<DirectedRun<()>> {
    directed.run(async |node: &Ipsc<'_>| kind.over(node).await)
}

/// A barrier and a shift: when each node was through the barrier.
pub(super) fn synchronised_shift(
    directed: &Directed,
    kind: Algorithm,
    bytes: usize,
    protocol: Protocol,
) -> Result<DirectedRun<Nanos>> {
    directed.run(async |node: &Ipsc<'_>| {
        let ring = Ring::of(node.rank(), node.size())?;
        ring.post(node, TAG)?;
        kind.over(node).await?;
        let left = node.ideal();
        shift(node, ring, bytes, protocol).await?;
        Ok(left)
    })
}

/// The longest time that a node took from its exit of the barrier to the end of its shift.
pub(super) fn slowest(played: &DirectedRun<Nanos>) -> Nanos {
    played.ends.iter().zip(&played.outputs).map(|(&end, &left)| end - left).max().unwrap_or(Nanos::ZERO)
}

/// The first whole number between `from` and `to` for which `holds`, which then goes on holding; `to` if
/// there is none.
pub(super) fn first(from: u64, to: u64, mut holds: impl FnMut(u64) -> Result<bool>) -> Result<u64> {
    let (mut low, mut high) = (from, to);
    while low < high {
        let middle = low.midpoint(high);
        if holds(middle)? {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Ok(high)
}
