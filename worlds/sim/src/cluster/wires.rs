//! NICs and wires: which are busy until when. A message is cut into fragments, which follow each other
//! through the sending NIC, its wire, the switch, the receiver's wire and NIC, all five at work at the same
//! time.
use super::nic::Nic;
use foregather_machine::{Nanos, Rank};
use std::cell::Cell;

/// The NICs and wires of all nodes.
pub(super) struct Wires {
    nic: Nic,
    /// By node: until when its NIC prepares, its wire carries away, its wire brings, its NIC takes in.
    busy: Box<[[Cell<Nanos>; 4]]>,
}

const PREPARES: usize = 0;
const CARRIES: usize = 1;
const BRINGS: usize = 2;
const TAKES: usize = 3;

/// A message under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Flight {
    pub(super) bytes: u32,
    /// When its first fragment was prepared, and when it began on the wire.
    prepared: Nanos,
    pub(super) begun: Nanos,
    /// When its last fragment had left.
    pub(super) left: Nanos,
}

impl Flight {
    /// The flight of a message that a NIC keeps within its node.
    pub(super) fn within(bytes: u32) -> Self {
        Self { bytes, ..Self::default() }
    }

    /// When its first fragment, or the first bits of it, can be at the receiver's wire.
    pub(super) fn at_switch(&self, nic: &Nic) -> Nanos {
        self.begun + nic.wire(self.bytes.min(nic.cut)) + nic.latency
    }

    /// Each fragment's bytes, when it was prepared, and when it had left.
    fn fragments(self, nic: &Nic) -> impl Iterator<Item = (u32, Nanos, Nanos)> {
        let (cut, fragment, nic) = (nic.cut, nic.fragment, *nic);
        let count = self.bytes.div_ceil(cut).max(1);
        let (mut prepared, mut left) = (self.prepared, self.begun);
        (0..count).map(move |number| {
            if number > 0 {
                prepared += fragment;
            }
            let bytes = (self.bytes - number * cut).min(cut);
            left = left.max(prepared) + nic.wire(bytes);
            (bytes, prepared, left)
        })
    }
}

impl Wires {
    pub(super) fn new(nic: Nic, nodes: u32) -> Self {
        Self { nic, busy: (0..nodes).map(|_| Default::default()).collect() }
    }

    /// A message leaves a node; its descriptor is posted at `ready`.
    pub(super) fn leave(&self, from: Rank, bytes: u32, ready: Nanos) -> Flight {
        let busy = &self.busy[from as usize];
        let prepared = ready.max(busy[PREPARES].get()) + self.nic.fragment;
        let begun = prepared.max(busy[CARRIES].get());
        let mut flight = Flight { bytes, prepared, begun, left: begun };
        let (_, prepared, left) = flight.fragments(&self.nic).last().expect("at least one fragment");
        flight.left = left;
        busy[PREPARES].set(prepared);
        busy[CARRIES].set(left + self.nic.gap);
        flight
    }

    /// The message reaches the receiver's wire now; returns when it is in memory there.
    pub(super) fn land(&self, to: Rank, flight: Flight) -> Nanos {
        let (busy, nic) = (&self.busy[to as usize], &self.nic);
        if !nic.store_and_forward {
            let taken =
                flight.fragments(nic).fold(Nanos::ZERO, |taken, (_, _, left)| taken.max(left + nic.latency) + nic.fragment);
            return taken;
        }
        let (mut brought, mut taken) = (busy[BRINGS].get(), busy[TAKES].get());
        for (bytes, _, left) in flight.fragments(nic) {
            brought = brought.max(left + nic.latency) + nic.wire(bytes);
            taken = taken.max(brought) + nic.fragment;
        }
        busy[BRINGS].set(brought);
        busy[TAKES].set(taken);
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CARD: Nic = Nic::VIA_FAST_ETHERNET;

    fn one_way(bytes: u32) -> Nanos {
        let wires = Wires::new(CARD, 2);
        wires.land(1, wires.leave(0, bytes, Nanos::ZERO))
    }

    #[test]
    fn a_message_without_data_takes_what_the_nic_says() {
        assert_eq!(one_way(0), CARD.empty() - CARD.post - CARD.reap - CARD.receive);
    }

    /// All stages are at work at once: the time is that of the slowest, and of the last fragment's way
    /// through the others.
    #[test]
    fn long_messages_go_at_the_rate_of_the_wire() {
        let whole = CARD.wire(1_500);
        assert_eq!(one_way(15_000) - one_way(1_500), whole * 9);
        assert_eq!(one_way(1_500) - one_way(0), (whole - CARD.wire(0)) * 2);
    }

    #[test]
    fn two_senders_share_the_receivers_wire() {
        let wires = Wires::new(CARD, 3);
        let alone = wires.land(2, wires.leave(0, 15_000, Nanos::ZERO));
        let second = wires.land(2, wires.leave(1, 15_000, Nanos::ZERO));
        assert_eq!(second - alone, CARD.wire(1_500) * 10);
    }

    #[test]
    fn by_loggp_a_message_takes_overhead_latency_and_its_bytes() {
        let model = foregather_machine::LogGp {
            latency: Nanos(1_000),
            send_overhead: Nanos(300),
            receive_overhead: Nanos(200),
            gap: Nanos(50),
            byte_ps: 500,
            variant: foregather_machine::LogGpVariant::SenderOnly,
        };
        let wires = Wires::new(Nic::loggp(model), 2);
        assert_eq!(wires.land(1, wires.leave(0, 1_000, Nanos(300))), Nanos(300 + 500 + 1_000));
        assert_eq!(wires.leave(0, 0, Nanos::ZERO).begun, Nanos(300 + 500 + 50));
    }
}
