//! Two nodes swap messages (Seidel & Davis 1992 §2.2).
use crate::{Protocol, send_and_receive};
use foregather_machine::{Error, Port, Rank};

/// Sends to `peer` and receives from it, at the same time if both come at the same time. Returns how many
/// bytes came.
///
/// # Errors
/// The port's errors.
pub async fn exchange<P: Port>(
    port: &P,
    peer: Rank,
    tag: u32,
    out: &[u8],
    into: &mut [u8],
    protocol: Protocol,
) -> Result<usize, Error> {
    port.post(peer, tag)?;
    send_and_receive(port, (peer, out), (peer, into), tag, protocol).await
}

/// [`exchange`] after both nodes have shown, by null messages to slot `tag`, that they are there: then the
/// two messages always travel at the same time, and a forced one always finds its receive posted.
///
/// # Errors
/// The port's errors.
pub async fn synchronised_exchange<P: Port>(
    port: &P,
    peer: Rank,
    tag: u32,
    out: &[u8],
    into: &mut [u8],
    protocol: Protocol,
) -> Result<usize, Error> {
    port.post(peer, tag)?;
    port.signal(peer, tag).await?;
    port.wait(tag).await?;
    send_and_receive(port, (peer, out), (peer, into), tag, protocol).await
}
