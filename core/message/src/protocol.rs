//! How a sized message goes: the three protocols of the iPSC/860 (Seidel & Davis 1992 §2.1).
use crate::long;
use foregather_machine::{Cause, Error, Packet, Port, Rank};

/// A message protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// One packet of few bytes.
    Short,
    /// PROBE, REQUEST, data: the receiver has room before the bytes come.
    Long,
    /// The bytes at once; the receiver has posted its receive before, and the two have made sure of that.
    Forced,
}

impl Protocol {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Short, Self::Long, Self::Forced];

    /// Its name on the command line and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Short => "short",
            Self::Long => "long",
            Self::Forced => "forced",
        }
    }

    /// The protocol of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|protocol| protocol.name() == name)
    }

    /// What the machine would take for a message of that length if nothing is known about the receiver.
    pub fn of_length<P: Port>(port: &P, bytes: usize) -> Self {
        if bytes <= port.short_limit() { Self::Short } else { Self::Long }
    }
}

/// Sends a message; done when the sender may go on. [`Protocol::Forced`] needs a receive that was posted before.
///
/// # Errors
/// [`Cause::Length`] if a short message is too long; otherwise what the port reports.
pub async fn send<P: Port>(port: &P, to: Rank, tag: u32, bytes: &[u8], protocol: Protocol) -> Result<(), Error> {
    match protocol {
        Protocol::Short if bytes.len() > port.short_limit() => {
            Err(Cause::Length { what: "a short message", bytes: bytes.len(), room: port.short_limit() }.into())
        }
        Protocol::Short => port.transmit(to, Packet::Short, tag, bytes).await,
        Protocol::Forced => port.transmit(to, Packet::Forced, tag, bytes).await,
        Protocol::Long => long::send(port, to, tag, bytes).await,
    }
}

/// Waits for the next message from `from` with that tag, by whatever protocol it comes, and says how long it was.
///
/// # Errors
/// [`Cause::Length`] if there is no room for it; otherwise what the port reports.
pub async fn receive<P: Port>(port: &P, from: Rank, tag: u32, into: &mut [u8]) -> Result<usize, Error> {
    port.accept(from, tag, into).await
}
