//! Circuits: each node has one send port and one receive port, and a message holds both (Seidel & Davis 1992
//! §2.1, §2.2).
//!
//! A packet waits in the queue of its node's send port; then, holding that, for the links of its route; then,
//! holding those, for the receive port. A packet that is granted the last one passes at once. All requests of
//! a moment are seen before a port that is free at that moment is given away.
//!
//! - this file: a packet's way through its events. [`port`](self::port): one node's two ports and the packets
//!   that wait for them.
//! - [`links`](self::links): dimension-order routes. [`pool`](self::pool): header buffers.

mod links;
mod pool;
mod port;

use super::circuits::{Arbitration, Circuits};
use super::nodes::{LATE, Nodes, PARCEL, RESUME, RUNNING, WIRE};
use super::packet::{PacketKind, Parcel};
use super::programs::WaitFor;
use super::wire::{Model, Wire};
use crate::event::{Event, EventPriority, Queue};
use foregather_machine::{Error, Nanos, Packet, Rank, SplitMix};
use links::HeldLinks;
use pool::Headers;
use port::PortPair;
use std::cell::RefCell;

/// The packet has left the send port.
const LEFT: u32 = WIRE;
/// The packet has left the send port, and its program goes on.
const LEFT_AND_ON: u32 = WIRE + 1;
/// The program has prepared its packet.
const PREPARED: u32 = WIRE + 2;
/// A receive port is free although its message has not arrived.
const FREE: u32 = WIRE + 3;

pub struct Ports {
    model: Circuits,
    pairs: Box<[PortPair]>,
    links: Option<HeldLinks>,
    headers: Option<Headers>,
    /// Receive ports that may be given away at the end of the moment.
    open: RefCell<Vec<Rank>>,
    random: RefCell<SplitMix>,
}

impl Model for Circuits {
    type Wire = Ports;

    fn wire(self, size: u32) -> Result<Ports, Error> {
        self.check(size)?;
        Ok(Ports {
            model: self,
            pairs: (0..size).map(|_| PortPair::default()).collect(),
            links: self.links.then(HeldLinks::default),
            headers: self.pool.map(|pool| Headers::new(pool, size)),
            open: RefCell::default(),
            random: RefCell::new(SplitMix(self.seed)),
        })
    }
}

/// When a packet that passes from now on leaves, arrives, and lets its program go on.
struct PacketTimes {
    left: Nanos,
    there: Nanos,
    /// The program's work on it: from when, and how much.
    work: (Nanos, Nanos),
}

impl Ports {
    #[inline]
    fn pair(&self, node: Rank) -> &PortPair {
        &self.pairs[node as usize]
    }

    /// The passage of a packet from `now` on, by the rules.
    #[inline]
    fn passage(&self, parcel: &Parcel, now: Nanos) -> PacketTimes {
        let model = &self.model;
        let link_time = match &self.links {
            Some(_) => model.hop * u64::from(HeldLinks::hops(parcel.from, parcel.to).saturating_sub(1)),
            None => Nanos::ZERO,
        };
        match parcel.kind {
            PacketKind::Packet(Packet::Probe | Packet::Request) => {
                let half = Nanos(model.long.0 / 2) + link_time;
                PacketTimes { left: now + half, there: now + half, work: (now + half, Nanos::ZERO) }
            }
            PacketKind::Packet(Packet::Data) => {
                let end = now + model.bytes(parcel.bytes) + link_time;
                PacketTimes { left: end, there: end, work: (end, Nanos::ZERO) }
            }
            PacketKind::Null | PacketKind::Release | PacketKind::Packet(Packet::Short | Packet::Forced) => {
                let bytes = now + model.bytes(parcel.bytes) + link_time;
                let send = model.send - model.set_up;
                let there = bytes + (model.null - model.set_up - model.receive);
                PacketTimes { left: bytes + send, there, work: (bytes, send + self.jitter()) }
            }
        }
    }

    #[inline]
    fn jitter(&self) -> Nanos {
        if self.model.jitter == Nanos::ZERO {
            return Nanos::ZERO;
        }
        Nanos(self.random.borrow_mut().below(self.model.jitter.0 + 1))
    }

    /// Returns whether an arrival needs only its slot.
    #[inline]
    fn simple<Q>(&self, nodes: &Nodes<Q>, parcel: &Parcel) -> bool {
        parcel.kind == PacketKind::Null
            && nodes.recorder.is_none()
            && self.headers.is_none()
            && self.links.is_none()
            && self.model.receive == Nanos::ZERO
    }

    /// Enters the queue of the send port.
    #[inline]
    fn enqueue<Q: Queue>(&self, nodes: &Nodes<Q>, parcel: Parcel) {
        if self.pair(parcel.from).enqueue(parcel) {
            self.begin(nodes, parcel);
        }
    }

    /// Has the send port: asks for the links, then for the receive port.
    #[inline]
    fn begin<Q: Queue>(&self, nodes: &Nodes<Q>, parcel: Parcel) {
        if let Some(recorder) = &nodes.recorder {
            recorder.began(parcel.mark, nodes.engine.now());
        }
        if self.links.as_ref().is_none_or(|links| links.take_all(parcel.from, parcel.to)) {
            self.ask(parcel.from, parcel.to);
        }
    }

    /// Asks for the receive port.
    #[inline]
    fn ask(&self, from: Rank, to: Rank) {
        port::line_up(&self.pairs, from, to);
        self.reopen(to);
    }

    /// If that port is free and wanted, it will be given away at the end of the moment.
    #[inline]
    fn reopen(&self, node: Rank) {
        if self.pair(node).opens() {
            self.open.borrow_mut().push(node);
        }
    }

    /// A packet has both ports, now.
    #[inline]
    fn grant<Q: Queue>(&self, nodes: &Nodes<Q>, parcel: Parcel) {
        let now = nodes.engine.now();
        let PacketTimes { left, there, work: (from, work) } = self.passage(&parcel, now);
        if let Some(recorder) = &nodes.recorder {
            recorder.granted(parcel.mark, now, left, there);
        }
        // A program within its system call is not interrupted: the system is.
        let on = parcel.kind.of_program().then(|| match parcel.kind {
            PacketKind::Packet(Packet::Probe) => from,
            _ => nodes.noise.done(parcel.from, from, work),
        });
        if on == Some(left) {
            nodes.engine.at(left, EventPriority::Resume, parcel.from, LEFT_AND_ON);
        } else {
            nodes.engine.at(left, EventPriority::Resume, parcel.from, LEFT);
            if let Some(on) = on {
                nodes.engine.at(on, EventPriority::Resume, parcel.from, RESUME);
            }
        }
        if parcel.kind == PacketKind::Null
            && let Some(hold) = self.model.null_hold
        {
            nodes.engine.at(now + hold, EventPriority::Arrival, parcel.to, FREE);
        }
        let what = if self.simple(nodes, &parcel) { parcel.tag } else { nodes.keep(parcel) };
        nodes.engine.at(there, class(parcel.kind), parcel.to, what);
    }

    /// The send port is free.
    #[inline]
    fn left<Q: Queue>(&self, nodes: &Nodes<Q>, node: Rank) {
        if let Some(next) = self.pair(node).leave() {
            self.begin(nodes, next);
        }
    }

    /// The receive port is free.
    #[inline]
    fn free(&self, node: Rank) {
        self.pair(node).receiving.set(false);
        self.reopen(node);
    }

    fn free_links(&self, parcel: &Parcel) {
        if let Some(links) = &self.links {
            for (from, to) in links.free_all(parcel.from, parcel.to) {
                self.ask(from, to);
            }
        }
    }

    /// A packet is there: its ports are free, and unless a fault hit it, its node has it.
    fn arrive<Q: Queue>(&self, nodes: &Nodes<Q>, parcel: Parcel) -> bool {
        let deliver = |goes_on, parcel| self.deliver(nodes, parcel) || goes_on;
        nodes.arriving(parcel).into_iter().flatten().fold(false, deliver)
    }

    fn deliver<Q: Queue>(&self, nodes: &Nodes<Q>, parcel: Parcel) -> bool {
        if let Some(headers) = &self.headers {
            for more in headers.arrived(&parcel) {
                self.send(nodes, more);
            }
        }
        let (goes_on, answer) = nodes.deliver(&parcel);
        if let Some(answer) = answer {
            self.send(nodes, answer);
        }
        goes_on
    }

    /// Records a packet and queues it.
    fn send<Q: Queue>(&self, nodes: &Nodes<Q>, mut parcel: Parcel) {
        if let Some(recorder) = &nodes.recorder {
            parcel.mark = recorder.asked(&parcel, nodes.engine.now());
            // The one packet that its program has waited for is one without a header buffer.
            if parcel.kind.takes_header() {
                recorder.got(parcel.from, nodes.engine.now());
            }
        }
        self.enqueue(nodes, parcel);
    }

    /// A packet's bits are at the far end: if the processor must handle them, that comes first.
    fn reaches<Q: Queue>(&self, nodes: &Nodes<Q>, event: &Event) -> bool {
        let parcel = nodes.kept(event.what & !HANDLED);
        if event.what & LATE != 0 {
            if let Some(recorder) = &nodes.recorder {
                recorder.arrived(parcel.mark, nodes.engine.now());
            }
            return self.deliver(nodes, parcel);
        }
        let for_program = matches!(parcel.kind, PacketKind::Null | PacketKind::Packet(Packet::Short | Packet::Forced));
        if event.what & HANDLED == 0 && for_program && self.model.receive > Nanos::ZERO {
            let when = nodes.noise.done(parcel.to, nodes.engine.now(), self.model.receive);
            nodes.engine.at(when, EventPriority::Arrival, parcel.to, HANDLED | nodes.keep(parcel));
            return false;
        }
        if let Some(recorder) = &nodes.recorder {
            recorder.arrived(parcel.mark, nodes.engine.now());
        }
        self.free_links(&parcel);
        if parcel.kind != PacketKind::Null || self.model.null_hold.is_none() {
            self.free(event.task);
        }
        self.arrive(nodes, parcel)
    }
}

/// A mark of a packet's event: the processor has handled it.
const HANDLED: u32 = 1 << 30;

/// The system answers a PROBE after the programs of that moment have asked for their ports.
#[inline]
const fn class(kind: PacketKind) -> EventPriority {
    if matches!(kind, PacketKind::Packet(Packet::Probe | Packet::Request)) {
        EventPriority::System
    } else {
        EventPriority::Arrival
    }
}

impl Wire for Ports {
    #[inline]
    fn post<Q: Queue>(&self, nodes: &Nodes<Q>, parcel: Parcel) {
        if self.model.set_up > Nanos::ZERO && !matches!(parcel.kind, PacketKind::Packet(Packet::Probe | Packet::Data)) {
            self.pair(parcel.from).prepare(parcel);
            let when = nodes.noise.done(parcel.from, nodes.engine.now(), self.model.set_up);
            return nodes.engine.at(when, EventPriority::Resume, parcel.from, PREPARED);
        }
        self.admit(nodes, parcel);
    }

    #[inline]
    fn happens<Q: Queue>(&self, nodes: &Nodes<Q>, event: &Event) -> bool {
        match event.what {
            LEFT => self.left(nodes, event.task),
            LEFT_AND_ON => {
                self.left(nodes, event.task);
                nodes.doing(event.task).set(RUNNING);
                return true;
            }
            PREPARED => {
                if let Some(parcel) = self.pair(event.task).prepared() {
                    self.admit(nodes, parcel);
                }
            }
            FREE => self.free(event.task),
            slot if slot & PARCEL == 0 => {
                if self.model.null_hold.is_none() {
                    self.free(event.task);
                }
                if nodes.fates.is_some() {
                    return self.arrive(nodes, Parcel::null(event.task, event.task, slot));
                }
                return nodes.arrives(event.task, slot);
            }
            _ => return self.reaches(nodes, event),
        }
        false
    }

    #[inline]
    fn unsettled(&self) -> bool {
        !self.open.borrow().is_empty()
    }

    fn settle<Q: Queue>(&self, nodes: &Nodes<Q>) {
        let mut open = self.open.take();
        for &node in &open {
            let pair = self.pair(node);
            pair.open.set(false);
            let from = match self.model.arbitration {
                Arbitration::Fifo => port::first(&self.pairs, node),
                Arbitration::LowestDimension => port::lowest(&self.pairs, node),
                Arbitration::Random => port::any(&self.pairs, node, &mut self.random.borrow_mut()),
            };
            if let Some(parcel) = self.pair(from).sending.get() {
                pair.receiving.set(true);
                self.grant(nodes, parcel);
            }
        }
        open.clear();
        // Keeps the memory that it has taken.
        open.append(&mut self.open.borrow_mut());
        self.open.replace(open);
    }

    fn short_limit(&self) -> usize {
        self.model.short_limit as usize
    }
}

impl Ports {
    /// A packet that may have to wait for a header buffer first.
    #[inline]
    fn admit<Q: Queue>(&self, nodes: &Nodes<Q>, parcel: Parcel) {
        match &self.headers {
            None => self.send(nodes, parcel),
            Some(headers) => {
                if let Some(parcel) = headers.admit(parcel) {
                    self.send(nodes, parcel);
                } else if let Some(recorder) = &nodes.recorder {
                    recorder.waits(parcel.from, WaitFor::Buffer(parcel.to), nodes.engine.now());
                }
            }
        }
    }
}
