//! What lies between the nodes.
use super::nodes::Nodes;
use super::packet::Parcel;
use crate::event::{Event, Queue};
use foregather_machine::{Error, Nanos};

/// A model of a network: what its messages cost, and what they meet on their way.
pub trait Model: Copy {
    /// The network itself.
    #[doc(hidden)]
    #[allow(private_bounds)]
    type Wire: Wire;

    /// Builds it for `size` nodes.
    ///
    /// # Errors
    /// If the model contradicts itself, or cannot have so many nodes.
    #[doc(hidden)]
    fn wire(self, size: u32) -> Result<Self::Wire, Error>;
}

/// Takes packets from nodes and gives them to others.
pub(super) trait Wire {
    /// A node sends a packet, now.
    fn post<Q: Queue>(&self, nodes: &Nodes<Q>, parcel: Parcel);
    /// Something that was foreseen happens; is the program of its node to go on?
    fn happens<Q: Queue>(&self, nodes: &Nodes<Q>, event: &Event) -> bool;
    /// Is there something to decide when all of this moment has happened?
    fn unsettled(&self) -> bool {
        false
    }
    /// Decides it.
    fn settle<Q: Queue>(&self, nodes: &Nodes<Q>) {
        let _ = nodes;
    }
    /// What a receiver's program spends on a message it takes.
    fn take(&self) -> Nanos {
        Nanos::ZERO
    }
    /// The longest short message, in bytes.
    fn short_limit(&self) -> usize;
}
