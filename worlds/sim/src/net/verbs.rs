//! The verbs of a node's program: compute, send null messages and sized ones, and wait for them.
use super::leaf::{Request, Sent, Wait, WantedMessage, WantedNull, compute};
use super::node::Node;
use super::nodes::SENDING;
use super::packet::{NONE, PacketKind, Parcel};
use super::wire::{Model, Wire};
use crate::event::Queue;
use foregather_machine::{Cause, Clock, Endpoint, Error, Member, Nanos, Packet, Port, Rank};

impl<Q: Queue, M: Model> Node<'_, Q, M> {
    #[inline]
    fn send(&self, parcel: Parcel) -> Sent<'_, Q, M> {
        let nodes = self.nodes();
        let refused = if parcel.to >= nodes.size {
            Some(Cause::Rank { rank: parcel.to, size: nodes.size }.into())
        } else if parcel.kind == PacketKind::Null && parcel.tag >= nodes.slots {
            Some(Cause::Slot { slot: parcel.tag, slots: nodes.slots }.into())
        } else {
            self.doing().set(SENDING);
            self.wire().post(nodes, parcel);
            None
        };
        Sent { node: self, refused }
    }
}

impl<Q: Queue, M: Model> Clock for Node<'_, Q, M> {
    #[inline]
    fn now(&self) -> Nanos {
        self.shown()
    }
    #[inline]
    fn delay(&self, span: Nanos) -> impl Future<Output = ()> {
        compute(self, span)
    }
}

impl<Q: Queue, M: Model> Member for Node<'_, Q, M> {
    #[inline]
    fn rank(&self) -> Rank {
        self.number()
    }
    #[inline]
    fn size(&self) -> u32 {
        self.nodes().size
    }
}

impl<Q: Queue, M: Model> Endpoint for Node<'_, Q, M> {
    #[inline]
    fn signal(&self, peer: Rank, slot: u32) -> impl Future<Output = Result<(), Error>> {
        self.send(Parcel::null(self.number(), peer, slot))
    }
    #[inline]
    fn wait(&self, slot: u32) -> impl Future<Output = Result<(), Error>> {
        Wait::new(self, WantedNull(slot))
    }
}

impl<Q: Queue, M: Model> Port for Node<'_, Q, M> {
    fn short_limit(&self) -> usize {
        self.wire().short_limit()
    }

    fn transmit(&self, to: Rank, packet: Packet, tag: u32, bytes: &[u8]) -> impl Future<Output = Result<(), Error>> {
        let room = if packet == Packet::Short { self.short_limit() } else { u32::MAX as usize };
        if bytes.len() > room || to >= self.nodes().size {
            let cause = if to >= self.nodes().size {
                Cause::Rank { rank: to, size: self.nodes().size }
            } else {
                Cause::Length { what: "a packet", bytes: bytes.len(), room }
            };
            return Sent { node: self, refused: Some(cause.into()) };
        }
        let load = self.nodes().load(bytes);
        let (kind, bytes) = (PacketKind::Packet(packet), bytes.len() as u32);
        self.send(Parcel { kind, bytes, load, mark: NONE, ..Parcel::null(self.number(), to, tag) })
    }

    fn post(&self, from: Rank, tag: u32) -> Result<(), Error> {
        let nodes = self.nodes();
        if from >= nodes.size {
            return Err(Cause::Rank { rank: from, size: nodes.size }.into());
        }
        nodes.inbox(self.number()).borrow_mut().post((from, tag));
        Ok(())
    }

    fn accept(&self, from: Rank, tag: u32, into: &mut [u8]) -> impl Future<Output = Result<usize, Error>> {
        Wait::new(self, WantedMessage { from, tag, into })
    }

    fn requested(&self, from: Rank, tag: u32) -> impl Future<Output = Result<(), Error>> {
        Wait::new(self, Request { from, tag })
    }
}
