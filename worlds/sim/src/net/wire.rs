//! The interface of what lies between the nodes.
use super::nodes::Nodes;
use super::packet::Parcel;
use crate::event::{Event, Queue};
use foregather_machine::{Error, Nanos};

/// A model of a network: the costs of its messages, and what they meet on their way.
pub trait Model: Copy {
    /// The network itself.
    #[doc(hidden)]
    #[allow(private_bounds)]
    type Wire: Wire;

    /// Builds it for `size` nodes.
    ///
    /// # Errors
    /// If the model contradicts itself, or cannot have that many nodes.
    #[doc(hidden)]
    fn wire(self, size: u32) -> Result<Self::Wire, Error>;
}

/// Takes packets from nodes and delivers them to others.
pub(super) trait Wire {
    /// A node sends a packet, now.
    fn post<Q: Queue>(&self, nodes: &Nodes<Q>, parcel: Parcel);
    /// Handles a scheduled event. Returns whether the program of its node continues.
    fn happens<Q: Queue>(&self, nodes: &Nodes<Q>, event: &Event) -> bool;
    /// Returns whether a decision is due after all events at the current time.
    fn unsettled(&self) -> bool {
        false
    }
    /// Makes the decision.
    fn settle<Q: Queue>(&self, nodes: &Nodes<Q>) {
        let _ = nodes;
    }
    /// The time that a receiver's program spends on a message that it takes.
    fn take(&self) -> Nanos {
        Nanos::ZERO
    }
    /// The longest short message, in bytes.
    fn short_limit(&self) -> usize;
}
