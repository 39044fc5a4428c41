//! The blocks of all for everybody.
use super::{Tag, TaggedPort, blocks, room_for};
use core::ops::Range;
use foregather_machine::{Error, Port};

/// From so many bytes on, all blocks together, they go round a ring.
pub const ALL_GATHER_LONG: usize = 80 << 10;

/// Brings the block of every member, all of one length, to everybody, into the front of `into` in the order of the ranks.
///
/// Short: twice as many blocks every time (Bruck et al. 1997), `log2 n c(0) + (n - 1) bG` for blocks of `b` bytes, for any `n`. Long:
/// round a ring, `(n - 1) c(b)`: each message goes to a neighbour.
///
/// # Errors
/// [`Cause::Length`](foregather_machine::Cause::Length) if there is too little room,
/// [`Cause::Mismatch`](foregather_machine::Cause::Mismatch) if a member gives another length; what the port reports.
pub async fn all_gather<P: Port>(port: &P, mine: &[u8], into: &mut [u8]) -> Result<(), Error> {
    let (link, block) = (TaggedPort::new(port, Tag::AllGather), mine.len());
    let into = room_for(into, port.size(), block)?;
    if into.len() >= ALL_GATHER_LONG {
        into[blocks(port.rank()..port.rank() + 1, block)].copy_from_slice(mine);
        return around(&link, port.rank(), into, |place| blocks(place..place + 1, block)).await;
    }
    into[..block].copy_from_slice(mine);
    let mut have = 1;
    while have < port.size() {
        let count = have.min(port.size() - have);
        link.give(link.before(have), &into[blocks(0..count, block)]).await?;
        link.take(link.after(have), &mut into[blocks(have..have + count, block)]).await?;
        have += count;
    }
    // They begin with our own.
    into.rotate_right(blocks(0..port.rank(), block).end);
    Ok(())
}

/// Everybody has the part of its own place and passes on what came last, until all have all.
pub(super) async fn around<P: Port>(
    link: &TaggedPort<'_, P>,
    place: u32,
    bytes: &mut [u8],
    part: impl Fn(u32) -> Range<usize>,
) -> Result<(), Error> {
    let size = link.size();
    for step in 0..size - 1 {
        let last = (place + size - step) % size;
        link.give(link.after(1), &bytes[part(last)]).await?;
        link.take(link.before(1), &mut bytes[part((last + size - 1) % size)]).await?;
    }
    Ok(())
}
