//! Every member's bytes to the member some places further on. [`Ring`](crate::Ring) does it along the edges
//! of a hypercube.
use super::{Tag, TaggedPort};
use crate::{Protocol, send_and_receive};
use foregather_machine::{Cause, Error, Port};

/// Sends `out` to the member `distance` places further on, round the end, and takes the bytes of the member
/// as far back into the front of `into`. Lengths may differ from member to member; returns how many bytes
/// came. One message each, `c(m)`.
///
/// # Errors
/// [`Cause::Length`] if there is too little room; the port's errors.
pub async fn shift<P: Port>(port: &P, distance: u32, out: &[u8], into: &mut [u8]) -> Result<usize, Error> {
    let link = TaggedPort::new(port, Tag::Shift);
    let (to, from) = (link.after(distance), link.before(distance));
    if to == link.rank() {
        let (bytes, room) = (out.len(), into.len());
        let into = into.get_mut(..bytes).ok_or(Cause::Length { what: "a shifted message", bytes, room })?;
        into.copy_from_slice(out);
        return Ok(bytes);
    }
    send_and_receive(port, (to, out), (from, into), link.tag, Protocol::of_length(port, out.len())).await
}
