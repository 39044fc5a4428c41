//! Why a program was late: its last action, what that packet had waited for, which packets had held it up,
//! and so on backwards. The chain follows the packet that waited, not the one that held the port: that one
//! had its turn, and the question is why this one came behind it.
use super::busy::Busy;
use super::packet::PacketKind;
use super::programs::WaitFor;
use super::record::{Circuit, Record};
use foregather_machine::{Nanos, Packet, Rank};

/// The last thing that a program did before a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Last {
    /// It took this packet, for which it had waited.
    Had(Circuit),
    /// This packet of its own left.
    Sent(Circuit),
}

impl Last {
    /// The packet of either.
    pub const fn packet(&self) -> &Circuit {
        match self {
            Self::Had(packet) | Self::Sent(packet) => packet,
        }
    }

    /// The time of it.
    pub const fn when(&self) -> Nanos {
        match self {
            Self::Had(packet) => packet.arrived,
            Self::Sent(packet) => packet.left,
        }
    }
}

/// One link of the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The packet that was late.
    pub packet: Circuit,
    /// Packets that held its sender's send port while it waited for that.
    pub send_port: Vec<Circuit>,
    /// Packets that held its receiver's receive port while it waited for that.
    pub receive_port: Vec<Circuit>,
    /// The sender's last action before it sent the packet; `None` if that was before the time asked about.
    pub after: Option<Last>,
    /// The reasons why its sender did not send it as soon as that was done.
    pub busy: Vec<Busy>,
}

impl Held {
    /// Returns whether it was delayed itself, and did not just follow a delayed one.
    pub fn is_late(&self) -> bool {
        self.packet.granted > self.packet.asked || !self.busy.is_empty()
    }
}

impl Record {
    /// Why `node` was not done before `end`: its last action, what that had waited for, and so on backwards
    /// until `begin`, or until no packet had waited. The latest comes first.
    pub fn explain(&self, node: Rank, begin: Nanos, end: Nanos) -> Vec<Held> {
        let mut chain = Vec::new();
        let within = |(place, last): (usize, Last)| (last.when() > begin).then_some((place, last));
        let mut next = self.last(node, end, self.0.len()).and_then(within);
        while let Some((place, last)) = next {
            let packet = *last.packet();
            next = self.before(place).and_then(within);
            let after = next.map(|(_, last)| last);
            chain.push(Held {
                packet,
                send_port: self.holders(place, packet.asked, packet.began, |circuit| {
                    (circuit.from == packet.from, circuit.began, circuit.left)
                }),
                receive_port: self.holders(place, packet.began, packet.granted, |circuit| {
                    (
                        circuit.to == packet.to,
                        circuit.granted,
                        if circuit.arrived < Nanos::MAX { circuit.arrived } else { circuit.left },
                    )
                }),
                after,
                busy: self.kept_busy(&packet, after, begin),
            });
        }
        let late = chain.iter().rposition(Held::is_late).map_or(0, |place| place + 1);
        chain.truncate(late);
        chain
    }

    /// What kept the sender of a packet from sending it as soon as it could.
    fn kept_busy(&self, packet: &Circuit, after: Option<Last>, begin: Nanos) -> Vec<Busy> {
        let from = match after {
            Some(last) if last.when() >= packet.asked => return vec![],
            // If an interrupt is over before the packet has left, its program comes back from the send later.
            Some(Last::Sent(sent)) if sent.kind == PacketKind::Null => sent.granted,
            last => last.map_or(begin, |last| last.when()),
        };
        self.1.busy(packet.from, from, packet.asked)
    }

    /// The last action of the program of `node`, up to a moment and among the packets before that place of
    /// the record.
    fn last(&self, node: Rank, by: Nanos, before: usize) -> Option<(usize, Last)> {
        let circuits = || self.0[..before].iter().enumerate();
        let sent = circuits().filter(|(_, circuit)| circuit.from == node && circuit.kind.of_program() && circuit.left <= by);
        let sent =
            sent.max_by_key(|(place, circuit)| (circuit.left, *place)).map(|(place, circuit)| (place, Last::Sent(*circuit)));
        let waits = self.1.waits.iter().filter(|wait| wait.node == node && wait.until <= by);
        let wait = waits.max_by_key(|wait| wait.until);
        let had = wait.and_then(|wait| {
            let came = |circuit: &Circuit| circuit.to == node && circuit.arrived <= wait.until && wait.awaited.is(circuit);
            let (place, circuit) =
                circuits().filter(|(_, circuit)| came(circuit)).max_by_key(|(place, circuit)| (circuit.arrived, *place))?;
            Some((place, Last::Had(*circuit)))
        });
        sent.into_iter().chain(had).max_by_key(|(_, last)| last.when())
    }

    /// The last action of the sender of the packet at that place before it sent it.
    fn before(&self, place: usize) -> Option<(usize, Last)> {
        let packet = self.0[place];
        if packet.kind.of_program() {
            return self.last(packet.from, packet.asked, place);
        }
        // The system answers: the program has no part in it.
        let asks = |circuit: &Circuit| (circuit.from, circuit.to, circuit.tag) == (packet.to, packet.from, packet.tag);
        let probe =
            self.0[..place].iter().rposition(|circuit| circuit.kind == PacketKind::Packet(Packet::Probe) && asks(circuit))?;
        (packet.kind == PacketKind::Packet(Packet::Request)).then(|| (probe, Last::Had(self.0[probe])))
    }

    /// The packets that held a port while the packet at that place waited for it: `held` says whether a
    /// packet needs that port, and from when to when it had it.
    fn holders(&self, place: usize, since: Nanos, until: Nanos, held: impl Fn(&Circuit) -> (bool, Nanos, Nanos)) -> Vec<Circuit> {
        let meanwhile = |circuit: &Circuit| {
            let (same, from, to) = held(circuit);
            same && from < until && to > since
        };
        let others = self.0.iter().enumerate().filter(|(other, circuit)| *other != place && meanwhile(circuit));
        let mut all: Vec<Circuit> = others.map(|(_, circuit)| *circuit).collect();
        all.sort_by_key(|circuit| held(circuit).1);
        all
    }
}

impl WaitFor {
    /// Returns whether this packet ends the wait.
    pub(super) fn is(self, circuit: &Circuit) -> bool {
        let of = |from, tag| (circuit.from, circuit.tag) == (from, tag);
        match (self, circuit.kind) {
            (Self::Null(slot), PacketKind::Null) => circuit.tag == slot,
            (Self::Message(from, tag), PacketKind::Packet(Packet::Short | Packet::Forced | Packet::Data))
            | (Self::Request(from, tag), PacketKind::Packet(Packet::Request)) => of(from, tag),
            (Self::Buffer(from), _) => circuit.from == from,
            _ => false,
        }
    }
}
