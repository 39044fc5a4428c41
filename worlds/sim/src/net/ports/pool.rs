//! Header buffers (Seidel & Davis 1992 §2.4): each null, short and PROBE message takes one of those that its
//! receiver keeps for its sender. The headers of messages the other way return them, one each; if too few go
//! that way, the receiver's system runs out and sends a release message of its own.
use crate::net::circuits::HeaderBuffers;
use crate::net::packet::{PacketKind, Parcel};
use foregather_machine::Rank;
use std::cell::RefCell;

/// One node's account with another.
#[derive(Clone, Copy, Default)]
struct PeerBuffers {
    peer: Rank,
    /// Buffers there that its own messages have taken.
    taken: u16,
    /// Buffers here that the peer's messages have taken.
    owed: u16,
}

#[derive(Default)]
struct Node {
    /// Few: a node talks to its neighbours.
    accounts: Vec<PeerBuffers>,
    /// A packet of the program that waits for a buffer.
    stalled: Option<Parcel>,
}

impl Node {
    fn with(&mut self, peer: Rank) -> &mut PeerBuffers {
        let known = self.accounts.iter().position(|account| account.peer == peer);
        let place = known.unwrap_or_else(|| {
            self.accounts.push(PeerBuffers { peer, ..PeerBuffers::default() });
            self.accounts.len() - 1
        });
        &mut self.accounts[place]
    }

    /// Takes a buffer at the receiver for a packet, if there is one, and gives one of its own back with it.
    fn stamp(&mut self, mut parcel: Parcel, buffers: u16) -> Result<Parcel, Parcel> {
        if parcel.kind.takes_header() {
            let account = self.with(parcel.to);
            if account.taken == buffers {
                return Err(parcel);
            }
            account.taken += 1;
            parcel.returns = account.owed.min(1);
            account.owed -= parcel.returns;
        }
        Ok(parcel)
    }
}

pub(super) struct Headers {
    pool: HeaderBuffers,
    nodes: Box<[RefCell<Node>]>,
}

impl Headers {
    pub(super) fn new(pool: HeaderBuffers, size: u32) -> Self {
        Self { pool, nodes: (0..size).map(|_| RefCell::default()).collect() }
    }

    /// Lets a packet pass, or keeps it until its receiver has a buffer again.
    pub(super) fn admit(&self, parcel: Parcel) -> Option<Parcel> {
        let mut node = self.nodes[parcel.from as usize].borrow_mut();
        let stamped = node.stamp(parcel, self.pool.buffers);
        node.stalled = stamped.err().or(node.stalled.take());
        stamped.ok()
    }

    /// A packet has arrived. Returns the release message that its receiver must send, and the packet that may
    /// now go on.
    pub(super) fn arrived(&self, parcel: &Parcel) -> impl Iterator<Item = Parcel> {
        let mut node = self.nodes[parcel.to as usize].borrow_mut();
        let mut release = None;
        let account = node.with(parcel.from);
        account.taken = account.taken.saturating_sub(parcel.returns);
        if parcel.kind.takes_header() {
            account.owed += 1;
            if account.owed >= self.pool.buffers {
                account.owed -= self.pool.release;
                release = Some(Parcel { returns: self.pool.release, ..parcel.back(PacketKind::Release) });
            }
        }
        let goes_on = node.stalled.take().and_then(|stalled| match node.stamp(stalled, self.pool.buffers) {
            Ok(parcel) => Some(parcel),
            Err(parcel) => {
                node.stalled = Some(parcel);
                None
            }
        });
        release.into_iter().chain(goes_on)
    }
}
