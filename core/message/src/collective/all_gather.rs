//! The blocks of all members, for every member.
use super::{Tag, TaggedPort, blocks, room_for};
use core::ops::Range;
use foregather_machine::{Error, Port};

/// From this many bytes on, all blocks together, the blocks go round a ring.
pub const ALL_GATHER_LONG: usize = 80 << 10;

/// Brings the block of every member, all of one length, to every member: into the front of `into`, in the
/// order of the ranks.
///
/// Short: twice as many blocks every time (Bruck et al. 1997), `log2 n c(0) + (n - 1) bG` for blocks of `b`
/// bytes, for any `n`. Long: round a ring, `(n - 1) c(b)`: each message goes to a neighbour.
///
/// # Errors
/// [`Cause::Length`](foregather_machine::Cause::Length) if there is too little room,
/// [`Cause::Mismatch`](foregather_machine::Cause::Mismatch) if a member gives another length; the port's
/// errors.
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
        let (ours, theirs) = into.split_at_mut(blocks(0..have, block).end);
        let theirs = (link.after(have), &mut theirs[blocks(0..count, block)]);
        link.give_and_take((link.before(have), &ours[blocks(0..count, block)]), theirs).await?;
        have += count;
    }
    // The blocks begin with our own.
    into.rotate_right(blocks(0..port.rank(), block).end);
    Ok(())
}

/// Each member has the part of its own place and sends on the part that came last, until all have all parts.
pub(super) async fn around<P: Port>(
    link: &TaggedPort<'_, P>,
    place: u32,
    bytes: &mut [u8],
    part: impl Fn(u32) -> Range<usize>,
) -> Result<(), Error> {
    let size = link.size();
    for step in 0..size - 1 {
        let last = (place + size - step) % size;
        let (out, into) = apart(bytes, part(last), part((last + size - 1) % size));
        link.give_and_take((link.after(1), out), (link.before(1), into)).await?;
    }
    Ok(())
}

/// Two parts of `bytes` that do not overlap: one to read, one to write.
fn apart(bytes: &mut [u8], read: Range<usize>, write: Range<usize>) -> (&[u8], &mut [u8]) {
    if read.start < write.start {
        let (front, back) = bytes.split_at_mut(write.start);
        (&front[read], &mut back[..write.len()])
    } else {
        let (front, back) = bytes.split_at_mut(read.start);
        (&back[..read.len()], &mut front[write])
    }
}
