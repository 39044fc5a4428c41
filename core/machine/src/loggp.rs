//! What a message costs on a network, by the LogGP model.
use crate::Nanos;

/// The parameters of Alexandrov, Ionescu, Schauser & Scheiman 1995, with the overheads of the two sides
/// apart.
///
/// A message of `m` bytes keeps its sender for `send_overhead`, arrives `latency` and `m` times `G` after
/// that, and keeps its receiver for `receive_overhead`. Two sends of one node begin at least `gap` and the
/// first one's bytes apart, and by [`LogGpVariant::BothSides`] two receptions as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogGp {
    /// `L`: from the end of the sender's overhead to the beginning of the receiver's.
    pub latency: Nanos,
    /// `o` of the sender.
    pub send_overhead: Nanos,
    /// `o` of the receiver.
    pub receive_overhead: Nanos,
    /// `g`.
    pub gap: Nanos,
    /// `G`: one byte's share, in picoseconds.
    pub byte_ps: u64,
    /// Which sides `g` and `G` hold up.
    pub variant: LogGpVariant,
}

crate::named! {
    /// Which sides of a message the gaps of LogGP hold up.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum LogGpVariant {
        /// Senders and receivers, as its authors have it: many senders to one node wait for each other.
        #[default]
        BothSides = "both-sides",
        /// Senders only: a node receives any number of messages at once.
        SenderOnly = "sender-only",
    }
}

impl LogGp {
    /// What `m` bytes add: `m G`.
    pub const fn bytes(&self, m: u64) -> Nanos {
        let ns = m as u128 * self.byte_ps as u128 / 1_000;
        Nanos(if ns > u64::MAX as u128 { u64::MAX } else { ns as u64 })
    }

    /// From the beginning of the send until the receiver has a null message.
    pub fn null(&self) -> Nanos {
        self.send_overhead + self.latency + self.receive_overhead
    }
}
