//! The long protocol: PROBE, REQUEST, data.
//!
//! ```text
//! sender's program            receiver's system            receiver's program
//!   PROBE  ------------------->  checks for room
//!   waits  <-------------------  REQUEST
//!   data   --------------------------------------------->   accept
//! ```
//! The receiver's program takes no part in the first two steps: its system answers, by [`answer`].
use foregather_machine::{Error, Packet, Port, Rank};

/// Sends a message by the long protocol.
///
/// # Errors
/// The port's errors.
pub async fn send<P: Port>(port: &P, to: Rank, tag: u32, bytes: &[u8]) -> Result<(), Error> {
    let packet = request(port, to, tag).await?;
    port.transmit(to, packet, tag, bytes).await
}

/// The first two steps: asks whether there is room, and waits for the answer. Then the bytes may go, in a
/// packet of the returned kind.
pub(crate) async fn request<P: Port>(port: &P, to: Rank, tag: u32) -> Result<Packet, Error> {
    port.transmit(to, Packet::Probe, tag, &[]).await?;
    port.requested(to, tag).await?;
    Ok(Packet::Data)
}

/// The packet that a node's system sends back at once when one arrives, to the same node and with the same
/// tag.
pub const fn answer(arrived: Packet) -> Option<Packet> {
    match arrived {
        Packet::Probe => Some(Packet::Request),
        Packet::Short | Packet::Forced | Packet::Request | Packet::Data => None,
    }
}
