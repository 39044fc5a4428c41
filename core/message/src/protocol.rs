//! How a sized message goes: the three protocols of the iPSC/860 (Seidel & Davis 1992 §2.1).
use crate::long;
use foregather_machine::{Cause, Error, Packet, Port, Rank};

foregather_machine::named! {
    /// A message protocol.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Protocol {
        /// One packet of few bytes.
        Short = "short",
        /// PROBE, REQUEST, data: the receiver has room before the bytes come.
        Long = "long",
        /// The bytes at once; the receiver has posted its receive before, and the two sides have made sure of
        /// that.
        Forced = "forced",
    }
}

impl Protocol {
    /// The machine's own choice for a message of that length if nothing is known about the receiver.
    pub fn of_length<P: Port>(port: &P, bytes: usize) -> Self {
        if bytes <= port.short_limit() { Self::Short } else { Self::Long }
    }
}

/// Sends a message; done when the sender may go on. [`Protocol::Forced`] needs a receive that was posted
/// before.
///
/// # Errors
/// [`Cause::Length`] if a short message is too long; otherwise the port's errors.
pub async fn send<P: Port>(port: &P, to: Rank, tag: u32, bytes: &[u8], protocol: Protocol) -> Result<(), Error> {
    let packet = prepare(port, to, tag, bytes.len(), protocol).await?;
    port.transmit(to, packet, tag, bytes).await
}

/// Sends a message to one node and waits for the next message with the same tag from one, maybe another:
/// [`send`] and [`receive`] at the same time, so that of several nodes round a ring none waits for another
/// one's receive. Returns the length of the message that came.
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

/// Does the steps of a protocol before the bytes go, and returns the kind of packet in which they go.
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

/// Waits for the next message from `from` with that tag, by whatever protocol it comes, and returns its
/// length.
///
/// # Errors
/// [`Cause::Length`] if there is no room for it; otherwise the port's errors.
pub async fn receive<P: Port>(port: &P, from: Rank, tag: u32, into: &mut [u8]) -> Result<usize, Error> {
    port.accept(from, tag, into).await
}
