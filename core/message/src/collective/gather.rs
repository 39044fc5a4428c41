//! The blocks of all members, for one member.
use super::{Tag, TaggedPort, blocks, known, room_for};
use crate::tree::TreePosition;
use foregather_machine::{Error, Port, Rank};

/// Brings the block of every member, all of one length, to `root`, into the front of `into` in the order of
/// the ranks. Elsewhere `into` may be empty.
///
/// Up a binomial tree, whatever the length: `log2 n c(0) + (n - 1) bG` for blocks of `b` bytes, since the
/// root must take in all of them anyway.
///
/// # Errors
/// [`Cause::Rank`](foregather_machine::Cause::Rank) if there is no such root,
/// [`Cause::Length`](foregather_machine::Cause::Length) if there is too little room there,
/// [`Cause::Mismatch`](foregather_machine::Cause::Mismatch) if a member gives another length; the port's
/// errors.
pub async fn gather<P: Port>(port: &P, root: Rank, mine: &[u8], into: &mut [u8]) -> Result<(), Error> {
    known(port, root)?;
    let (link, place, block) = (TaggedPort::new(port, Tag::Gather), TreePosition::rooted(port, root), mine.len());
    let Some(parent) = place.parent() else {
        let into = room_for(into, port.size(), block)?;
        collect(&link, place, mine, into).await?;
        into.rotate_right(blocks(0..root, block).end);
        return Ok(());
    };
    let mut below = vec![0; blocks(place.subtree(), block).len()];
    collect(&link, place, mine, &mut below).await?;
    link.give(parent, &below).await
}

/// Our own block and those of the subtrees below, in the order of the tree.
async fn collect<P: Port>(link: &TaggedPort<'_, P>, place: TreePosition, mine: &[u8], into: &mut [u8]) -> Result<(), Error> {
    into[..mine.len()].copy_from_slice(mine);
    let start = place.relative();
    for (child, dimension) in place.children().rev() {
        let below = place.subtree_of_child(dimension);
        link.take(child, &mut into[blocks(below.start - start..below.end - start, mine.len())]).await?;
    }
    Ok(())
}
