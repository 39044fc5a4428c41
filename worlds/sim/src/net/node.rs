//! One node's end of the network.
use super::nodes::Nodes;
use super::wire::Model;
use crate::event::Queue;
use foregather_machine::{Nanos, Rank};
use std::cell::Cell;

/// One node's end: its clock, null messages and sized ones.
pub struct Node<'n, Q, M: Model> {
    nodes: &'n Nodes<Q>,
    wire: &'n M::Wire,
    rank: Rank,
}

impl<'n, Q: Queue, M: Model> Node<'n, Q, M> {
    pub(super) const fn new(nodes: &'n Nodes<Q>, wire: &'n M::Wire, rank: Rank) -> Self {
        Self { nodes, wire, rank }
    }

    #[inline]
    pub(super) fn nodes(&self) -> &Nodes<Q> {
        self.nodes
    }
    #[inline]
    pub(super) fn wire(&self) -> &M::Wire {
        self.wire
    }
    #[inline]
    pub(super) fn number(&self) -> Rank {
        self.rank
    }
    #[inline]
    pub(super) fn doing(&self) -> &Cell<u16> {
        self.nodes.doing(self.rank)
    }

    /// The time that no node's clock shows exactly: that of an ideal global clock.
    #[inline]
    pub fn ideal(&self) -> Nanos {
        self.nodes.engine.now()
    }

    /// The time on its own clock.
    #[inline]
    pub(super) fn shown(&self) -> Nanos {
        let drift = self.nodes.drifts.iter().find(|drift| drift.node == self.rank);
        drift.map_or(self.ideal(), |drift| drift.shown(self.ideal()))
    }

    /// The true length of a span of its own clock.
    #[inline]
    pub(super) fn really(&self, span: Nanos) -> Nanos {
        let drift = self.nodes.drifts.iter().find(|drift| drift.node == self.rank);
        drift.map_or(span, |drift| drift.really(span))
    }
}
