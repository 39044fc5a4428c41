//! Sized messages: packets that carry bytes from one node to another.
use crate::{Endpoint, Error, Rank};

crate::named! {
    /// What one packet is for (Seidel & Davis 1992 §2.1). A world prices each kind; protocols are made of
    /// them.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Packet {
        /// Few bytes, at most [`Port::short_limit`]. The receiver's system keeps them until the program asks
        /// for them.
        Short = "short",
        /// Any number of bytes, for a receive that was posted before: without one they are lost, and the
        /// receiver gets an error.
        Forced = "forced",
        /// The long protocol's request to send a message, which the receiver's system answers.
        Probe = "PROBE",
        /// The answer to a PROBE: there is room.
        Request = "REQUEST",
        /// The long protocol's bytes.
        Data = "data",
    }
}

/// Sized messages beside null messages. Messages between two nodes arrive once and in the order in which they
/// were sent.
///
/// The node's *system* answers a PROBE with a REQUEST, whatever its program is doing: an operating system
/// where there is one, and otherwise the wait that the program is in.
pub trait Port: Endpoint {
    /// The longest [`Packet::Short`], in bytes.
    fn short_limit(&self) -> usize;
    /// Sends one packet: done when the sender may go on and its bytes have left. Acts when called: await it.
    async fn transmit(&self, to: Rank, packet: Packet, tag: u32, bytes: &[u8]) -> Result<(), Error>;
    /// Announces a receive: a message from `from` with that tag may come, and [`Port::accept`] will take it.
    fn post(&self, from: Rank, tag: u32) -> Result<(), Error>;
    /// Waits for the next bytes from `from` with that tag, and returns how many there were.
    async fn accept(&self, from: Rank, tag: u32, into: &mut [u8]) -> Result<usize, Error>;
    /// Sends one packet to a node and takes the next bytes with the same tag from a node, maybe another one:
    /// done when both are. Two nodes that call it with each other, or several round a ring, finish whatever
    /// way their bytes take. Acts when called: await it.
    async fn transmit_and_accept(
        &self,
        (to, packet): (Rank, Packet),
        out: &[u8],
        from: Rank,
        into: &mut [u8],
        tag: u32,
    ) -> Result<usize, Error> {
        self.transmit(to, packet, tag, out).await?;
        self.accept(from, tag, into).await
    }
    /// Waits for the REQUEST of `from` that answers our PROBE with that tag.
    async fn requested(&self, from: Rank, tag: u32) -> Result<(), Error>;
}
