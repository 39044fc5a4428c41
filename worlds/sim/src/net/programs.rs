//! The acts of the nodes' programs beside sending: their waits, when they computed, and when they were kept
//! from it.
use super::busy::{Business, Busy};
use super::noise::Noise;
use foregather_machine::{Nanos, Rank};
use std::collections::BTreeMap;

/// What a program waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitFor {
    /// A null message in this slot.
    Null(u32),
    /// A sized message from that node with that tag.
    Message(Rank, u32),
    /// The REQUEST from that node with that tag.
    Request(Rank, u32),
    /// A header buffer of that node.
    Buffer(Rank),
}

/// One wait of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The program's node.
    pub node: Rank,
    /// The object of the wait.
    pub awaited: WaitFor,
    /// Its beginning.
    pub since: Nanos,
    /// Its end; [`Nanos::MAX`] if it never ended.
    pub until: Nanos,
}

/// The acts of all programs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Programs {
    /// Waits that did not end where they began, in the order in which they began.
    pub waits: Vec<Wait>,
    pub(super) computed: Vec<Busy>,
    pub(super) noise: Noise,
    /// The waits that have not ended, by node.
    open: BTreeMap<Rank, usize>,
}

impl Programs {
    /// When the program of `node` computed, was interrupted or stood still between two moments, in the order
    /// of time.
    pub fn busy(&self, node: Rank, from: Nanos, to: Nanos) -> Vec<Busy> {
        let met = |busy: &&Busy| busy.node == node && busy.from < to && busy.to > from;
        let mut all: Vec<Busy> = self.computed.iter().filter(met).copied().collect();
        all.extend(self.noise.away(node, from, to));
        all.sort_by_key(|busy| busy.from);
        all
    }

    pub(super) fn waits(&mut self, node: Rank, awaited: WaitFor, since: Nanos) {
        self.open.insert(node, self.waits.len());
        self.waits.push(Wait { node, awaited, since, until: Nanos::MAX });
    }

    /// The program has what it waited for, if it waited.
    pub(super) fn got(&mut self, node: Rank, now: Nanos) {
        if let Some(open) = self.open.remove(&node) {
            self.waits[open].until = now;
        }
    }

    pub(super) fn computes(&mut self, node: Rank, from: Nanos, to: Nanos) {
        if to > from {
            self.computed.push(Busy { node, business: Business::Computed, from, to });
        }
    }
}
