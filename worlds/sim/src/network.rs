//! The smallest network: every node can send to every other; a message occupies its sender and then travels.
use crate::engine::{Engine, Run};
use crate::event::{Class, Event, Queue};
use foregather_machine::{Cause, Clock, Endpoint, Error, Member, Nanos, Rank};
use std::cell::Cell;
use std::pin::Pin;
use std::task::{Context, Poll};

/// What a null message costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// For how long the sender is busy: `s` of Seidel & Davis 1992 Table I.
    pub send: Nanos,
    /// From the start of the send until the receiver has it: `b_s`.
    pub latency: Nanos,
}

impl Link {
    /// The iPSC/860 hypercube (Seidel & Davis 1992 Table I).
    pub const IPSC860: Self = Self { send: Nanos::from_us(44), latency: Nanos::from_us(75) };
}

/// A resumed sender, as opposed to the slot in which a message arrives.
const RESUME: u32 = u32::MAX - 1;
/// Waiting for no slot.
const NOTHING: u32 = u32::MAX;

/// What the nodes share.
pub struct Network<Q> {
    engine: Engine<Q>,
    link: Link,
    size: u32,
    slots: u32,
    arrived: Box<[Cell<u32>]>,
    waiting: Box<[Cell<u32>]>,
    gone: Cell<Option<Rank>>,
}

/// One node's end.
pub struct Node<'n, Q> {
    network: &'n Network<Q>,
    rank: Rank,
}

impl<Q: Queue> Network<Q> {
    /// `size` nodes with `slots` slots each.
    pub fn new(size: u32, slots: u32, link: Link) -> Self {
        let arrived = vec![Cell::new(0); size as usize * slots as usize].into();
        let waiting = vec![Cell::new(NOTHING); size as usize].into();
        Self { engine: Engine::default(), link, size, slots, arrived, waiting, gone: Cell::new(None) }
    }

    /// The nodes, in the order of their ranks.
    pub fn nodes(&self) -> Box<[Node<'_, Q>]> {
        (0..self.size).map(|rank| Node { network: self, rank }).collect()
    }

    /// Runs `program` on every node, the `i`-th from `start(i)` on.
    pub fn run<'n, F: Future>(
        &'n self,
        nodes: &'n [Node<'n, Q>],
        start: impl Fn(Rank) -> Nanos,
        program: impl Fn(&'n Node<'n, Q>) -> F,
    ) -> Run<F::Output> {
        self.engine.run(nodes.iter().map(program), start, |event| self.deliver(event))
    }

    fn deliver(&self, event: &Event) -> bool {
        if event.what == RESUME {
            return true;
        }
        let slot = self.slot(event.task, event.what);
        slot.set(slot.get() + 1);
        self.waiting[event.task as usize].get() == event.what
    }

    #[inline]
    fn slot(&self, rank: Rank, slot: u32) -> &Cell<u32> {
        assert!(slot < self.slots, "there is no slot {slot}: the network has {}", self.slots);
        &self.arrived[(rank * self.slots + slot) as usize]
    }

    /// A wait of `rank` was dropped in the middle: nobody's wait can be relied on any more.
    #[cold]
    fn poison(&self, rank: Rank) {
        if self.gone.get().is_none() {
            self.gone.set(Some(rank));
            for peer in 0..self.size {
                self.engine.at(self.engine.now(), Class::Resume, peer, RESUME);
            }
        }
    }
}

impl<Q: Queue> Clock for Node<'_, Q> {
    #[inline]
    fn now(&self) -> Nanos {
        self.network.engine.now()
    }
    #[inline]
    fn delay(&self, span: Nanos) -> impl Future<Output = ()> {
        let engine = &self.network.engine;
        engine.at(engine.now() + span, Class::Resume, self.rank, RESUME);
        Until { node: self, time: engine.now() + span }
    }
}

impl<Q: Queue> Member for Node<'_, Q> {
    #[inline]
    fn rank(&self) -> Rank {
        self.rank
    }
    #[inline]
    fn size(&self) -> u32 {
        self.network.size
    }
}

impl<Q: Queue> Endpoint for Node<'_, Q> {
    #[inline]
    fn signal(&self, peer: Rank, slot: u32) -> impl Future<Output = Result<(), Error>> {
        let (engine, link) = (&self.network.engine, self.network.link);
        let now = engine.now();
        engine.at(now + link.latency, Class::Arrival, peer, slot);
        engine.at(now + link.send, Class::Resume, self.rank, RESUME);
        Sent(Until { node: self, time: now + link.send })
    }
    #[inline]
    fn wait(&self, slot: u32) -> impl Future<Output = Result<(), Error>> {
        Arrival { node: self, slot, pending: false }
    }
}

/// Ready from a moment on. A node may be polled before, because the group was poisoned.
struct Until<'n, Q> {
    node: &'n Node<'n, Q>,
    time: Nanos,
}

impl<Q: Queue> Future for Until<'_, Q> {
    type Output = ();
    #[inline]
    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.node.now() >= self.time { Poll::Ready(()) } else { Poll::Pending }
    }
}

struct Sent<'n, Q>(Until<'n, Q>);

impl<Q: Queue> Future for Sent<'_, Q> {
    type Output = Result<(), Error>;
    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Pin::new(&mut self.0).poll(context).map(Ok)
    }
}

/// Ready once the slot holds a message.
struct Arrival<'n, Q: Queue> {
    node: &'n Node<'n, Q>,
    slot: u32,
    pending: bool,
}

impl<Q: Queue> Future for Arrival<'_, Q> {
    type Output = Result<(), Error>;
    #[inline]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        let (network, rank) = (self.node.network, self.node.rank);
        let slot = network.slot(rank, self.slot);
        let waiting = &network.waiting[rank as usize];
        let result = if slot.get() > 0 {
            slot.set(slot.get() - 1);
            Ok(())
        } else if let Some(by) = network.gone.get() {
            Err(Error::from(Cause::Poisoned { by: Some(by) }))
        } else {
            self.pending = true;
            waiting.set(self.slot);
            return Poll::Pending;
        };
        self.pending = false;
        waiting.set(NOTHING);
        Poll::Ready(result)
    }
}

impl<Q: Queue> Drop for Arrival<'_, Q> {
    #[inline]
    fn drop(&mut self) {
        if self.pending {
            self.node.network.poison(self.node.rank);
        }
    }
}
