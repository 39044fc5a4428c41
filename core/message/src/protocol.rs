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
    let packet = prepare(port, to, tag, bytes.len(), protocol).await?;
    port.transmit(to, packet, tag, bytes).await
}

/// Sends a message to one node and waits for the next message with the same tag from one, maybe another: [`send`] and [`receive`] at the same
/// time, so that of several who do so round a ring none waits for another one's receive. Says how long what came was.
///
/// # Errors
/// As [`send`] and [`receive`].
pub async fn send_and_receive<P: Port>(
    port: &P,
    (to, out): (Rank, &[u8]),
    (from, into): (Rank, &mut [u8]),
    tag: u32,
    protocol: Protocol,
) -> Result<usize, Error> {
    let packet = prepare(port, to, tag, out.len(), protocol).await?;
    port.transmit_and_accept((to, packet), out, from, into, tag).await
}

/// Does what a protocol does before the bytes go, and says in which packet they do.
async fn prepare<P: Port>(port: &P, to: Rank, tag: u32, bytes: usize, protocol: Protocol) -> Result<Packet, Error> {
    match protocol {
        Protocol::Short if bytes > port.short_limit() => {
            Err(Cause::Length { what: "a short message", bytes, room: port.short_limit() }.into())
        }
        Protocol::Short => Ok(Packet::Short),
        Protocol::Forced => Ok(Packet::Forced),
        Protocol::Long => long::request(port, to, tag).await,
    }
}

/// Waits for the next message from `from` with that tag, by whatever protocol it comes, and says how long it was.
///
/// # Errors
/// [`Cause::Length`] if there is no room for it; otherwise what the port reports.
pub async fn receive<P: Port>(port: &P, from: Rank, tag: u32, into: &mut [u8]) -> Result<usize, Error> {
    port.accept(from, tag, into).await
}
